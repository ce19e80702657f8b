"""The samples of all nodes on the compute device, and minibatches by name.

The data set is on the device once; a shard is a list of row numbers, and a minibatch is gathered by
row number. At first shard i is that of node i. Where data drift, a node has another shard later on:
jobs name the shard that their node had when it asked for them, so it does not matter when they run.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netsim.data.sets import Scale
from netsim.errors import UnsuitableError
from netsim.learning.jobs import BatchKey
from netsim.learning.minibatches import Minibatches
from netsim.learning.tasks import Task
from netsim.learning.tasks.classification import Classification
from netsim.learning.transfer import to_device
from netsim.rng import Streams

CLASSIFICATION = Classification()

KEPT = 64
"""Samples at the beginning that `Shards.restrict_to_nodes` keeps."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One minibatch, as a loss function gets it.

    Attributes
    ----------
    x : torch.Tensor
        (n, ...) inputs; whole numbers (words, ids) are int64.
    y : torch.Tensor
        (n, ...) targets of the task: of a classification (n,) labels, int64.
    uniforms : torch.Tensor or None
        (n, k) draws in [0, 1) for a loss declared `@loss(uniforms=k)` (augmented views).
    scale : (means, deviations) or None
        Per channel: x = (pixels - mean) / deviation, pixels in [0, 1]; None for other inputs.
    task : Task
        Task of learning.
    """

    x: Tensor
    y: Tensor
    uniforms: Tensor | None = None
    scale: Scale | None = None
    task: Task = CLASSIFICATION

    def loss(self, outputs: Tensor) -> Tensor:
        """Mean loss of a model's outputs by the scenario's task, ()."""
        return self.task.loss(outputs, self.y)


@dataclass(frozen=True)
class NodeRows:
    """Row numbers of the samples that a node has.

    Attributes
    ----------
    train, validation, test : int64 arrays
    common : mapping of str to int64 array
        `common_test` and `common_validation`, where the node has labels of its own for the samples
        that all nodes share.
    """

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]
    common: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)


class Shards:
    """The samples of all nodes.

    Parameters
    ----------
    x, y : torch.Tensor
        (n, ...) inputs and (n, ...) targets of the whole data set, on the device.
    rows : sequence of NodeRows
        By number of the shard: those that nodes begin with (a server's are empty), node by node,
        then those that they have later.
    common : mapping of str to numpy.ndarray
        Rows of the splits that all nodes share: `common_test` and `common_validation`.
    batch_size : int
        Samples in a minibatch.
    streams : Streams
        Source of the order of samples and of the draws for augmentation.
    scale : (means, deviations) or None
        How pixels were normalised; see `Batch`.
    task : Task
        Task of learning.
    holders : sequence of int, optional
        The node that each shard is of; shard i is node i's if it is left out.

    Attributes
    ----------
    held : list of int
        Number of the shard that each node has now; the only thing that a run changes.
    """

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        rows: Sequence[NodeRows],
        common: Mapping[str, NDArray[np.int64]],
        batch_size: int,
        streams: Streams,
        scale: Scale | None = None,
        task: Task = CLASSIFICATION,
        holders: Sequence[int] | None = None,
    ) -> None:
        self.x, self.y = x, y
        self.task = task
        self.rows = rows
        self.common = common
        self.batch_size = batch_size
        self.scale = scale
        self.minibatches = Minibatches([r.train for r in rows], batch_size, streams)
        self._streams = streams
        self.holders = range(len(rows)) if holders is None else holders
        self.held = list(range(max(self.holders, default=-1) + 1))

    def in_batches_of(self, batch_size: int) -> "Shards":
        """The same samples in minibatches of another size, held as at the start."""
        return Shards(
            *(self.x, self.y, self.rows, self.common, batch_size, self._streams, self.scale),
            *(self.task, self.holders),
        )

    def samples_of(self, nodes: Collection[int]) -> NDArray[np.bool_]:
        """Mark the samples that these nodes have, and the first `KEPT` of all, (n,)."""
        wanted = np.zeros(len(self.x), dtype=np.bool_)
        wanted[:KEPT] = True
        for rows in self.common.values():
            wanted[rows] = True
        for own, holder in zip(self.rows, self.holders, strict=True):
            if holder in nodes:
                for some in (own.train, own.validation, own.test, *own.common.values()):
                    wanted[some] = True
        return wanted

    def restrict_to_nodes(self, nodes: Collection[int]) -> "tuple[Shards, NDArray[np.int64]]":
        """Copy the samples of some nodes; gives them and the new number of each row.

        Minibatches are the same, whatever the rows' numbers. The first `KEPT` samples stay, too:
        models are looked at with them.

        Parameters
        ----------
        nodes : collection of int

        Returns
        -------
        shards : Shards
            With all shards' sizes; the rows of other nodes' shards are those of no sample.
        numbers : (n,) int64
            Beyond the last for a sample that is not among them, so that reading it is an error.
        """
        wanted = self.samples_of(nodes)
        numbers = np.where(wanted, np.cumsum(wanted) - 1, wanted.sum())

        def renumbered(own: NodeRows) -> NodeRows:
            common = {name: numbers[rows] for name, rows in own.common.items()}
            return NodeRows(numbers[own.train], numbers[own.validation], numbers[own.test], common)

        index = torch.from_numpy(np.flatnonzero(wanted)).to(self.x.device)
        found = Shards(
            self.x[index],
            self.y[index],
            [renumbered(own) for own in self.rows],
            {name: numbers[rows] for name, rows in self.common.items()},
            self.batch_size,
            self._streams,
            self.scale,
            self.task,
            self.holders,
        )
        return found, numbers

    def in_double(self, keys: Sequence[BatchKey], more: Sequence[int] = ()) -> "Shards":
        """The samples of some minibatches alone, in double precision, by the same names.

        Parameters
        ----------
        keys : sequence of BatchKey
        more : sequence of int
            Training rows of these shards whose samples are wanted, too.
        """
        of_keys = [self.batch_rows(key) for key in keys]
        wanted = np.unique(np.concatenate([np.array(more, dtype=np.int64), *of_keys]))
        rows, none = list(self.rows), np.empty(0, dtype=np.int64)
        for shard in {key.shard for key in keys}:
            places = np.searchsorted(wanted, rows[shard].train)
            rows[shard] = NodeRows(np.minimum(places, len(wanted) - 1), none, none)
        index = to_device(wanted, self.x.device)
        x, y = (t.double() if t.is_floating_point() else t for t in (self.x[index], self.y[index]))
        return Shards(
            *(x, y, rows, {}, self.batch_size, self._streams, self.scale, self.task, self.holders)
        )

    def train_size(self, shard: int) -> int:
        """Return the number of training samples of each shard."""
        return len(self.rows[shard].train)

    def classes(self, shard: int) -> tuple[int, ...]:
        """The labels that occur among a shard's training samples, ascending.

        Raises
        ------
        UnsuitableError
            If the task has no classes.
        """
        if not self.task.has_classes:
            raise UnsuitableError(
                "the algorithm asks for the classes of a node's samples, and [task] kind = "
                f'"{self.task.kind}" has none; take a classification'  # type: ignore[attr-defined]
            )
        labels = self.y[torch.from_numpy(self.rows[shard].train).to(self.y.device)]
        return tuple(np.unique(labels.cpu().numpy()).tolist())

    def batches_per_epoch(self, shard: int) -> int:
        """Return the number of minibatches in one pass over a shard's training samples.

        A single sample left over is left out: BatchNorm has no variance of one.
        """
        return self.minibatches.per_epoch(shard)

    def batch_rows(self, key: BatchKey) -> NDArray[np.int64]:
        """Row numbers of one minibatch."""
        return self.minibatches.rows(key)

    def batches(self, keys: Sequence[BatchKey], uniforms: int = 0) -> list[Batch]:
        """Minibatches, gathered in one call.

        Parameters
        ----------
        keys : sequence of BatchKey
        uniforms : int
            Draws in [0, 1) per sample that the loss asks for; see `Batch.uniforms`.
        """
        rows = [self.batch_rows(k) for k in keys]
        index = to_device(np.concatenate(rows), self.x.device)
        sizes = [len(r) for r in rows]
        draws = [self.uniforms(k, n, uniforms) for k, n in zip(keys, sizes, strict=True)]
        xs, ys = torch.split(self.x[index], sizes), torch.split(self.y[index], sizes)
        return [
            Batch(x, y, u, self.scale, self.task) for x, y, u in zip(xs, ys, draws, strict=True)
        ]

    def uniforms(self, key: BatchKey, samples: int, count: int) -> Tensor | None:
        """The draws in [0, 1) of a minibatch, for a loss that augments its samples.

        Parameters
        ----------
        key : BatchKey
        samples : int
            Samples in the minibatch.
        count : int
            Draws per sample.

        Returns
        -------
        torch.Tensor or None
            (samples, count); None if `count` is 0.
        """
        if not count:
            return None
        draws = torch.from_numpy(self.draws(key, samples, count))
        return self.as_real(draws)

    def as_real(self, draws: Tensor) -> Tensor:
        """Draws on the device, in the precision of inputs; of whole ones, in single precision."""
        if self.x.is_floating_point():
            return draws.to(self.x, non_blocking=True)
        return draws.to(self.x.device, torch.float32, non_blocking=True)

    def draws(self, key: BatchKey, samples: int, count: int) -> NDArray[np.float64]:
        """The same draws on the host, (samples, count).

        Parameters
        ----------
        key, samples, count
            As for `uniforms`.
        """
        draws: NDArray[np.float64] = self.draws_of([key], samples, count)[0]
        return draws

    def draws_of(self, keys: Sequence[BatchKey], samples: int, count: int) -> NDArray[np.float64]:
        """The draws of several minibatches of one size, (K, samples, count).

        Parameters
        ----------
        keys : sequence of BatchKey
            K of them.
        samples, count
            As for `uniforms`.
        """
        found = np.empty((len(keys), samples * count))
        streams = np.array([key.stream for key in keys])
        shards, numbers = np.array([(k.shard, k.counter) for k in keys], dtype=np.int64).T
        for stream in dict.fromkeys(streams.tolist()):
            which = np.flatnonzero(streams == stream)
            found[which] = self._streams.uniform_table(
                f"augment/{stream}",
                shards[which],
                numbers[which],
                counters=np.arange(samples * count),
            )
        return found.reshape(len(keys), samples, count)

    def split_rows(self, shard: int, name: str) -> NDArray[np.int64]:
        """Row numbers of a shard's `train`, `validation` or `test` split, or of a common one."""
        own = self.rows[shard]
        rows: NDArray[np.int64]
        if name in self.common:
            rows = own.common.get(name, self.common[name])
        else:
            rows = getattr(own, name)
        return rows

    def split(self, shard: int, name: str) -> Batch:
        """All samples of one of these splits."""
        index = to_device(self.split_rows(shard, name), self.x.device)
        return Batch(self.x[index], self.y[index], None, self.scale, self.task)
