"""A run of a cell: its folder, its scenario, and what of a scenario numbers depend on."""

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import netsim
from netsim import Scenario, ScenarioError
from papers.results.problems import unknown
from papers.results.tables import Cell, PaperTable, keys

FREE = ("run", "sweep", "paper", "name")
"""Tables of a scenario on which no result depends."""

_DIGEST = 12


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
        path = self.own / "status.json"
        state = json.loads(path.read_text())["state"] if path.is_file() else ""
        return state == "done" and (self.own / "summary.json").is_file()


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


def scenario_of(table: PaperTable, run: Run) -> Scenario:
    """The scenario that a run has to be of, with its one algorithm.

    Parameters
    ----------
    table : PaperTable
    run : Run

    Raises
    ------
    ScenarioError
        If a key or the entry of the cell is wrong.
    """
    cell, entry = run.cell, run.cell.row.entry
    name = cell.row.scenario or cell.column.scenario or table.scenario
    changes = {**keys(table, cell, run.rounds), "seed": run.seed, "sweep": None}
    try:
        whole = netsim.load(name, **changes)
    except ScenarioError as error:
        raise ScenarioError(f"{said_in(table, cell)}: {error}") from error
    labels = [one.name for one in whole.algorithm]
    if entry not in labels:
        raise ScenarioError(unknown(entry, labels, said_in(table, cell)))
    return whole.replace(algorithm=[whole.stated["algorithm"][labels.index(entry)]])


def said_in(table: PaperTable, cell: Cell) -> str:
    """Name the place of a cell's keys and entry, for messages."""
    where = f'tables/{table.name}.toml: column "{cell.column.name}", row "{cell.row.name}"'
    return f'{where}, reading "{cell.reading.name}"' if cell.reading else where


def other_settings(table: PaperTable, run: Run) -> list[str]:
    """List the settings of a run's scenario that differ from the table's; empty: none."""
    now = _flat(scenario_of(table, run))
    then = _flat(netsim.load(run.own / "scenario.toml"))
    return sorted(key for key in now | then if now.get(key) != then.get(key))


def settings(table: PaperTable, run: Run) -> str:
    """A digest of what a run's scenario says, seed apart.

    Keys that are left to their defaults are not in it, so a new one changes no digest.
    """
    stated = scenario_of(table, run).stated
    raw = {key: value for key, value in stated.items() if key not in (*FREE, "seed")}
    text = json.dumps(raw, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]


def _flat(scenario: Scenario) -> dict[str, Any]:
    tables = tomllib.loads(scenario.to_toml())
    return dict(_leaves({k: v for k, v in tables.items() if k not in FREE}))


def _leaves(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
