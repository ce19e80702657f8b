"""Rows of a covering array: every two options of different axes that can meet do so in some row."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

Row = dict[str, int]
Pair = frozenset[tuple[str, int]]


def pairs_of(row: Row) -> set[Pair]:
    """All two options that meet in a row."""
    return {frozenset(two) for two in combinations(row.items(), 2)}


class CoveringArray:
    """A greedy covering array with constraints.

    Each row begins with a pair that has not occurred; each further axis, in random order, takes the
    option that brings most new pairs. Of a row that is not allowed axes go back to their first
    options until it is. Options that are not allowed beside first options may need another one,
    which is tried out. A pair that is not allowed with what its options need is impossible.

    Parameters
    ----------
    axes : mapping of str to sequence
        Options by axis; the first ones are allowed together.
    allowed : callable
        Row -> bool.
    seed : int

    Attributes
    ----------
    impossible : set of Pair
        Those met so far.
    """

    def __init__(
        self, axes: Mapping[str, Sequence[object]], allowed: Callable[[Row], bool], seed: int = 0
    ) -> None:
        self._sizes = {name: len(options) for name, options in axes.items()}
        self._allowed, self._rng = allowed, np.random.default_rng(seed)
        self.impossible: set[Pair] = set()
        self.wanted: set[Pair] = {
            frozenset({(a, i), (b, j)})
            for a, b in combinations(axes, 2)
            for i in range(self._sizes[a])
            for j in range(self._sizes[b])
        }
        self.pairs = len(self.wanted)
        self._in_order = sorted(self.wanted, key=sorted, reverse=True)
        self._first = dict.fromkeys(self._sizes, 0)
        self._needs = {
            (name, option): self._needed(name, option)
            for name, size in self._sizes.items()
            for option in range(size)
        }

    def _needed(self, name: str, option: int) -> Row:
        alone = self._first | {name: option}
        if self._allowed(alone):
            return {}
        for other, size in self._sizes.items():
            for beside in range(1, size):
                if other != name and self._allowed(alone | {other: beside}):
                    return {other: beside}
        return {}

    def _base(self, pair: Pair) -> Row:
        """The row of a pair with what it needs, and first options else."""
        row = dict(self._first)
        for one in sorted(pair):
            row |= self._needs[one]
        return row | dict(pair)

    def rows(self) -> Iterator[Row]:
        """Rows until no possible pair is left."""
        while self._in_order:
            start = self._in_order.pop()
            if start not in self.wanted:
                continue
            row = self._row(start)
            if row is not None:
                self.wanted -= pairs_of(row)
                yield row
            else:
                self.impossible.add(start)
                self.wanted.discard(start)

    def _row(self, start: Pair) -> Row | None:
        base, row = self._base(start), dict(start)
        if not self._allowed(base):
            return None
        others = [name for name in self._sizes if name not in row]
        for name in self._rng.permutation(others).tolist():
            gains = [self._gain(row, name, option) for option in range(self._sizes[name])]
            best = [option for option, gain in enumerate(gains) if gain == max(gains)]
            row[name] = int(self._rng.choice(best))
        for name in self._rng.permutation(others).tolist():
            if self._allowed(row):
                return row
            row[name] = base[name]
        return row

    def _gain(self, row: Row, name: str, option: int) -> int:
        meets = [frozenset({(name, option), one}) for one in row.items()]
        if any(pair in self.impossible for pair in meets):
            return -1
        return sum(pair in self.wanted for pair in meets)
