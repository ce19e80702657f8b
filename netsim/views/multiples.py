"""The main metric over virtual time at every point: small charts side by side."""

from functools import reduce
from typing import Any

import numpy as np

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.main_metric import is_share
from netsim.recording.metrics import curve, names
from netsim.views import OnPage, Panel, Shown
from netsim.views.gathering.names import method
from netsim.views.gathering.numbers import evenly, short
from netsim.views.gathering.sweep_tables import SweepTables

TITLE = "Over virtual time, point by point"
PLACE = 30

MOST_POINTS = 36
MOST_TIMES = 80
_COLUMNS = ("t_s", "node", "metric", "stage", "value", "steps", "energy_j")


def of_sweep(sweep: SweepTables) -> Shown | None:
    """Return what `gather` finds, for the page."""
    found = gather(sweep)
    return None if found is None else Shown([Panel(OnPage("multiples", found))])


def gather(sweep: SweepTables) -> dict[str, Any] | None:
    """By point and algorithm the mean over seeds of the mean over nodes; spread over seeds."""
    metric, main = sweep.main.name, sweep.main
    shown = list(sweep.design.points)[:MOST_POINTS]
    points: list[dict[str, Any]] = []
    for point in shown:
        lines: list[dict[str, Any]] = []
        for algorithm in sweep.algorithms:
            curves = []
            for run in sweep.runs:
                if run.point == point and run.algorithm == algorithm:
                    try:
                        rows = run_folder.read(run.folder, "metrics", _COLUMNS)
                    except ScenarioError:
                        continue
                    if metric in names(rows):
                        curves.append(curve(rows, metric, main))
            if curves:
                common = reduce(np.intersect1d, (c.t_s for c in curves))
                if not len(common):
                    continue
                t_s = common[evenly(len(common), MOST_TIMES)]
                means = np.stack([c.mean[np.isin(c.t_s, t_s)] for c in curves])
                line: dict[str, Any] = {
                    "algorithm": method(algorithm),
                    "seeds": len(curves),
                    "t_s": short(t_s, 6),
                    "mean": short(means.mean(axis=0)),
                }
                if len(curves) > 1:
                    line["std"] = short(means.std(axis=0, ddof=1), 3)
                lines.append(line)
        if lines:
            points.append({"point": sweep.point_names[point], "lines": lines})
    if not points or all(len(line["t_s"]) < 2 for one in points for line in one["lines"]):
        return None
    return {
        "metric": metric,
        "is_share": is_share(metric),
        "algorithms": [method(name) for name in sweep.algorithms],
        "points": points,
        "left_out": len(sweep.design.points) - len(shown),
    }
