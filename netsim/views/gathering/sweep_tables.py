"""The runs of a sweep, as far as they have ended, and its measures in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from netsim.recording.main_metric import MainMetric
from netsim.recording.reader import RunFolder
from netsim.recording.summary_fields import DEFAULT, MEASURES, meaning
from netsim.scenario.labels import csv_cell
from netsim.views import Quantity
from netsim.views.gathering import swept
from netsim.views.gathering.comparison import (
    PointResult,
    RunRows,
    SweepDesign,
    compare_points,
    folders_of_seed,
    point_results,
    run_rows,
)


@dataclass(frozen=True, eq=False)
class SweepTables:
    """One sweep.

    Attributes
    ----------
    folder : Path
    design : SweepDesign
    trials : sequence of mapping
        Of a search: `point algorithm values state score`.
    """

    folder: Path
    design: SweepDesign
    trials: Sequence[Mapping[str, Any]] = ()

    @cached_property
    def _rows(self) -> RunRows:
        return run_rows(self.folder, self.design)

    @cached_property
    def lines(self) -> list[PointResult]:
        """Every point and algorithm, over seeds; differences are to the first point."""
        return self.lines_to(None)

    def lines_to(self, paired_to: str | None) -> list[PointResult]:
        """The same with differences to an algorithm or a point, see `comparison.compare_points`."""
        found = point_results(self._rows, self.design, paired_to, self.folder)
        return found or compare_points(self.folder, self.design)  # says that none has ended

    @cached_property
    def point_names(self) -> dict[str, str]:
        """Points in words, by their labels; of a search its trials' labels."""
        points = self.design.points
        return {label: label for label in points} if self.trials else swept.point_names(points)

    @cached_property
    def runs(self) -> list[RunFolder]:
        """Every run that has ended, in the sweep's order."""
        return [run for point in self.design.points for run in self.at(point)]

    def at(self, point: str) -> list[RunFolder]:
        """Those of a point, by seed and name; their labels: swept keys, seed, algorithm."""
        swept_keys = {key: csv_cell(v) for key, v in self.design.points[point].items()}
        return [
            RunFolder(folder, {**swept_keys, "seed": seed, "algorithm": folder.name})
            for seed in self.design.seeds
            for folder in folders_of_seed(self.folder / point, seed)
        ]

    @cached_property
    def main(self) -> MainMetric:
        """Main metric of the runs."""
        return self.runs[0].main

    @cached_property
    def algorithms(self) -> list[str]:
        """Those that any point has, in the order of their names."""
        return list(dict.fromkeys(line.algorithm for line in self.lines))

    @cached_property
    def measures(self) -> list[str]:
        """Measures that differ or are shown, those of the sweep's table first."""
        first = self.design.show or DEFAULT
        there = [name for name in MEASURES if any(name in line.estimates for line in self.lines)]
        return [m for m in first if m in there] + [m for m in there if m not in first]


def described(name: str) -> dict[str, Any]:
    """A measure's title, unit, what it is, and the factor by which its numbers are shown."""
    measure = MEASURES[name]
    unit = "" if measure.unit == "#" else measure.unit
    title = {"accuracy": "accuracy", "std_nodes": f"{name.replace('_', ' ')}"}.get(
        measure.title, measure.title
    )
    about = meaning(name)
    return {"name": name, "title": title, "unit": unit, "about": about, "scale": measure.scale}


def of_fewer_seeds(lines: Sequence[PointResult], measures: Sequence[str]) -> str:
    """Words on the measures whose means are over fewer seeds than have ended; empty without any."""
    titles = [
        described(name)["title"]
        for name in measures
        if any(name in at.estimates and at.estimates[name].seeds < at.seeds for at in lines)
    ]
    told = "not every run has these measures, whose means are over fewer seeds: "
    return f"{told}{', '.join(titles)}" if titles else ""


def measure_column(name: str) -> Quantity:
    """A measure as the column of a table."""
    measure = described(name)
    return Quantity(name, measure["title"], measure["unit"], 1 / measure["scale"])


def title(name: str) -> str:
    """A measure's title over its unit, for the terminal."""
    measure = MEASURES[name]
    return f"{measure.title}\n{measure.unit.replace('#', '')}"
