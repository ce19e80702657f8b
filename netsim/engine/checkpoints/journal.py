"""The folder `journal` of a run: what a run that was killed goes on from.

    checkpoint-000012.json   the contents of a checkpoint, and their checksum
    checkpoint-000012.cells  its values
    values-000003.numbers    numbers that `node.value` gave between two checkpoints
    command.json             how the run was begun
    scenario.json            the scenario that is played, to be compared with scenario.toml
    ended.json               once all events have happened: the checksums of what was written
    set_aside-1/             what an earlier process wrote after the checkpoint it was resumed from

A checkpoint counts once its JSON is there, which is written last. The last two are kept.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError
from torch import Tensor

from netsim.engine.checkpoints import command
from netsim.engine.checkpoints.checkpoint import (
    Checkpoint,
    DamagedError,
    WrittenFile,
    read_cells,
    read_numbers,
    require_sizes,
    require_whole,
    write_cells,
    write_numbers,
)
from netsim.engine.checkpoints.command import SCENARIO
from netsim.errors import ScenarioError, one_line, printable
from netsim.learning.refs import Cell
from netsim.recording import checksums, json_files
from netsim.recording.parquet_parts import part_files
from netsim.recording.schema import TABLES
from netsim.recording.whole_files import (
    Digests,
    make_folder,
    sha256_of,
    sync_names,
    write_text,
    write_whole,
    written_into,
)
from netsim.traces.bounded_toml import toml_of

NAME = command.FOLDER
KEPT = 2
"""Checkpoints that are kept; an older one is there if the newest is damaged."""

UNFINISHED = ".*.partial"
"""Files that a process was filling when it was killed."""

MAX_JSON_BYTES = 256 << 20
ENDED = "ended.json"


class Found(NamedTuple):
    """Contents of a journal."""

    checkpoint: Checkpoint | None  # the newest one that is whole
    numbers: np.ndarray  # (n,) float64: what `node.value` had given by then
    damaged: list[str]  # what is wrong with newer ones


class Kept(NamedTuple):
    """The scenario that is played."""

    text: str  # as `scenario.toml` holds it
    # checksums of what users had written there, which has become changes of this one
    instead_of: tuple[str, ...]
    tables: dict[str, Any]  # what the text says


class Ended(NamedTuple):
    """A run all of whose events have happened."""

    virtual_s: float  # how far it came
    written: Digests  # SHA-256 of each of its files, by name, as it was written


class Journal:
    """The journal of one run.

    `folder`: of the run. Nothing is created in it before the first checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        self._run_folder = folder
        self.folder = folder / NAME
        self._next = 0
        self._values: list[WrittenFile] = []

    # -- writing ---------------------------------------------------------------------------------

    def write(
        self,
        cells: Sequence[Cell],
        numbers: Sequence[np.ndarray],
        contents: Mapping[str, Any],
        brought: Callable[[Sequence[Cell]], Iterable[Cell]] = iter,
    ) -> None:
        """Write a checkpoint; on the disk itself when this returns.

        Parameters
        ----------
        cells : sequence of Cell
            The values that exist.
        numbers : sequence of (n,) float64
            What `node.value` has given since the last checkpoint.
        contents : mapping
            The other fields of `Checkpoint`, but for its number.
        brought : callable
            As of `write_cells`.
        """
        make_folder(self.folder)
        name = f"checkpoint-{self._next:06d}"
        if numbers:
            path = self.folder / f"values-{self._next:06d}.numbers"
            self._values.append(write_numbers(path, numbers))
        groups, file = write_cells(self.folder / f"{name}.cells", cells, brought)
        checkpoint = Checkpoint(
            number=self._next, values=tuple(self._values), groups=groups, cells=file, **contents
        )
        text = checkpoint.model_dump_json()
        whole = json.dumps({"sha256": sha256_of(text), "checkpoint": text})
        sync_names(self.folder)
        write_text(self.folder / f"{name}.json", whole)
        sync_names(self.folder)
        sync_names(self._run_folder)
        self._next += 1
        self._forget(self._next - KEPT)

    def _forget(self, before: int) -> None:
        """Remove the checkpoints before a number."""
        for path in sorted(self.folder.glob("checkpoint-*.*")):
            if _number(path) < before and not path.is_dir():
                path.unlink(missing_ok=True)

    def end(self) -> None:
        """Remove what a finished run does not need, last what says how it was begun.

        What was set aside stays.
        """
        for pattern in ("checkpoint-*.*", "values-*.*", UNFINISHED, SCENARIO, ENDED, command.FILE):
            for path in self.folder.glob(pattern):
                if not path.is_dir():
                    path.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    # -- reading ---------------------------------------------------------------------------------

    def read(self) -> Found:
        """The newest checkpoint that is whole, with its files."""
        damaged = []
        for path in sorted(self.folder.glob("checkpoint-*.json"), reverse=True):
            try:
                checkpoint = _checkpoint(path)
                _require_parts(checkpoint)
                require_whole(self.folder, checkpoint.cells)
                require_sizes(checkpoint.cells, checkpoint.groups)
                numbers = [read_numbers(self.folder, f) for f in checkpoint.values]
                found = np.concatenate([np.empty(0), *numbers])
                if len(found) != checkpoint.numbers:
                    raise DamagedError(
                        f"it names {checkpoint.numbers} values, {len(found)} are there"
                    )
            except (DamagedError, OSError) as problem:
                damaged.append(printable(f"{path}: {problem}"))
                continue
            return Found(checkpoint, found, damaged)
        return Found(None, np.empty(0), damaged)

    def cells(self, checkpoint: Checkpoint) -> Iterator[tuple[int, Tensor]]:
        """The values of a checkpoint that `read` found: number of the cell, value."""
        return read_cells(self.folder, checkpoint.cells, checkpoint.groups)

    # -- what was written ------------------------------------------------------------------------

    def written(self) -> Digests:
        """The checksums of what has been written into the run folder, but for the journal."""
        return checksums.results(self._run_folder)

    def keep_scenario(self, text: str, instead_of: Sequence[str] = ()) -> None:
        """Keep the scenario that is played.

        `text`: as `scenario.toml` holds it. `instead_of`: checksums of what users had written into
        `scenario.toml` meanwhile.
        """
        make_folder(self.folder, above=False)
        found = {"scenario": text, "instead_of": list(instead_of)}
        write_text(self.folder / SCENARIO, json.dumps(found) + "\n")

    def scenario(self) -> Kept | None:
        """The scenario that is played, as it was kept; None if there is none.

        Raises
        ------
        ScenarioError
            If what is there is not what a run writes.
        """
        path = self.folder / SCENARIO
        try:
            found = json_files.json_file(path, most_bytes=MAX_JSON_BYTES)
            text, instead_of = found["scenario"], tuple(found["instead_of"])
        except FileNotFoundError:
            return None
        except KeyError as missing:
            raise ScenarioError(f"{path}: {missing.args[0]}: is missing") from None
        return Kept(text, instead_of, toml_of(text, f"{one_line(path)}: scenario"))

    def end_events(self, virtual_s: float) -> Ended:
        """Note that all events have happened and the results are written: figures may follow."""
        ended = Ended(virtual_s, self.written())
        make_folder(self.folder, above=False)
        write_text(self.folder / ENDED, json.dumps(ended._asdict()) + "\n")
        return ended

    def ended(self) -> Ended | None:
        """Note of `end_events`; None if events are left to play."""
        try:
            found = json_files.json_file(self.folder / ENDED, most_bytes=MAX_JSON_BYTES)
            return Ended(float(found["virtual_s"]), found["written"])
        except (FileNotFoundError, KeyError, ScenarioError):
            return None

    # -- going on --------------------------------------------------------------------------------

    def go_on(self, checkpoint: Checkpoint | None) -> Path | None:
        """Make ready to write after a checkpoint, or anew.

        Whatever was written later is moved into a folder `set_aside-N`, the summary first: it is of
        a run all of whose tables are there.

        Returns
        -------
        Path or None
            The folder, if there was anything to move.
        """
        kept = set() if checkpoint is None else {f.name for f in checkpoint.values}
        newest = -1 if checkpoint is None else checkpoint.number
        of_the_end = (self._run_folder / name for name in ("summary.json", checksums.NAME))
        later = [path for path in of_the_end if path.is_file()]
        later += [
            path
            for path in sorted(self.folder.glob("*-*.*"))
            if path.is_file()
            and not path.name.startswith(".")  # unfinished: below, with those of the tables
            and path.name not in kept
            and not (path.name.startswith("checkpoint-") and _number(path) <= newest)
        ]
        written = {} if checkpoint is None else checkpoint.written
        written_into(self._run_folder).update(written)
        tables = [f for f in self._run_folder.iterdir() if f.is_dir() and f.name != NAME]
        for table in tables:
            later += [p for p in part_files(table) if f"{table.name}/{p.name}" not in written]
        for folder in (self.folder, self._run_folder, *tables):
            later += sorted(folder.glob(UNFINISHED))
        self._next = newest + 1
        self._values = [] if checkpoint is None else list(checkpoint.values)
        return self._set_aside(later)

    def set_aside_scenario(self) -> Path:
        """Copy `scenario.toml` into a folder `set_aside-N`, before it is written anew."""
        folder = self._next_aside()
        make_folder(folder)
        content = (self._run_folder / "scenario.toml").read_bytes()
        write_whole(folder / "scenario.toml", lambda file: file.write(content))
        return folder

    def _next_aside(self) -> Path:
        number = 1
        while os.path.lexists(folder := self.folder / f"{checksums.SET_ASIDE}{number}"):
            number += 1
        return folder

    def _set_aside(self, paths: Sequence[Path]) -> Path | None:
        if not paths:
            return None
        folder = self._next_aside()
        for path in paths:
            is_in_table = path.parent not in (self.folder, self._run_folder)
            inside = folder / path.parent.name if is_in_table else folder
            make_folder(inside)
            # not by its own name: it is no list of the folder that it now lies in
            name = f"earlier_{path.name}" if path.name == checksums.NAME else path.name
            os.replace(path, inside / name)
        return folder


