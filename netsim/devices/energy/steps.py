"""A step function of time whose steps are added and dropped as time passes."""

from bisect import bisect_left, bisect_right
from typing import Generic, TypeVar

T = TypeVar("T")


class Steps(Generic[T]):
    """A value by time: constant between instants, and the first one before and after all of them.

    Parameters
    ----------
    first : T

    Attributes
    ----------
    from_ns : list of int
        The instants, ascending.
    then : list of T
        The value from each of them on, up to the next; the last one is `first`.
    """

    __slots__ = ("_first", "from_ns", "then")

    def __init__(self, first: T) -> None:
        self._first = first
        self.from_ns: list[int] = []
        self.then: list[T] = []

    def range_between(self, from_ns: int, to_ns: int) -> range:
        """Split steps at two instants; returns the indices of those between them."""
        return range(self._split_at(from_ns), self._split_at(to_ns))

    def index_at(self, at_ns: int) -> int:
        """Index of the step that holds an instant; -1 before the first."""
        return bisect_right(self.from_ns, at_ns) - 1

    def forget(self, before_ns: int) -> None:
        """Drop the steps that end before an instant."""
        k = max(0, bisect_left(self.from_ns, before_ns) - 1)
        del self.from_ns[:k], self.then[:k]

    def _split_at(self, at_ns: int) -> int:
        k = bisect_left(self.from_ns, at_ns)
        if k == len(self.from_ns) or self.from_ns[k] != at_ns:
            self.from_ns.insert(k, at_ns)
            self.then.insert(k, self.then[k - 1] if k else self._first)
        return k
