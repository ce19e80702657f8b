"""Floating car data of SUMO (`--fcd-output`): where each vehicle is at each time step."""

import gzip
import math
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from netsim.errors import DataError
from netsim.traces.files import Text, located, number

_CHUNK = 1 << 20
_MOST_BYTES = 1 << 32
"""A file may hold so much once it is unpacked: it is read piece by piece."""
_MOST_SAMPLES = 5_000_000
_MOVERS = ("vehicle", "person")


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
    opener: Any = gzip.open if found.suffix == ".gz" else open
    try:
        with opener(found, "rb") as stream:
            left = _MOST_BYTES
            while chunk := stream.read(_CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise DataError(f"{where}: holds more than {_MOST_BYTES >> 30} GiB; cut it")
                reader.parser.Parse(chunk, False)
            reader.parser.Parse(b"", True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise reader.text.wrong(f"is no XML ({what})", error.lineno) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{where}: can't be read ({error}); fetch the file again") from None
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
        self._samples = 0
        self.parser = expat.ParserCreate("utf-8")  # SUMO's, whatever the file says
        self.parser.StartElementHandler = self._start
        self.parser.StartDoctypeDeclHandler = self._refuse_definitions

    def _refuse_definitions(self, *_: Any) -> None:
        raise self._wrong("has a DOCTYPE, which no output of SUMO has; take it out")

    def _wrong(self, what: str) -> DataError:
        return self.text.wrong(what, self.parser.CurrentLineNumber)

    def _start(self, tag: str, said: dict[str, str]) -> None:
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
