"""A row an algorithm: the numbers that runs on one world are compared by."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from netsim.recording import metrics as measured
from netsim.recording.main_metric import is_share
from netsim.recording.summary_fields import DEFAULT, MEASURES, row
from netsim.views import Ask, Columns, Panel, Quantity, Shown
from netsim.views.gathering.runs import Run
from netsim.views.gathering.sweep_comparison import mean_and_half_width
from netsim.views.gathering.sweep_tables import described
from netsim.views.points import measure_column

TITLE = "Numbers"
PLACE = 10


def of_runs(runs: Sequence[Run], _: Ask) -> Shown:
    """Return every measure that any run has, those of the terminal's table first."""
    numbers = [row(run.summary) if run.summary else {} for run in runs]
    there = [m for m in MEASURES if any(of_run.get(m) is not None for of_run in numbers)]
    ordered = [m for m in DEFAULT if m in there] + [m for m in there if m not in DEFAULT]
    table: dict[str, Any] = {"algorithm": np.array([run.algorithm for run in runs])}
    for name in ordered:
        cells = [of_run.get(name) for of_run in numbers]
        table[name] = np.array([np.nan if c is None else c for c in cells], dtype=np.float64)
    columns = [Quantity("algorithm", "algorithm"), *map(measure_column, ordered)]
    about = {name: described(name)["about"] for name in ordered}
    columns[2:2] = _differences(runs, table)
    caption = (
        "A row an algorithm; all were played on one world. Differences are taken node by node, "
        "their intervals are over the nodes of this seed. A heading sorts."
    )
    return Shown([Panel(Columns(columns, caption, about=about), table)])


def _differences(runs: Sequence[Run], table: dict[str, Any]) -> list[Quantity]:
    """Put differences of the main metric to the first run into a table; none: no column.

    Parameters
    ----------
    runs : sequence of Run
    table : dict
        Grows.

    Returns
    -------
    list of Quantity
        The columns of the difference, and of half its 95 % interval.
    """
    metric = runs[0].main.name
    if len(runs) < 2 or metric not in measured.names(runs[0].metrics):
        return []
    means, halves = [np.nan], [np.nan]
    for run in runs[1:]:
        pair = None
        if run.main == runs[0].main and metric in measured.names(run.metrics):
            pair = measured.last_in_common(run.metrics, runs[0].metrics, metric)
        mean: float = np.nan
        half: float | None = None
        if pair is not None and len(pair.nodes):
            mean, half = mean_and_half_width((pair.values - pair.others).tolist())
        means.append(mean)
        halves.append(np.nan if half is None else half)
    table |= {"difference": np.array(means), "half_width": np.array(halves)}
    unit = "pp" if is_share(metric) else ""
    return [
        Quantity("difference", f"{metric.replace('_', ' ')} minus {runs[0].algorithm}'s", unit),
        Quantity("half_width", "± half its 95 % interval", unit),
    ]