def _checkpoint(path: Path) -> Checkpoint:
    """The contents of a checkpoint's JSON.

    Raises
    ------
    DamagedError
    """
    try:
        whole = json_files.json_file(path, json_files.FILES["checkpoint.json"], MAX_JSON_BYTES)
        text, sha256 = whole["checkpoint"], whole["sha256"]
    except (ScenarioError, KeyError):
        raise DamagedError("is not whole") from None
    if sha256_of(text) != sha256:
        raise DamagedError("is not what was written: its checksum differs")
    try:
        return Checkpoint.model_validate_json(text)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DamagedError(f"is no checkpoint of this version: {where}: {first['msg']}") from None


def _require_parts(checkpoint: Checkpoint) -> None:
    """Refuse a checkpoint that does not say what was written into each of its tables.

    Raises
    ------
    DamagedError
    """
    for table, extent in checkpoint.extents.items():
        if table not in TABLES:
            raise DamagedError(f"{table} is no table of a run")
        parts = sum(name.startswith(f"{table}/") for name in checkpoint.written)
        if parts != extent.parts:
            raise DamagedError(f"{table}/ has {extent.parts} parts, it names {parts}")


def _number(path: Path) -> int:
    """The number in the name of a file of the journal."""
    digits = path.name.partition("-")[2].partition(".")[0]
    return int(digits) if digits.isdigit() else -1
