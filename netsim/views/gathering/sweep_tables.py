"""The runs of a sweep, as far as they have ended, and its measures in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError
from netsim.recording.main_metric import MainMetric
from netsim.recording.reader import RunFolder
from netsim.recording.summary_fields import DEFAULT, MEASURES, meaning
from netsim.registry import did_you_mean
from netsim.scenario.labels import csv_cell
from netsim.views import Quantity, Row
from netsim.views.gathering import swept
from netsim.views.gathering.comparison import (
    PointResult,
    SweepDesign,
    estimates,
    folders_of_seed,
    numbers_of,
)


@dataclass(frozen=True, eq=False)
class SweepTables:
    """One sweep."""

    folder: Path
    design: SweepDesign
    trials: Sequence[Mapping[str, Any]] = ()
    """Of a search: `point algorithm values state score`."""

    @cached_property
    def rows(self) -> Mapping[str, Mapping[str, Mapping[int, Row]]]:
        """Measures of every run that has ended, by point, algorithm and seed."""
        found: dict[str, dict[str, dict[int, Row]]] = {}
        for point in self.design.points:
            of_point = found[point] = {}
            for seed in self.design.seeds:
                done = {one.name: one for one in folders_of_seed(self.folder / point, seed)}
                rival = done.get(self.design.against or "")
                for name, folder in done.items():
                    numbers = numbers_of(folder, self.design.target, rival)
                    of_point.setdefault(name, {})[seed] = numbers
        return found

    @cached_property
    def lines(self) -> list[PointResult]:
        """Every point and algorithm, over seeds; differences are to the first point.

        Trials of a search have none: they are no pairs.
        """
        return self.lines_to(None)

    def lines_to(self, paired_to: str | None) -> list[PointResult]:
        """The same with other differences.

        Parameters
        ----------
        paired_to : str or None
            An algorithm, at each point, or a point, of each algorithm; None: the first point.

        Raises
        ------
        ScenarioError
            If no run has ended, or neither an algorithm nor a point is called so.
        """
        found = self.rows
        known = {name for algorithms in found.values() for name in algorithms}
        if paired_to is not None and paired_to not in known and paired_to not in found:
            raise ScenarioError(
                f"{self.folder}: paired to {paired_to}: there is no such algorithm or point; there "
                f"are {', '.join((*sorted(known), *found))}"
                + did_you_mean(paired_to, (*known, *found))
            )
        if not known:
            raise ScenarioError(
                f"{self.folder}: no finished run of a sweep (<point>/seed-<s>/<algorithm>/)"
            )

        def other(label: str, algorithm: str) -> Mapping[int, Row]:
            if paired_to in known:
                return {} if algorithm == paired_to else found[label].get(str(paired_to), {})
            if paired_to is None and self.trials:
                return {}
            to = paired_to or next(iter(found))
            return {} if label == to else found[to].get(algorithm, {})

        return [
            PointResult(
                label,
                self.design.points[label],
                algorithm,
                len(runs),
                estimates(runs, other(label, algorithm)),
            )
            for label, algorithms in found.items()
            for algorithm, runs in algorithms.items()
        ]

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
