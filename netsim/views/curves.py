"""Metrics of every node and their mean, against what they cost."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.recording.main_metric import is_share
from netsim.recording.metrics import complete_from
from netsim.recording.reader import RunFolder, Words
from netsim.recording.schema import RECORDED
from netsim.units import BITS_PER_MEGABYTE
from netsim.views import OnPage, Panel, Shown
from netsim.views.gathering.numbers import evenly, rounded_list

TITLE = "Accuracy and other metrics"
PLACE = 20

MOST_NUMBERS = 60_000
"""Of one metric over all nodes: at more evaluations some are left out."""
MOST_METRICS = 6
_AXES = (
    ("bits_transmitted", "megabytes", 1 / BITS_PER_MEGABYTE),
    ("energy_j", "energy_j", 1.0),
    ("steps", "steps", 1.0),
)


def of_run(run: RunFolder) -> Shown | None:
    """Return, by metric, times, nodes, and (nodes, times) of its value and of what was spent.

    The main metric is the first of at most `MOST_METRICS`.
    """
    if not run.metrics or not len(run.metrics["t_s"]):
        return None
    names = _names(run)
    found = [_metric(run, name) for name in names[:MOST_METRICS]]
    data = {"metrics": found, "left_out": names[MOST_METRICS:]}
    return Shown([Panel(OnPage("curves", data))]) if found else None


def _names(run: RunFolder) -> list[str]:
    """The main metric and its kin first."""
    stages, words = run.metrics["stage"], run.metrics["metric"]
    measured = ~stages.isin((RECORDED,))
    present = np.bincount(words.codes[measured], minlength=len(words.names)) > 0
    there = [name for name, is_there in zip(words.names, present, strict=True) if is_there]
    main = run.main.name

    def place(name: str) -> tuple[bool, bool, bool]:
        return name != main, not name.startswith(main), name.endswith("_validation")

    return sorted(there, key=place)


def _metric(run: RunFolder, name: str) -> dict[str, Any]:
    chosen = run.metrics["metric"].isin((name,)) & ~run.metrics["stage"].isin((RECORDED,))
    rows: dict[str, Any] = {
        key: cells.select(chosen) if isinstance(cells, Words) else cells[chosen]
        for key, cells in run.metrics.items()
    }
    times, time = np.unique(rows["t_s"], return_inverse=True)
    nodes, node = np.unique(rows["node"], return_inverse=True)
    kept = evenly(len(times), max(2, MOST_NUMBERS // len(nodes)))

    def table(cells: NDArray[Any]) -> NDArray[np.float64]:
        """(nodes, times): of several stages the one written last; NaN where nothing was."""
        made = np.full((len(nodes), len(times)), np.nan)
        made[node, time] = cells
        return made

    values = table(rows["value"])
    is_there = np.zeros(values.shape, dtype=bool)
    is_there[node, time] = True
    count = is_there.sum(axis=0)
    with np.errstate(invalid="ignore"):  # a node without a finite number: then there is no mean
        mean = np.where(is_there, values, 0.0).sum(axis=0) / count
        off = np.where(is_there, values - mean, 0.0)
        std = np.sqrt((off**2).sum(axis=0) / count)
    mean[: complete_from(count)] = np.nan
    found: dict[str, Any] = {
        "name": name,
        "is_share": is_share(name),
        "is_lower_better": run.main.prefers_lower(name),
        "t_s": rounded_list(times[kept], 7),
        "nodes": nodes.tolist(),
        "values": rounded_list(values[:, kept]),
        "mean": rounded_list(mean[kept], 5),
        "std": rounded_list(std[kept]),
        "axes": {},
    }
    for column, axis, per in _AXES:
        spent = table(rows[column] * per) if column in rows else None
        if spent is not None and np.nanmax(spent, initial=0.0) > 0:
            found["axes"][axis] = rounded_list(spent[:, kept])
    return found
