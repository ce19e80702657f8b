"""The main metric over virtual time at every point: small charts side by side."""

from collections.abc import Sequence
from typing import Any

from netsim.errors import ScenarioError
from netsim.recording.main_metric import is_share
from netsim.recording.metrics import names
from netsim.recording.reader import RunFolder
from netsim.views import OnPage, Panel, Shown
from netsim.views.gathering.comparison import spread_in_words
from netsim.views.gathering.estimates import BANDS, Line, over_seeds
from netsim.views.gathering.names import method
from netsim.views.gathering.numbers import evenly, rounded_list
from netsim.views.gathering.sweep_tables import SweepTables

TITLE = "Over virtual time, point by point"
PLACE = 30

MOST_POINTS = 36
MOST_TIMES = 80


def of_sweep(sweep: SweepTables) -> Shown | None:
    """Return, by point and algorithm, means over seeds and nodes; spread over seeds.

    Few seeds are there themselves, see `comparison.FEWEST`.
    """
    metric = sweep.main.name
    shown = list(sweep.design.points)[:MOST_POINTS]
    points: list[dict[str, Any]] = []
    for point in shown:
        lines: list[dict[str, Any]] = []
        for algorithm in sweep.algorithms:
            runs = [
                run
                for run in sweep.at(point)
                if run.labels["algorithm"] == algorithm and _has(run, metric)
            ]
            found = _over_seeds(method(algorithm), runs, metric)
            if found is not None:
                kept = evenly(len(found.x), MOST_TIMES)
                line: dict[str, Any] = {
                    "algorithm": found.label,
                    "seeds": found.seeds,
                    "t_s": rounded_list(found.x[kept], 6),
                    "mean": rounded_list(found.y[kept]),
                }
                if found.each is not None:
                    line["each"] = rounded_list(found.each[:, kept])
                elif found.half is not None:
                    line["std"] = rounded_list(found.half[kept], 3)
                lines.append(line)
        if lines:
            points.append({"point": sweep.point_names[point], "lines": lines})
    if not points or all(len(line["t_s"]) < 2 for one in points for line in one["lines"]):
        return None
    spread = spread_in_words(
        [line["seeds"] for one in points for line in one["lines"]], BANDS["std"]
    )
    data = {
        "metric": metric,
        "around": "" if spread is None else spread.drawn("thin lines", "band"),
        "is_share": is_share(metric),
        "algorithms": [method(name) for name in sweep.algorithms],
        "points": points,
        "left_out": len(sweep.design.points) - len(shown),
    }
    return Shown([Panel(OnPage("multiples", data))])


def _has(run: RunFolder, metric: str) -> bool:
    """Return whether a run can be read and has a metric."""
    try:
        return metric in names(run.measured)
    except ScenarioError:
        return False


def _over_seeds(label: str, runs: Sequence[RunFolder], metric: str) -> Line | None:
    """The mean of runs with its deviation over seeds; None without runs or a common time."""
    try:
        return over_seeds(label, runs, metric, "time", "std") if runs else None
    except ScenarioError:
        return None
