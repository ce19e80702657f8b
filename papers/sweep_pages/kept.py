"""The runs of a sweep, read from their folders; kept in papers/numbers, a run a line."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netsim import scenario
from netsim.campaign.sweep_results import design
from netsim.recording.summary_fields import MEASURES
from netsim.views.gathering.comparison import (
    PointResult,
    RunRows,
    SweepDesign,
    point_results,
    run_rows,
)
from papers.results.csv_files import csv_lines, write_csv
from papers.results.numbers import NUMBERS
from papers.sweep_pages.playing import ledger

PLAYED = NUMBERS / "sweeps.csv"
FIRST = ("point", "algorithm", "seed")


@dataclass(frozen=True)
class Played:
    """Program that played the runs of a sweep, and their time."""

    commits: tuple[str, ...]
    cpu_s: float


@dataclass(frozen=True)
class Sweep:
    """A sweep as its CSV has it.

    Attributes
    ----------
    name : str
        Of the scenario.
    design : SweepDesign
    lines : sequence of PointResult
        Every point and algorithm, over seeds.
    rows : mapping
        Measures by point, algorithm and seed.
    played : Played
    """

    name: str
    design: SweepDesign
    lines: Sequence[PointResult]
    rows: RunRows
    played: Played

    @property
    def seeds(self) -> int:
        """Seeds of which a run is there, the fewest of any line."""
        return min((line.seeds for line in self.lines), default=0)

    def line(self, point: str, algorithm: str) -> PointResult:
        """The line of an algorithm at a point."""
        return next(x for x in self.lines if (x.point, x.algorithm) == (point, algorithm))


def design_of(name: str) -> SweepDesign:
    """Return the design of a shipped sweep."""
    loaded = scenario.load(name)
    assert loaded.sweep is not None
    found: SweepDesign = design(Path(), loaded.sweep, loaded.seed)
    return found


def collect(name: str, runs: Path) -> None:
    """Keep the runs of a sweep, of those seeds that all points and algorithms have.

    Parameters
    ----------
    name : str
    runs : Path
        The folder of all sweeps.
    """
    swept, found = design_of(name), run_rows(runs / name, design_of(name))
    entries = {entry for algorithms in found.values() for entry in algorithms}
    whole = [
        seed
        for seed in swept.seeds
        if all(seed in found[point].get(entry, {}) for point in swept.points for entry in entries)
    ]
    lines = [
        [point, algorithm, seed, *(_short(by_seed[seed].get(m)) for m in swept.show)]
        for point, algorithms in found.items()
        for algorithm, by_seed in algorithms.items()
        for seed in (whole if entries else ())
    ]
    if not lines:
        return
    write_csv(NUMBERS / f"{name}.csv", (*FIRST, *swept.show), lines)
    told = ledger(runs).get(name, [])
    played = {line["sweep"]: line for line in csv_lines(PLAYED)}
    played[name] = {
        "sweep": name,
        "commits": " ".join(dict.fromkeys(line["commit"] for line in told)),
        "cpu_s": f"{sum(line['cpu_s'] for line in told):.0f}",
    }
    columns = ("sweep", "commits", "cpu_s")
    write_csv(PLAYED, columns, [[played[n][c] for c in columns] for n in sorted(played)])


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def kept(name: str) -> Sweep | None:
    """A sweep as it was kept; None if nothing was."""
    path = NUMBERS / f"{name}.csv"
    if not path.is_file():
        return None
    swept = design_of(name)
    rows: dict[str, dict[str, dict[int, dict[str, float]]]] = {p: {} for p in swept.points}
    for line in csv_lines(path):
        numbers = {m: float(line[m]) for m in MEASURES if line.get(m)}
        of_point = rows[line["point"]].setdefault(line["algorithm"], {})
        of_point[int(line["seed"])] = numbers
    told = next((line for line in csv_lines(PLAYED) if line["sweep"] == name), None)
    assert told is not None, f"{PLAYED} has no line of {name}"
    played = Played(tuple(told["commits"].split()), float(told["cpu_s"]))
    return Sweep(name, swept, point_results(rows, swept), rows, played)
