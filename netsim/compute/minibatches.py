"""Which rows make up which minibatch: a function of (seed, node, stream, number) alone.

Each epoch visits every training row of a node once, in an order of its own. The last batch may be
smaller; if it were a single row, which BatchNorm can't train on, it is left out of that epoch.
"""

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.compute.jobs import Batches, BatchKey
from netsim.rng import Streams

Rows = NDArray[np.int64]


class Minibatches:
    """The minibatches of all nodes.

    Parameters
    ----------
    rows : sequence of (n_i,) int64
        Row numbers of each node's training samples.
    batch_size : int
    streams : Streams
    """

    def __init__(self, rows: Sequence[Rows], batch_size: int, streams: Streams) -> None:
        self._rows = rows
        self._streams = streams
        self.batch_size = batch_size
        self._sizes = np.array([len(r) for r in rows], dtype=np.int64)
        full, rest = np.divmod(self._sizes, batch_size)
        self._per_epoch = full + ((rest > 1) | (full == 0))
        self._orders: OrderedDict[tuple[int, str, int], Rows] = OrderedDict()
        self._kept = 4 * len(rows) + 16

    @property
    def columns(self) -> int:
        """Samples of the largest minibatch of any node."""
        return int(min(self.batch_size, self._sizes.max(initial=1)))

    def per_epoch(self, node: int) -> int:
        """How many minibatches one pass over the node's training samples takes."""
        return int(self._per_epoch[node])

    def rows(self, key: BatchKey) -> Rows:
        """Row numbers of one minibatch."""
        epoch, position = divmod(key.counter, self.per_epoch(key.node))
        start = position * self.batch_size
        (order,) = self._epochs([(key.node, key.stream, epoch)])
        return order[start : start + self.batch_size]

    def table(self, jobs: Sequence[Batches], steps: int) -> tuple[Rows, Rows]:
        """Row numbers of the minibatches of many nodes, padded to one shape.

        Parameters
        ----------
        jobs : sequence of Batches
            W of them.
        steps : int
            S minibatches each, counted from the job's first.

        Returns
        -------
        index : (W, S, B) int64
            What lies behind the end of a smaller minibatch are valid row numbers.
        sizes : (W, S) int64
        """
        nodes = np.array([j.node for j in jobs])
        counters = np.array([j.first for j in jobs])[:, None] + np.arange(steps)
        epochs, positions = np.divmod(counters, self._per_epoch[nodes][:, None])
        wanted: dict[tuple[int, str, int], int] = {}
        which = np.empty_like(epochs)
        for i, (job, mine) in enumerate(zip(jobs, epochs.tolist(), strict=True)):
            last, place = -1, -1
            for s, epoch in enumerate(mine):
                if epoch != last:
                    last, place = (
                        epoch,
                        wanted.setdefault((job.node, job.stream, epoch), len(wanted)),
                    )
                which[i, s] = place
        orders = self._epochs(list(wanted))
        lengths = np.array([len(o) for o in orders])
        ends = np.cumsum(lengths)
        starts = positions * self.batch_size
        sizes = np.minimum(self.batch_size, lengths[which] - starts)
        flat = np.concatenate(orders)
        inside = np.minimum(np.arange(self.columns), sizes[..., None] - 1)
        return flat[(ends - lengths)[which][..., None] + starts[..., None] + inside], sizes

    def _epochs(self, wanted: Sequence[tuple[int, str, int]]) -> list[Rows]:
        """The orders of some epochs: a node's rows, shuffled."""
        found = {k: self._orders[k] for k in wanted if k in self._orders}
        by_stream: dict[str, list[tuple[int, str, int]]] = {}
        for key in wanted:
            if key not in found:
                by_stream.setdefault(key[1], []).append(key)
        for stream, keys in by_stream.items():
            found.update(zip(keys, self._draw(stream, keys), strict=True))
        for key in wanted:
            self._orders[key] = found[key]
            self._orders.move_to_end(key)
        while len(self._orders) > max(self._kept, len(wanted)):
            self._orders.popitem(last=False)
        return [found[k] for k in wanted]

    def _draw(self, stream: str, keys: Sequence[tuple[int, str, int]]) -> list[Rows]:
        nodes = np.array([k[0] for k in keys])
        sizes = self._sizes[nodes]
        longest = int(sizes.max())
        draws = self._streams.uniform_table(
            f"batch/{stream}", nodes, np.array([k[2] for k in keys]), counters=np.arange(longest)
        )
        draws[np.arange(longest) >= sizes[:, None]] = 2.0  # behind every draw in [0, 1)
        places = np.argsort(draws, axis=1, kind="stable")
        return [
            self._rows[n][row[:size]] for n, row, size in zip(nodes, places, sizes, strict=True)
        ]
