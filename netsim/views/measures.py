"""A row an algorithm: the numbers that runs on one world are compared by."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from netsim.recording.summary_fields import DEFAULT, MEASURES, row
from netsim.views import Ask, Columns, Panel, Quantity, Shown
from netsim.views.gathering.runs import Run
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
    caption = "A row an algorithm; all were played on the same world. A heading sorts."
    return Shown([Panel(Columns(columns, caption, about=about), table)])
