"""The runs of a sweep, as far as they have ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from netsim.recording.main_metric import MainMetric
from netsim.recording.summary import load
from netsim.recording.summary_fields import DEFAULT, MEASURES, meaning, row
from netsim.views.gathering.sweep_comparison import PointResult, SweepDesign, compare_points


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep.

    Attributes
    ----------
    point, algorithm : str
    seed : int
    folder : Path
    numbers : mapping
        Its measures, see `summary_fields.row`.
    """

    point: str
    algorithm: str
    seed: int
    folder: Path
    numbers: Mapping[str, Any]


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
    def lines(self) -> list[PointResult]:
        """Every point and algorithm, over seeds."""
        return compare_points(self.folder, self.design)

    @cached_property
    def runs(self) -> list[SweepRun]:
        """Every run that has ended, in the sweep's order."""
        return [
            SweepRun(point, path.parent.name, seed, path.parent, row(load(path.parent)))
            for point in self.design.points
            for seed in self.design.seeds
            for path in sorted((self.folder / point).glob(f"seed-{seed}/*/summary.json"))
        ]

    @cached_property
    def main(self) -> MainMetric:
        """Main metric of the runs."""
        return MainMetric.of(load(self.runs[0].folder))

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
