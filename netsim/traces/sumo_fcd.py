"""Floating car data of SUMO (`--fcd-output`): where each vehicle is at each time step."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from netsim.errors import DataError
from netsim.traces import bounded
from netsim.traces.files import Text, located, number

_MOST_BYTES = 1 << 32
"""A file may hold so much once it is unpacked: it is read piece by piece."""
_MOST_SAMPLES = 5_000_000
_MOVERS = ("vehicle", "person")
_MOST_TAG_BYTES = 1 << 22
_MOST_NAMES = 10_000
_DEEPEST = 100
"""What the parser keeps: an unfinished tag, every name of a tag or key, every open tag."""


@dataclass
class Mover:
    """One vehicle or person.

    Attributes
    ----------
    name : str
        `id` in the file.
    legs : list of (float, float, float)
        Time [s] and place [m, m], by ascending time.
    """

    name: str
    legs: list[tuple[float, float, float]] = field(default_factory=list)


@dataclass
class Fcd:
    """What was read.

    Attributes
    ----------
    movers : list of Mover
        In order of appearance.
    step_s : float
        Shortest time between two time steps.
    """

    movers: list[Mover] = field(default_factory=list)
    step_s: float = math.inf


def read_fcd(path: str, folder: Path | None, table: str, most: int, start_s: float = 0.0) -> Fcd:
    """Read the first movers of a file.

    Parameters
    ----------
    path, folder, table
        See `netsim.traces.files.located`; `.gz` is unpacked.
    most : int
        How many vehicles and persons to keep, by order of appearance; others are left aside.
    start_s : float
        Time of the file that becomes 0; what is before is left aside.

    Raises
    ------
    DataError
        Naming the line.
    """
    where, found = located(path, folder, table)
    reader = _Reader(Text(where, ""), most, start_s)
    try:
        with bounded.stream(found, where, _MOST_BYTES) as source:
            while chunk := source.read():
                reader.take(chunk)
            reader.parser.Parse(b"", True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise reader.text.wrong(f"is no XML ({what})", error.lineno) from None
    except bounded.BROKEN as error:
        raise bounded.unreadable(where, error) from None
    if not reader.found.movers:
        raise reader.text.wrong(
            f"holds no vehicle or person at or after {start_s:g} s; write it with SUMO's "
            "--fcd-output"
        )
    return reader.found


class _Reader:
    """Takes what the parser meets."""

    def __init__(self, text: Text, most: int, start_s: float) -> None:
        self.text, self._most, self._start_s = text, most, start_s
        self.found = Fcd()
        self._time_s = math.nan
        self._by_name: dict[tuple[str, str], Mover] = {}
        self._samples = self._depth = self._taken = 0
        self._names: dict[str, str] = {}
        # SUMO's encoding, whatever the file says
        self.parser = expat.ParserCreate("utf-8", None, self._names)
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse_definitions

    def take(self, chunk: bytes) -> None:
        """Parse the next piece of the file."""
        self.parser.Parse(chunk, False)
        self._taken += len(chunk)
        if self._taken - max(self.parser.CurrentByteIndex, 0) > _MOST_TAG_BYTES:
            raise self._wrong(f"a tag is longer than {_MOST_TAG_BYTES >> 20} MiB")
        if len(self._names) > _MOST_NAMES:
            raise self._wrong(f"has more than {_MOST_NAMES:,} names of tags and keys")

    def _end(self, tag: str) -> None:
        self._depth -= 1

    def _refuse_definitions(self, *_: Any) -> None:
        raise self._wrong("has a DOCTYPE, which no output of SUMO has; take it out")

    def _wrong(self, what: str) -> DataError:
        return self.text.wrong(what, self.parser.CurrentLineNumber)

    def _start(self, tag: str, said: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong(f"tags lie more than {_DEEPEST} deep in each other")
        if tag == "timestep":
            self._step(self._number("timestep", said, "time") - self._start_s)
        elif tag in _MOVERS:
            self._place(tag, said)

    def _step(self, time_s: float) -> None:
        if time_s <= self._time_s:
            raise self._wrong(
                f"time {time_s + self._start_s:g} s after {self._time_s + self._start_s:g} s; "
                "time steps must ascend"
            )
        if not math.isnan(self._time_s):
            self.found.step_s = min(self.found.step_s, time_s - self._time_s)
        self._time_s = time_s

    def _place(self, tag: str, said: dict[str, str]) -> None:
        if math.isnan(self._time_s):
            raise self._wrong(f"<{tag}> stands outside of a <timestep>")
        if self._time_s < 0:
            return
        name = said.get("id")
        if name is None:
            raise self._wrong(f"<{tag}> has no id")
        x, y = self._number(tag, said, "x"), self._number(tag, said, "y")
        mover = self._by_name.get((tag, name))
        if mover is None:
            if len(self.found.movers) == self._most:
                return
            mover = self._by_name[tag, name] = Mover(name)
            self.found.movers.append(mover)
        if mover.legs and mover.legs[-1][0] == self._time_s:
            raise self._wrong(f'{tag} "{name}" stands twice in this time step')
        self._samples += 1
        if self._samples > _MOST_SAMPLES:
            raise self._wrong(
                f"there are more than {_MOST_SAMPLES:,} places; write fewer with SUMO's "
                "--device.fcd.period"
            )
        mover.legs.append((self._time_s, x, y))

    def _number(self, tag: str, said: dict[str, str], key: str) -> float:
        value = number(said.get(key, ""))
        if value is None or not math.isfinite(value):
            shown = f'is "{said[key]}"' if key in said else "is missing"
            raise self._wrong(f"<{tag}>: {key} {shown}; it must be a finite number")
        return value
