"""Lead of one run over another where both have made as many local steps."""

from pathlib import Path

import numpy as np

from netsim.recording import run_folder
from netsim.recording.main_metric import MainMetric
from netsim.recording.metrics import names, per_node_rows
from netsim.recording.parquet_parts import Rows
from netsim.recording.summary import load
from netsim.views.render.terminal_tables import Row

_COLUMNS = ("t_s", "node", "metric", "stage", "value", "steps")


def lead(folder: Path, other: Path) -> Row:
    """The lead of a run at its end over another one, at equal local steps.

    Each node's value at the end is compared with that of the same node in the other run when it had
    made as many local steps there: between two evaluations on the straight line, after its last
    step its last value.

    Parameters
    ----------
    folder, other : Path
        Run folders of one seed.

    Returns
    -------
    dict
        `lead`, where the main metric is accuracy, else `main_metric_lead`: the mean over nodes,
        positive where the first run is better. Empty where one of both has no such numbers, or
        they have measured other nodes.

    Raises
    ------
    ScenarioError
        If a folder's metrics are no table of a run.
    """
    return _lead(folder, other, MainMetric.of(load(folder)))


def _lead(folder: Path, other: Path, main: MainMetric) -> Row:
    here, there = _measured(folder, main), _measured(other, main)
    if here is None or there is None:
        return {}
    last = here["t_s"] == here["t_s"][-1]
    nodes = here["node"][last]
    if not np.array_equal(nodes, there["node"][there["t_s"] == there["t_s"][-1]]):
        return {}
    ahead = [
        value - _at_steps(there, node, steps)
        for node, steps, value in zip(nodes, here["steps"][last], here["value"][last], strict=True)
    ]
    mean = (-1 if main.is_lower_better else 1) * float(np.mean(ahead))
    return {"lead" if main.name == "accuracy" else "main_metric_lead": mean}


def _measured(folder: Path, main: MainMetric) -> Rows | None:
    """The rows of a run's main metric, one a time and node; None where there are none."""
    rows = run_folder.read(folder, "metrics", _COLUMNS)
    return per_node_rows(rows, main.name) if main.name in names(rows) else None


def _at_steps(rows: Rows, node: int, steps: int) -> float:
    """A node's value when it had made that many local steps."""
    own = rows["node"] == node
    made, value = rows["steps"][own], rows["value"][own]
    # steps count when training begins: its model is there at the last of equal evaluations
    is_last = np.append(made[1:] != made[:-1], True)
    return float(np.interp(steps, made[is_last], value[is_last]))
