"""Events of the Chrome Trace Event format, one a line of JSON, as ui.perfetto.dev reads them.

A node is a process, what it does at a time are slices (`X`) of its threads, messages are arrows
from a slice to another (`s`, `f`), and numbers over time are counters (`C`). Times are in us, of
whole nanoseconds.

Source: "Trace Event Format", Google: complete, instant, counter, flow and metadata events.
"""

import gzip
import heapq
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO, cast

SHORTEST_NS = 1
"""A slice lasts as long, or an arrow would find no slice to begin or end at."""


def process_of(node: int) -> int:
    """A node's process id; 0 is taken for an idle processor by whoever reads traces."""
    return node + 1


class Writer:
    """Writer of events one by one, in any order; it keeps none of them.

    Parameters
    ----------
    file : text file
        The head of the JSON has been written.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._mark = ""
        self.events = 0

    def process(self, pid: int, name: str) -> None:
        """Name a process, and place it in the order of its number."""
        self._put(f'"ph":"M","pid":{pid},"name":"process_name","args":{{"name":{_text(name)}}}')
        self._put(f'"ph":"M","pid":{pid},"name":"process_sort_index","args":{{"sort_index":{pid}}}')

    def thread(self, pid: int, tid: int, name: str) -> None:
        """Name a thread of a process.

        Parameters
        ----------
        pid, tid : int
        name : str
        """
        at = f'"ph":"M","pid":{pid},"tid":{tid}'
        self._put(f'{at},"name":"thread_name","args":{{"name":{_text(name)}}}')
        self._put(f'{at},"name":"thread_sort_index","args":{{"sort_index":{tid}}}')

    def slice(
        self,
        pid: int,
        tid: int,
        name: str,
        begin_ns: int,
        end_ns: int,
        args: Mapping[str, Any] | None = None,
    ) -> None:
        """Write what a thread is at for a while.

        Parameters
        ----------
        begin_ns, end_ns : int
            It is shown as `SHORTEST_NS` where it takes no time.
        args : mapping, optional
            What is told of it when it is selected.
        """
        lasts_ns = max(end_ns - begin_ns, SHORTEST_NS)
        details = "" if not args else f',"args":{json.dumps(args, separators=(",", ":"))}'
        self._put(
            f'"ph":"X","pid":{pid},"tid":{tid},"ts":{_at(begin_ns)},"dur":{_microseconds(lasts_ns)},'
            f'"name":{_text(name)}{details}'
        )

    def instant(self, pid: int, tid: int, name: str, at_ns: int) -> None:
        """Mark an instant of a thread.

        Parameters
        ----------
        pid, tid : int
        name : str
        at_ns : int
        """
        self._put(
            f'"ph":"i","s":"t","pid":{pid},"tid":{tid},"ts":{_at(at_ns)},"name":{_text(name)}'
        )

    def arrow(self, pid: int, tid: int, number: int, at_ns: int, ends: bool) -> None:
        """Begin or end an arrow at the slice of a thread that is under way then.

        Parameters
        ----------
        number : int
            That of the arrow: both its ends have it.
        """
        end = '"ph":"f","bp":"e"' if ends else '"ph":"s"'
        self._put(
            f'{end},"cat":"message","name":"message","id":{number},'
            f'"pid":{pid},"tid":{tid},"ts":{_at(at_ns)}'
        )

    def counter(self, pid: int, name: str, at_ns: int, value: float) -> None:
        """Write a number from an instant on, until the next.

        Parameters
        ----------
        pid : int
        name : str
        at_ns : int
        value : float
        """
        self._put(
            f'"ph":"C","pid":{pid},"ts":{_at(at_ns)},"name":{_text(name)},'
            f'"args":{{"value":{value!r}}}'
        )

    def _put(self, members: str) -> None:
        self._file.write(f"{self._mark}{{{members}}}")
        self._mark = ",\n"
        self.events += 1


@contextmanager
def open_writer(path: Path, about: Mapping[str, Any]) -> Iterator[Writer]:
    """A writer of events to a file; one whose name ends in `.gz` is packed.

    Parameters
    ----------
    about : mapping
        What is told of the whole trace.
    """
    with path.open("xb") as raw:
        packed = gzip.GzipFile("", "wb", 6, raw, 0) if path.suffix == ".gz" else raw
        with TextIOWrapper(cast(Any, packed), encoding="utf-8", newline="\n") as file:
            other_data = json.dumps(dict(about), allow_nan=False)
            file.write(f'{{"displayTimeUnit":"ms","otherData":{other_data},"traceEvents":[\n')
            yield Writer(file)
            file.write("\n]}\n")


def lanes(spans: Iterable[tuple[int, int]]) -> Iterator[int]:
    """The lane of each span, the lowest that is free: slices of a thread do not overlap.

    Parameters
    ----------
    spans : iterable of (int, int)
        Begin and end, in order of their beginnings.

    Yields
    ------
    int
        From 0.
    """
    free: list[int] = []
    taken: list[tuple[int, int]] = []
    many = 0
    for begin, end in spans:
        while taken and taken[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(taken)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, many = many, many + 1
        heapq.heappush(taken, (end, lane))
        yield lane


def _at(time_ns: int) -> str:
    """An instant [us], a hundredth of a ns late, for readers that cut floats off to whole ns."""
    return f"{time_ns // 1000}.{time_ns % 1000:03d}01"


def _microseconds(lasts_ns: int) -> str:
    return f"{lasts_ns // 1000}.{lasts_ns % 1000:03d}"


def _text(words: str) -> str:
    return json.dumps(words)
