"""A run of a cell: its folder, its scenario, and what of a scenario numbers depend on."""

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netsim.campaign import sweep_folder
from netsim.campaign.grid import Job, Point
from netsim.errors import ScenarioError
from netsim.scenario import Scenario, algorithm_files, check, draft_of, to_toml
from papers.results.problems import unknown
from papers.results.tables import Cell, PaperTable, keys

FREE = ("run", "sweep", "paper", "name")
"""Tables of a scenario on which no result depends."""

_DIGEST = 12

MODULES = algorithm_files.algorithms()


@dataclass(frozen=True)
class Run:
    """One run of a cell.

    Attributes
    ----------
    cell : Cell
    seed : int
    rounds : int or None
        Fewer than the table's; None: all.
    folder : Path
        Of the seed; the run itself is in `own`.
    """

    cell: Cell
    seed: int
    rounds: int | None
    folder: Path

    @property
    def own(self) -> Path:
        """The run's folder."""
        return self.folder / self.cell.row.entry

    @property
    def is_done(self) -> bool:
        """Return whether nothing of it is left to play."""
        return sweep_folder.state(self.own) == "done"


def run_of(table: PaperTable, cell: Cell, seed: int, rounds: int | None, runs: Path) -> Run:
    """Return the run of a cell.

    Parameters
    ----------
    table : PaperTable
    cell : Cell
    seed : int
    rounds : int or None
    runs : Path
        The folder of all tables' runs.
    """
    if rounds == table.rounds:
        rounds = None
    cut = () if rounds is None else (f"rounds-{rounds}",)
    folder = runs.joinpath(table.name, *cell.id, *cut, f"seed-{seed}")
    return Run(cell, seed, rounds, folder)


def job_of(table: PaperTable, run: Run, threads: int = 1) -> Job:
    """The run as a sweep's worker plays it.

    Parameters
    ----------
    table : PaperTable
    run : Run
    threads : int
        Of the native kernel; no bit depends on it.
    """
    cell = run.cell
    scenario = cell.row.scenario or cell.column.scenario or table.scenario
    draft = draft_of(scenario, (), MODULES)
    draft.raw.pop("sweep", None)
    for key, value in keys(table, cell, run.rounds).items():
        draft.assign(key, value, said_in(table, cell))
    draft.assign("seed", run.seed, table.name)
    draft.assign("run.threads", threads, "--threads")
    label = " / ".join(cell.id)
    return Job(Point(label, {}), run.seed, draft, run.folder, (), False, (cell.row.entry,))


def said_in(table: PaperTable, cell: Cell) -> str:
    """Name the place of a cell's keys and entry, for messages."""
    where = f'tables/{table.name}.toml: column "{cell.column.name}", row "{cell.row.name}"'
    return f'{where}, reading "{cell.reading.name}"' if cell.reading else where


def wanted(table: PaperTable, run: Run) -> Scenario:
    """The scenario that a run has to be of, with its one algorithm."""
    whole = check(job_of(table, run).draft, MODULES)
    entry = tuple(e for e in whole.algorithm if e.name == run.cell.row.entry)
    if not entry:
        known, row = [e.name for e in whole.algorithm], run.cell.row
        raise ScenarioError(unknown(row.entry, known, said_in(table, run.cell)))
    return whole.model_copy(update={"algorithm": entry})


def other_settings(table: PaperTable, run: Run) -> list[str]:
    """List the settings of a run's scenario that differ from the table's; empty: none."""
    now = _flat(wanted(table, run))
    path = str(run.own / "scenario.toml")
    then = _flat(check(draft_of(path, (), MODULES), MODULES))
    return sorted(key for key in now | then if now.get(key) != then.get(key))


def settings(table: PaperTable, run: Run) -> str:
    """A digest of what a run's scenario says, seed apart.

    Keys that are left to their defaults are not in it, so a new one changes no digest.

    Raises
    ------
    ScenarioError
        If the scenario has no algorithm of the row's entry.
    """
    raw = {k: v for k, v in job_of(table, run).draft.raw.items() if k not in (*FREE, "seed")}
    entry = run.cell.row.entry
    labels = [one.get("name", one["kind"]) for one in raw["algorithm"]]
    if entry not in labels:
        raise ScenarioError(unknown(entry, labels, said_in(table, run.cell)))
    raw["algorithm"] = [raw["algorithm"][labels.index(entry)]]
    text = json.dumps(raw, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]


def _flat(scenario: Scenario) -> dict[str, Any]:
    tables = tomllib.loads(to_toml(scenario))
    return dict(_leaves({k: v for k, v in tables.items() if k not in FREE}))


def _leaves(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
