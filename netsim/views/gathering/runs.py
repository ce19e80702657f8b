"""The runs of a figure, and which of them are seeds of one curve."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError
from netsim.recording import metrics as measured
from netsim.recording import run_folder, status
from netsim.recording.main_metric import MainMetric
from netsim.recording.parquet_parts import Rows
from netsim.recording.schema import WHY_MISSING
from netsim.recording.summary import labels, load
from netsim.registry import did_you_mean
from netsim.views.gathering import names

_SEED = re.compile(r"seed-\d+")
_ITS_OWN = ("name", "seed", "run", "sweep", "paper")
"""Keys of a scenario in which seeds of one curve may differ."""


@dataclass(frozen=True)
class Run:
    """Data of one run folder for figures.

    Attributes
    ----------
    folder : Path
    summary : dict
    """

    folder: Path
    summary: dict[str, Any]

    @staticmethod
    def of(folder: Path) -> "Run":
        """That of a folder.

        Raises
        ------
        ScenarioError
            If its run has not ended, or it is none of a run.
        """
        try:
            return Run(folder, load(folder))
        except ScenarioError:
            state = status.read(folder).get("state")
            if state is None or (folder / "summary.json").exists():
                raise
            raise ScenarioError(
                f'{folder / "status.json"}: state = "{state}": only a run that has ended is drawn; '
                f"netsim resume {folder} goes on with it, netsim report {folder} shows how far it "
                "came"
            ) from None

    @cached_property
    def metrics(self) -> Rows:
        """The table of what was measured."""
        return run_folder.read(self.folder, "metrics")

    @cached_property
    def main(self) -> MainMetric:
        """Main metric of the run."""
        return MainMetric.of(self.summary)

    @property
    def algorithm(self) -> str:
        """The name of what was played."""
        return str(self.summary.get("algorithm", self.folder.name))

    @cached_property
    def nodes(self) -> int:
        """Number of nodes; see `run_folder.nodes_of`."""
        return run_folder.nodes_of(self.folder, self.summary)

    @property
    def seed(self) -> Any:
        """Seed of the run."""
        return self.summary.get("seed")

    @cached_property
    def settings(self) -> str:
        """Return the settings that seeds of one curve share, as one text; empty if unknown."""
        try:
            tables = run_folder.scenario_tables(self.folder)
        except ScenarioError:
            return ""
        return repr(sorted((k, v) for k, v in tables.items() if k not in _ITS_OWN))

    def require(self, table: str) -> None:
        """Raise ScenarioError where a table is missing."""
        if not run_folder.has(self.folder, table):
            why = WHY_MISSING.get(table, "nothing was recorded in it")
            raise ScenarioError(f"{self.folder}: has no table {table}: {why}")

    def require_metric(self, metric: str) -> None:
        """Raise ScenarioError where a metric was not measured."""
        known = measured.names(self.metrics)
        if metric not in known:
            raise ScenarioError(
                f"{self.folder / 'metrics'}: metric = {metric}: was not measured; there are "
                f"{', '.join(known) or 'none: the run was played with --timing-only'}"
                + did_you_mean(metric, known)
            )


def title_of(summary: dict[str, Any], algorithm: bool = True) -> str:
    """Return the heading of a figure: the name of the run."""
    name = str(summary.get("name", "run"))
    if algorithm and summary.get("algorithm", name) != name:
        name = f"{name} · {summary['algorithm']}"
    return f"{name} · {summary['nodes']:,} nodes" if "nodes" in summary else name


def pictured(run: Run) -> list[str]:
    """The main metric on test samples; where data is balanced, the personal one repeats another."""
    found = run.main.of_tests(measured.names(run.metrics))
    return [m for m in found if m != "accuracy_personal"]


def groups(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs by curve: seeds of one algorithm and scenario together, by the name of the curve."""
    by_algorithm: dict[str, list[Run]] = {}
    for run in runs:
        by_algorithm.setdefault(run.algorithm, []).append(run)
    if all(_are_seeds(group) for group in by_algorithm.values()):
        return {names.method(name): group for name, group in by_algorithm.items()}
    by_place: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        place = tuple(part for part in run.folder.parts if not _SEED.fullmatch(part))
        by_place.setdefault(place, []).append(run)
    if all(_are_seeds(group) for group in by_place.values()):
        found = [group[0] for group in by_place.values()]
        placed = zip(_places(found), by_place.values(), strict=True)
        return dict(placed)
    told = labels([run.folder for run in runs], [run.summary for run in runs])
    return {name: [run] for name, run in zip(told, runs, strict=True)}


def _places(runs: Sequence[Run]) -> list[str]:
    """Names of curves by their folders, shortened to what differs, seeds left out."""
    told = labels([run.folder for run in runs], [run.summary for run in runs])
    kept = []
    for name, run in zip(told, runs, strict=True):
        parts = [part for part in name.split("/") if not _SEED.fullmatch(part)]
        if parts and parts[-1] == run.algorithm:
            parts[-1] = names.method(run.algorithm)
        kept.append("/".join(parts))
    return kept if len(set(kept)) == len(kept) else told


def _are_seeds(group: Sequence[Run]) -> bool:
    """Return whether runs differ in their seed alone."""
    seeds = {run.seed for run in group}
    return len(seeds) == len(group) and len({run.settings for run in group}) == 1


def reference(found: dict[str, list[Run]], named: str) -> str:
    """The name of the curve that a word means: its name, or its algorithm's.

    Raises
    ------
    ScenarioError
        If there is none.
    """
    for title, group in found.items():
        if named in (title, group[0].algorithm, names.method(group[0].algorithm)):
            return title
    known = list(found)
    raise ScenarioError(
        f"--paired-to {named}: there is no such curve; there are {', '.join(known)}"
        + did_you_mean(named, [*known, *(group[0].algorithm for group in found.values())])
    )


def pairs(mine: Sequence[Run], theirs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Runs of equal seeds.

    Raises
    ------
    ScenarioError
        If there are none.
    """
    by_seed = {run.seed: run for run in theirs}
    found = [(run, by_seed[run.seed]) for run in mine if run.seed in by_seed]
    if not found:
        raise ScenarioError(
            f"{mine[0].folder}: seed = {mine[0].seed}: is paired with no run of "
            f"{theirs[0].folder.name}, whose seeds are "
            f"{', '.join(str(run.seed) for run in theirs)}; play both with the same seeds"
        )
    return found
