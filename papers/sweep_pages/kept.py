"""The runs of a sweep, read from their folders; kept in papers/numbers, a run a line."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import netsim
from netsim import MEASURES, Spread, spread
from papers.results.csv_files import csv_lines, write_csv
from papers.results.numbers import NUMBERS
from papers.sweep_pages.playing import ledger
from papers.sweep_pages.sources import PLAYED, digest_of, scenario_of

FIRST = ("point", "algorithm", "seed")


@dataclass(frozen=True)
class Played:
    """Program that played the runs of a sweep, and their time."""

    commits: tuple[str, ...]
    cpu_s: float


@dataclass(frozen=True)
class Design:
    """The points of a sweep by their labels, its seeds, and the measures that it shows."""

    points: tuple[str, ...]
    seeds: tuple[int, ...]
    show: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """One algorithm at one point, over seeds."""

    point: str
    algorithm: str
    seeds: int
    estimates: Mapping[str, Spread]


Rows = dict[str, dict[str, dict[int, dict[str, float]]]]
"""Measures by point, algorithm and seed."""


@dataclass(frozen=True)
class Sweep:
    """A sweep as its CSV has it.

    Attributes
    ----------
    name : str
        Of the scenario.
    design : Design
    rows : Rows
    played : Played
    """

    name: str
    design: Design
    rows: Rows
    played: Played

    @cached_property
    def lines(self) -> Sequence[Line]:
        """Every point and algorithm, over seeds."""
        return [
            Line(point, algorithm, len(runs), _estimates(runs))
            for point, algorithms in self.rows.items()
            for algorithm, runs in algorithms.items()
        ]

    @property
    def seeds(self) -> int:
        """Seeds of which a run is there, the fewest of any line."""
        return min((line.seeds for line in self.lines), default=0)

    def line(self, point: str, algorithm: str) -> Line:
        """The line of an algorithm at a point."""
        return next(x for x in self.lines if (x.point, x.algorithm) == (point, algorithm))


def _estimates(runs: Mapping[int, Mapping[str, float]]) -> dict[str, Spread]:
    """Every measure over the seeds that have it."""
    found = {name: [row[name] for row in runs.values() if name in row] for name in MEASURES}
    return {name: spread(values) for name, values in found.items() if values}


def design_of(name: str) -> Design:
    """Return the design of a shipped sweep."""
    scenario = netsim.load(scenario_of(name))
    seeds = scenario.sweep.seeds or (scenario.seed,)
    return Design(tuple(scenario.points()), seeds, scenario.sweep.show)


def collect(name: str, runs: Path) -> None:
    """Keep the runs of a sweep, of those seeds that all points and algorithms have.

    Seeds that are kept already and that the folder lacks stay if they are of the same scenario.

    Parameters
    ----------
    name : str
    runs : Path
        The folder of all sweeps.
    """
    if not any((runs / name).glob("*/seed-*/*/summary.json")):
        return
    swept, opened = design_of(name), netsim.open(runs / name)
    assert isinstance(opened, netsim.Sweep)
    there = opened.by_seed
    there = there[there["point"].isin(swept.points)]
    each, have = len(swept.points) * there["algorithm"].nunique(), there["seed"].value_counts()
    whole = [seed for seed in swept.seeds if have.get(seed, 0) == each]
    rows = there[there["seed"].isin(whole)].reindex(columns=[*FIRST, *swept.show])
    lines = [[*row[:3], *map(_short, row[3:])] for row in rows.itertuples(index=False)]
    if not lines:
        return
    told, digest = ledger(runs).get(name, []), digest_of(name)
    commits, cpu_s = [line["commit"] for line in told], sum(line["cpu_s"] for line in told)
    played = {line["sweep"]: line for line in csv_lines(PLAYED)}
    before = played.get(name, {})
    if before.get("scenario") == digest:
        columns = (*FIRST, *swept.show)
        earlier = [[line[c] for c in columns] for line in csv_lines(NUMBERS / f"{name}.csv")]
        others = [line for line in earlier if int(line[2]) not in whole]
        if others:
            lines = sorted(others + lines, key=lambda line: swept.points.index(line[0]))
            commits, cpu_s = [*before["commits"].split(), *commits], cpu_s + float(before["cpu_s"])
    write_csv(NUMBERS / f"{name}.csv", (*FIRST, *swept.show), lines)
    played[name] = {
        "sweep": name,
        "commits": " ".join(dict.fromkeys(commits)),
        "cpu_s": f"{cpu_s:.0f}",
        "scenario": digest,
    }
    columns = ("sweep", "commits", "cpu_s", "scenario")
    write_csv(PLAYED, columns, [[played[n][c] for c in columns] for n in sorted(played)])


def _short(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"


def kept(name: str) -> Sweep | None:
    """A sweep as it was kept; None if nothing was."""
    path = NUMBERS / f"{name}.csv"
    if not path.is_file():
        return None
    swept = design_of(name)
    rows: Rows = {point: {} for point in swept.points}
    for line in csv_lines(path):
        numbers = {m: float(line[m]) for m in MEASURES if line.get(m)}
        of_point = rows[line["point"]].setdefault(line["algorithm"], {})
        of_point[int(line["seed"])] = numbers
    told = next((line for line in csv_lines(PLAYED) if line["sweep"] == name), None)
    assert told is not None, f"{PLAYED} has no line of {name}"
    played = Played(tuple(told["commits"].split()), float(told["cpu_s"]))
    return Sweep(name, swept, rows, played)
