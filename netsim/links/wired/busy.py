"""Time for which a sender's line is busy, however many of its messages are on it at once."""

from collections.abc import Callable, Hashable

_MOST = 64
"""Spans of a line that are kept before those that nothing can overlap any more are forgotten."""


class BusyTime:
    """Union of the spans of time in which lines are busy, line by line.

    A span is told when it has ended, so that a later one may have begun earlier.
    """

    def __init__(self) -> None:
        self._spans: dict[Hashable, list[tuple[int, int]]] = {}

    def more_ns(
        self, line: Hashable, from_ns: int, to_ns: int, oldest_ns: Callable[[], int]
    ) -> int:
        """Add a span of a line; how much of it was in none before [ns].

        Parameters
        ----------
        line : hashable
        from_ns, to_ns : int
        oldest_ns : callable
            () -> when the oldest span began that has not been told [ns].
        """
        begin_ns, end_ns, covered_ns, apart = from_ns, to_ns, 0, []
        for span in self._spans.get(line, ()):
            if span[1] < from_ns or to_ns < span[0]:
                apart.append(span)
            else:
                covered_ns += min(span[1], to_ns) - max(span[0], from_ns)
                begin_ns, end_ns = min(begin_ns, span[0]), max(end_ns, span[1])
        if len(apart) >= _MOST:
            began_ns = oldest_ns()
            apart = [span for span in apart if span[1] >= began_ns]
        self._spans[line] = [*apart, (begin_ns, end_ns)]
        return to_ns - from_ns - covered_ns
