"""Floating car data of SUMO (`--fcd-output`): where each vehicle is at each time step.

XML, or the CSV that SUMO's `xml2csv.py` and newer versions of SUMO write.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from netsim.errors import DataError
from netsim.traces import bounded
from netsim.traces.csv_columns import Columns
from netsim.traces.files import Text, locate_file, parse_number, quote, read_text
from netsim.traces.geodesy import degrees_problem, project_to_plane
from netsim.traces.moments import file_time_of_start, parse_moment
from netsim.traces.remarks import note_ids, note_remark

_MOST_BYTES = 1 << 32
"""A file may hold so much once it is unpacked: it is read piece by piece."""
_MOST_SAMPLES = 5_000_000
_MOVERS = ("vehicle", "person", "container")
_MOST_TAG_BYTES = 1 << 22
_MOST_NAMES = 10_000
_DEEPEST = 100
"""Limits of the parser: an unfinished tag, every name of a tag or key, every open tag."""
_GEO = re.compile(r"fcd-output\.geo\s+value=\"(\w+)\"")
"""In the comment at the head of what SUMO writes: its options."""


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
    """Contents of the file.

    Attributes
    ----------
    movers : list of Mover
        In order of appearance.
    step_s : float
        Shortest time between two time steps.
    first_s, last_s : float
        The first and the last time step.
    others : int
        How many vehicles and persons were left aside.
    geo : bool
        Whether the file says that places are longitude and latitude.
    where : str
        The beginning of what is told of the file.
    """

    movers: list[Mover] = field(default_factory=list)
    step_s: float = math.inf
    first_s: float = math.nan
    last_s: float = math.nan
    others: int = 0
    geo: bool = False
    where: str = ""


def read_fcd(
    path: str,
    folder: Path | None,
    table: str,
    most: int,
    start_s: float | None = None,
    geo: bool | None = None,
) -> Fcd:
    """Read the first movers of a file.

    Parameters
    ----------
    path, folder, table
        See `netsim.traces.files.locate_file`; `.gz` is unpacked, `.csv` is a table.
    most : int
        How many vehicles and persons to keep, by order of appearance; others are left aside.
    start_s : float or None
        Time of the file that becomes 0; earlier time steps are not used. None: its first time step.
    geo : bool or None
        Whether places are longitude and latitude, which become metres around their middle; None: as
        the file says.

    Raises
    ------
    DataError
        Naming the line.
    """
    where, found = locate_file(path, folder, table)
    if ".csv" in found.suffixes:
        taken = _from_csv(read_text(path, folder, table), most, start_s)
    else:
        taken = _from_xml(found, where, most, start_s)
    text, taken.where = Text(where, ""), where
    if not taken.movers:
        since = f" at or after {start_s:g} s" if start_s is not None else ""
        raise text.error(
            f"holds no vehicle, person or container{since}; write it with SUMO's --fcd-output"
        )
    begins_s = file_time_of_start(where, taken.first_s, taken.last_s, start_s, "nodes stand still")
    for mover in taken.movers:
        mover.legs = [(t - begins_s, x, y) for t, x, y in mover.legs]
    if table == "mobility":
        _on_a_plane(text, taken, taken.geo if geo is None else geo, geo is None)
        note_ids(table, [mover.name for mover in taken.movers])
        if taken.others:
            note_remark(
                f"{where}: left aside are {taken.others:,} vehicles, persons and containers that "
                "came later"
            )
    return taken


def _on_a_plane(text: Text, found: Fcd, geo: bool, unsure: bool) -> None:
    """Places in degrees as metres; refused if they look like degrees and nothing says so."""
    places = np.array([leg[1:] for mover in found.movers for leg in mover.legs])
    if geo:
        on_plane = iter(project_to_plane(text, places[:, 1], places[:, 0]).tolist())
        for mover in found.movers:
            mover.legs = [(t, *next(on_plane)) for t, _, _ in mover.legs]
    elif unsure and (problem := degrees_problem(places)) is not None:
        raise text.error(
            f"{problem}, as SUMO writes with --fcd-output.geo; set geo = true, or false if these "
            "are metres"
        )


def _from_xml(path: Path, where: str, most: int, start_s: float | None) -> Fcd:
    reader = _Reader(Text(where, ""), most, start_s)
    try:
        with bounded.stream(path, where, _MOST_BYTES) as source:
            while chunk := source.read():
                reader.take(chunk)
            reader.parser.Parse(b"", True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise reader.text.error(f"is no XML ({what})", error.lineno) from None
    except bounded.BROKEN as error:
        raise bounded.unreadable_error(where, error) from None
    return reader.found


def _from_csv(text: Text, most: int, start_s: float | None) -> Fcd:
    """The movers of a table with the columns `timestep_time`, `vehicle_id`, `vehicle_x`, ..."""
    rows = Columns(text, ("timestep_time",))
    times = rows.times("timestep_time", 1.0)
    movers = _Movers(text, most, start_s)
    kinds = [kind for kind in _MOVERS if f"{kind}_id" in rows]
    if not kinds:
        raise text.error(
            "no column vehicle_id, person_id or container_id; write it with SUMO's xml2csv.py"
        )
    cells = {kind: _row_cells(rows, kind) for kind in kinds}
    for row, time_s in enumerate(times.tolist()):
        line = rows.line(row)
        if row == 0 or time_s != times[row - 1]:
            movers.begin_step(time_s, line)
        for kind in kinds:
            name, x, y = next(cells[kind])
            if name:
                x_m = _required_number(text, line, kind, "x", x)
                movers.note_position(
                    kind, name, x_m, _required_number(text, line, kind, "y", y), line
                )
    return movers.found


def _row_cells(rows: Columns, kind: str) -> Iterator[tuple[str, str, str]]:
    return zip(*(rows.texts(f"{kind}_{key}") for key in ("id", "x", "y")), strict=True)


def _required_number(text: Text, line: int, tag: str, key: str, word: str | None) -> float:
    value = None if word is None else parse_number(word)
    if value is None or not math.isfinite(value):
        state = "is missing" if not word else f"is {quote(word)}"
        raise text.error(f"<{tag}>: {key} {state}; it must be a finite number", line)
    return value


class _Movers:
    """Movers of a file: takes time steps and places in their order."""

    def __init__(self, text: Text, most: int, start_s: float | None) -> None:
        self._text, self._most = text, most
        self._start_s = -math.inf if start_s is None else start_s
        self.found = Fcd()
        self._time_s = math.nan
        self._by_name: dict[tuple[str, str], Mover] = {}
        self._left: set[tuple[str, str]] = set()
        self._samples = 0

    def begin_step(self, time_s: float, line: int) -> None:
        """Begin a time step."""
        if time_s <= self._time_s:
            raise self._text.error(
                f"time {time_s:.12g} s after {self._time_s:.12g} s; time steps must ascend", line
            )
        if not math.isnan(self._time_s):
            self.found.step_s = min(self.found.step_s, time_s - self._time_s)
        else:
            self.found.first_s = time_s
        self._time_s = self.found.last_s = time_s

    def note_position(self, kind: str, name: str, x: float, y: float, line: int) -> None:
        """Record the position of a mover in this time step."""
        if self._time_s < self._start_s:
            return
        mover = self._by_name.get((kind, name))
        if mover is None:
            if len(self.found.movers) == self._most:
                if len(self._left) < _MOST_NAMES and (kind, name) not in self._left:
                    self._left.add((kind, name))
                    self.found.others += 1
                return
            mover = self._by_name[kind, name] = Mover(name)
            self.found.movers.append(mover)
        if mover.legs and mover.legs[-1][0] == self._time_s:
            raise self._text.error(f"{kind} {quote(name)} stands twice in this time step", line)
        self._samples += 1
        if self._samples > _MOST_SAMPLES:
            raise self._text.error(
                f"there are more than {_MOST_SAMPLES:,} places; write fewer with SUMO's "
                "--device.fcd.period",
                line,
            )
        mover.legs.append((self._time_s, x, y))


class _Reader:
    """Reader of the XML parser's events."""

    def __init__(self, text: Text, most: int, start_s: float | None) -> None:
        self.text = text
        self._movers = _Movers(text, most, start_s)
        self.found = self._movers.found
        self._in_step = False
        self._depth = self._taken = 0
        self._names: dict[str, str] = {}
        # SUMO's encoding, whatever the file says
        self.parser = expat.ParserCreate("utf-8", None, self._names)
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CommentHandler = self._comment
        self.parser.StartDoctypeDeclHandler = self._refuse_definitions

    def take(self, chunk: bytes) -> None:
        """Parse the next piece of the file."""
        if not self._taken:
            bounded.require_plain(chunk, self.text.where)
            if chunk[:2] in bounded.WIDE:
                raise self.text.error("is text in UTF-16; save it in UTF-8")
        self.parser.Parse(chunk, False)
        self._taken += len(chunk)
        if self._taken - max(self.parser.CurrentByteIndex, 0) > _MOST_TAG_BYTES:
            raise self._error(f"a tag is longer than {_MOST_TAG_BYTES >> 20} MiB")
        if len(self._names) > _MOST_NAMES:
            raise self._error(f"has more than {_MOST_NAMES:,} names of tags and keys")

    def _end(self, tag: str) -> None:
        self._depth -= 1

    def _comment(self, text: str) -> None:
        said = _GEO.search(text)
        if said is not None and self._depth == 0:
            self.found.geo = said[1].lower() in ("true", "1", "yes", "on", "t", "x")

    def _refuse_definitions(self, *_: Any) -> None:
        raise self._error("has a DOCTYPE, which no output of SUMO has; take it out")

    def _error(self, what: str) -> DataError:
        return self.text.error(what, self.parser.CurrentLineNumber)

    def _start(self, tag: str, said: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(f"tags lie more than {_DEEPEST} deep in each other")
        line = self.parser.CurrentLineNumber
        if tag == "timestep":
            time_s = parse_moment(said.get("time", ""))
            if time_s is None:
                state = f"is {quote(said['time'])}" if "time" in said else "is missing"
                raise self._error(f"<timestep>: time {state}; it must be a finite number, or H:M:S")
            self._movers.begin_step(time_s, line)
            self._in_step = True
        elif tag in _MOVERS:
            if not self._in_step:
                raise self._error(f"<{tag}> stands outside of a <timestep>")
            if "id" not in said:
                raise self._error(f"<{tag}> has no id")
            x, y = (
                _required_number(self.text, line, tag, key, said.get(key)) for key in ("x", "y")
            )
            self._movers.note_position(tag, said["id"], x, y, line)
