"""The samples of every minibatch, as a function of (seed, shard, stream, number) alone.

Each epoch visits every training row of a shard once, in an order of its own. The last batch may be
smaller; if it were a single row, which BatchNorm can't train on, it is left out of that epoch.
"""

from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from netsim.learning.jobs import Batches, BatchKey
from netsim.rng import Streams

Rows = NDArray[np.int64]

CACHED_ABOVE = 128
"""Orders of more rows than this are cached; drawing a shorter one anew is quicker."""


class Minibatches:
    """The minibatches of all shards.

    Parameters
    ----------
    rows : sequence of (n_i,) int64
        Row numbers of each shard's training samples.
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
        self._padded = np.zeros((len(rows), CACHED_ABOVE), dtype=np.int64)
        for padded, mine in zip(self._padded, rows, strict=True):
            padded[: len(mine)] = mine[:CACHED_ABOVE]
        self._orders: OrderedDict[tuple[int, str, int], Rows] = OrderedDict()
        self._cache_size = 4 * len(rows) + 16

    @cached_property
    def columns(self) -> int:
        """Samples in the largest minibatch of any shard."""
        return int(min(self.batch_size, self._sizes.max(initial=1)))

    def per_epoch(self, shard: int) -> int:
        """Return the number of minibatches in one pass over the training samples."""
        return int(self._per_epoch[shard])

    def rows(self, key: BatchKey) -> Rows:
        """Row numbers of one minibatch."""
        epoch, position = divmod(key.counter, self.per_epoch(key.shard))
        start = position * self.batch_size
        (order,) = self._epoch_orders([(key.shard, key.stream, epoch)])
        return order[start : start + self.batch_size]

    def table(self, jobs: Sequence[Batches], steps: int) -> tuple[Rows, Rows]:
        """Row numbers of the minibatches of many shards, padded to one shape.

        Parameters
        ----------
        jobs : sequence of Batches
            W of them.
        steps : int
            S minibatches each, from the job's first on (or that one S times).

        Returns
        -------
        index : (W, S, B) int64
            Entries behind the end of a smaller minibatch are valid row numbers, too.
        sizes : (W, S) int64
            Samples in each minibatch.
        """
        shards = np.array([j.shard for j in jobs])
        moves = np.array([not j.is_same for j in jobs])[:, None]
        counters = np.array([j.first for j in jobs])[:, None] + moves * np.arange(steps)
        epochs, positions = np.divmod(counters, self._per_epoch[shards][:, None])
        index = np.empty((*counters.shape, self.columns), dtype=np.int64)
        sizes = np.empty_like(counters)
        by_stream: dict[str, list[int]] = {}
        for i, job in enumerate(jobs):
            by_stream.setdefault(job.stream, []).append(i)
        for stream, mine in by_stream.items():
            some = slice(None) if len(mine) == len(jobs) else np.array(mine)
            index[some], sizes[some] = self._of_stream(
                stream, shards[some], epochs[some], positions[some]
            )
        return index, sizes

    def _of_stream(
        self, stream: str, shards: Rows, epochs: Rows, positions: Rows
    ) -> tuple[Rows, Rows]:
        """`table` for jobs of one stream.

        Parameters
        ----------
        stream : str
        shards : (W,) int64
        epochs, positions : (W, S) int64
            The epoch of each minibatch, and its number within that epoch.
        """
        first = epochs[:, 0]
        counts = epochs[:, -1] - first + 1  # epochs that each job's minibatches are from
        before = np.cumsum(counts) - counts
        wanted = np.arange(counts.sum()) + np.repeat(first - before, counts)
        orders, lengths = self._orders_of(stream, np.repeat(shards, counts), wanted)
        which = epochs + (before - first)[:, None]
        starts = positions * self.batch_size
        sizes = np.minimum(self.batch_size, lengths[which] - starts)
        inside = np.minimum(np.arange(self.columns), sizes[..., None] - 1)
        return orders[which[..., None], starts[..., None] + inside], sizes

    def _orders_of(self, stream: str, shards: Rows, epochs: Rows) -> tuple[Rows, Rows]:
        """Rows of shards in the order of epochs, padded to (n, longest), and how many there are.

        Parameters
        ----------
        stream : str
        shards, epochs : (n,) int64
        """
        sizes = self._sizes[shards]
        longest = int(sizes.max())
        if longest <= CACHED_ABOVE:
            places = self._draw(stream, shards, epochs)
            return self._padded[shards[:, None], places], sizes
        found = self._epoch_orders(
            [(n, stream, e) for n, e in zip(shards.tolist(), epochs.tolist(), strict=True)]
        )
        orders = np.zeros((len(shards), longest), dtype=np.int64)
        for row, order in zip(orders, found, strict=True):
            row[: len(order)] = order
        return orders, sizes

    def _epoch_orders(self, wanted: Sequence[tuple[int, str, int]]) -> list[Rows]:
        """Rows in the order of an epoch, for each (shard, stream, epoch) wanted; cached."""
        found = {k: self._orders[k] for k in wanted if k in self._orders}
        by_stream: dict[str, list[tuple[int, str, int]]] = {}
        for key in wanted:
            if key not in found:
                by_stream.setdefault(key[1], []).append(key)
        for stream, keys in by_stream.items():
            shards, epochs = (np.array([k[i] for k in keys]) for i in (0, 2))
            places = self._draw(stream, shards, epochs)
            for key, row in zip(keys, places, strict=True):
                found[key] = self._rows[key[0]][row[: len(self._rows[key[0]])]]
        for key in wanted:
            self._orders[key] = found[key]
            self._orders.move_to_end(key)
        while len(self._orders) > max(self._cache_size, len(wanted)):
            self._orders.popitem(last=False)
        return [found[k] for k in wanted]

    def _draw(self, stream: str, shards: Rows, epochs: Rows) -> Rows:
        """Permutations (n, longest): places of a shard's rows in an epoch, padding last.

        Parameters
        ----------
        stream : str
        shards, epochs : (n,) int64
        """
        sizes = self._sizes[shards]
        longest = int(sizes.max())
        draws = self._streams.uniform_table(
            f"batch/{stream}", shards, epochs, counters=np.arange(longest)
        )
        draws[np.arange(longest) >= sizes[:, None]] = 2.0  # behind every draw in [0, 1)
        return np.argsort(draws, axis=1, kind="stable")
