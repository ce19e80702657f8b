"""Counter-based random streams: a draw depends on its key and on nothing else.

A key is (seed, purpose, entity ids ..., counter). No stream has a state that advances, so the
order of events cannot reorder draws, and two scenarios that differ in one thing share every draw
whose key they share. The hash is the SplitMix64 finaliser (Steele, Lea, Flood, OOPSLA 2014),
applied once per id; scalar and array forms give the same numbers.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import ArrayLike, DTypeLike, NDArray

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_TO_UNIT = 2.0**-53


def _mix(z: int) -> int:
    z = (z + _GOLDEN) & _MASK
    z = ((z ^ (z >> 30)) * _MIX_1) & _MASK
    z = ((z ^ (z >> 27)) * _MIX_2) & _MASK
    return z ^ (z >> 31)


def _mix_array(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = z + np.uint64(_GOLDEN)  # unsigned arithmetic wraps, as intended
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_MIX_2)
    return z ^ (z >> np.uint64(31))


_mixed_id = lru_cache(maxsize=1 << 16)(_mix)
"""The mix of an id: the same few thousand nodes, blocks and counters come again and again."""


@lru_cache(maxsize=4096)
def _purpose_key(seed: int, purpose: str) -> int:
    digest = hashlib.blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class _Key(ISeedSequence):
    """Seed that gives a generator its key as it is: cheaper than NumPy's splitting of a number."""

    def __init__(self, *words: int) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: DTypeLike = np.uint32) -> NDArray[Any]:
        return np.array(self._words, dtype)


class _Lazy:
    """Stand-in for a generator until something is asked of it."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], np.random.Generator]) -> None:
        self._make = make
        self._made: np.random.Generator | None = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, name)


class Streams:
    """All random draws of one run.

    Parameters
    ----------
    seed : int
        The scenario's seed.

    Notes
    -----
    `ids` are small non-negative integers: node, pair, message or slot numbers. Two uses must not
    share a purpose unless they are meant to share draws.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def key(self, purpose: str, *ids: int) -> int:
        """The 64-bit hash of (seed, purpose, ids); distinct keys give independent values."""
        h = _purpose_key(self.seed, purpose)
        for i in ids:
            h = _mix(h ^ _mixed_id(i & _MASK))
        return h

    def uniform(self, purpose: str, *ids: int) -> float:
        """One uniform draw in [0, 1)."""
        return (self.key(purpose, *ids) >> 11) * _TO_UNIT

    def exponential(self, purpose: str, *ids: int) -> float:
        """One exponential draw with mean 1."""
        return -math.log1p(-self.uniform(purpose, *ids))

    def uniforms(self, purpose: str, *ids: int, counters: ArrayLike) -> NDArray[np.float64]:
        """Uniform draws in [0, 1), one per counter: equal to `uniform(purpose, *ids, counter)`.

        Parameters
        ----------
        purpose : str
        *ids : int
            Of whom or what the draws are.
        counters : (n,) int
            Which of its draws.

        Returns
        -------
        (n,) float
        """
        base = np.uint64(self.key(purpose, *ids))
        last = _mix_array(np.asarray(counters).astype(np.uint64))
        bits: NDArray[np.uint64] = _mix_array(base ^ last) >> np.uint64(11)
        return bits.astype(np.float64) * _TO_UNIT

    def uniform_array(self, purpose: str, *ids: ArrayLike) -> NDArray[np.float64]:
        """Uniform draws, one per row of ids of equal length: equal to `uniform` of each row."""
        bits: NDArray[np.uint64] = self._keys(purpose, ids) >> np.uint64(11)
        return bits.astype(np.float64) * _TO_UNIT

    def uniform_table(
        self, purpose: str, *ids: ArrayLike, counters: ArrayLike
    ) -> NDArray[np.float64]:
        """Many `uniforms` at once.

        Parameters
        ----------
        purpose : str
        *ids : (m,) int
            A column each; row r is the r-th of each.
        counters : (n,) int

        Returns
        -------
        (m, n) float
            Row r is `uniforms` of the r-th ids.
        """
        keys = self._keys(purpose, ids)
        last = _mix_array(np.asarray(counters).astype(np.uint64))
        bits: NDArray[np.uint64] = _mix_array(keys[:, None] ^ last) >> np.uint64(11)
        return bits.astype(np.float64) * _TO_UNIT

    def _keys(self, purpose: str, ids: Sequence[ArrayLike]) -> NDArray[np.uint64]:
        """`key` of each row of ids, a column each."""
        h = np.full(np.shape(ids[0]), _purpose_key(self.seed, purpose), dtype=np.uint64)
        for column in ids:
            h = _mix_array(h ^ _mix_array(np.asarray(column).astype(np.uint64)))
        return h

    def permutation(self, purpose: str, *ids: int, n: int) -> NDArray[np.int64]:
        """A uniformly random order of 0 .. n-1.

        Parameters
        ----------
        purpose : str
        *ids : int
        n : int

        Returns
        -------
        (n,) int
        """
        order: NDArray[np.int64] = np.argsort(
            self.uniforms(purpose, *ids, counters=np.arange(n)), kind="stable"
        )
        return order

    def lazy_generator(self, purpose: str, *ids: int) -> np.random.Generator:
        """The same generator as `generator`, made when it is first used: many never are."""
        return cast(np.random.Generator, _Lazy(lambda: self.generator(purpose, *ids)))

    def generator(self, purpose: str, *ids: int) -> np.random.Generator:
        """A NumPy generator of its own for draws that need more than uniforms (binomial, ...)."""
        key: Any = _Key(self.key(purpose, *ids), self.seed & _MASK)
        return np.random.Generator(np.random.Philox(key))
