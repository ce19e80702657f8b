"""The samples of all nodes on the compute device, and minibatches by name.

The data set is on the device once; a node's shard is a list of row numbers, and a minibatch is
gathered by row number.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

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
        What is learned.
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
    """Row numbers of one node's samples."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


class Shards:
    """The samples of all nodes.

    Parameters
    ----------
    x, y : torch.Tensor
        (n, ...) inputs and (n, ...) targets of the whole data set, on the device.
    rows : sequence of NodeRows
        One per node; a server's are empty.
    common : mapping of str to numpy.ndarray
        Rows of the splits that all nodes share: `common_test` and `common_validation`.
    batch_size : int
        Samples in a minibatch.
    streams : Streams
        Source of the order of samples and of the draws for augmentation.
    scale : (means, deviations) or None
        How pixels were normalised; see `Batch`.
    task : Task
        What is learned.
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
    ) -> None:
        self.x, self.y = x, y
        self.task = task
        self.rows = rows
        self.common = common
        self.batch_size = batch_size
        self.scale = scale
        self.minibatches = Minibatches([r.train for r in rows], batch_size, streams)
        self._streams = streams

    def in_batches_of(self, batch_size: int) -> "Shards":
        """The same samples in minibatches of another size."""
        return Shards(
            *(self.x, self.y, self.rows, self.common, batch_size, self._streams, self.scale),
            self.task,
        )

    def relabelled(self, nodes: Collection[int], labels: NDArray[np.int64]) -> "Shards":
        """The same samples, with other labels for some nodes in training and validation.

        The samples of these nodes are copied to the end of the data set, so that other nodes that
        have the same samples keep the true labels.

        Parameters
        ----------
        nodes : collection of int
            The nodes with other labels.
        labels : (n,) int64
            Their label of each sample of the data set.
        """
        mine = [self.rows[i] for i in nodes]
        parts = [part for rows in mine for part in (rows.train, rows.validation)]
        copied = np.unique(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.int64)

        def copies(rows: NDArray[np.int64]) -> NDArray[np.int64]:
            return len(self.y) + np.searchsorted(copied, rows)

        rows = list(self.rows)
        for i, own in zip(nodes, mine, strict=True):
            rows[i] = NodeRows(copies(own.train), copies(own.validation), own.test)
        index = torch.from_numpy(copied).to(self.x.device)
        x = torch.cat([self.x, self.x[index]])
        y = torch.cat([self.y, torch.from_numpy(labels[copied]).to(self.y)])
        return Shards(
            x, y, rows, self.common, self.batch_size, self._streams, self.scale, self.task
        )

    def train_size(self, node: int) -> int:
        """How many training samples the node has."""
        return len(self.rows[node].train)

    def classes(self, node: int) -> tuple[int, ...]:
        """The labels that occur among the node's training samples, ascending.

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
        labels = self.y[torch.from_numpy(self.rows[node].train).to(self.y.device)]
        return tuple(np.unique(labels.cpu().numpy()).tolist())

    def batches_per_epoch(self, node: int) -> int:
        """How many minibatches one pass over the node's training samples takes.

        A single sample left over is left out: BatchNorm has no variance of one.
        """
        return self.minibatches.per_epoch(node)

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
        counters = np.arange(samples * count)
        draws = self._streams.uniforms(
            f"augment/{key.stream}", key.node, key.counter, counters=counters
        )
        return draws.reshape(samples, count)

    def split_rows(self, node: int, name: str) -> NDArray[np.int64]:
        """Row numbers of a node's `train`, `validation` or `test` split, or of a common one."""
        rows: NDArray[np.int64]
        rows = self.common[name] if name in self.common else getattr(self.rows[node], name)
        return rows

    def split(self, node: int, name: str) -> Batch:
        """All samples of one of these splits."""
        index = to_device(self.split_rows(node, name), self.x.device)
        return Batch(self.x[index], self.y[index], None, self.scale, self.task)
