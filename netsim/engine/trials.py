"""The best of a sweep's points, random trials or a grid's, algorithm by algorithm."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netsim.engine.sweep import Outcome
from netsim.recording.whole_files import write_text
from netsim.results.compare import csv_cell, write_csv
from netsim.results.metrics import is_loss
from netsim.results.summary import load


def score(summary: dict[str, Any], select: str) -> float | None:
    """The number by which a trial is judged: a metric's mean over nodes at its last evaluation."""
    found: Any = summary
    for key in select.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    if isinstance(found, dict):
        found = found.get("mean")
    return float(found) if isinstance(found, int | float) else None


def best_trials(outcomes: Sequence[Outcome], select: str, out: Path) -> dict[str, dict[str, Any]]:
    """The best point of every algorithm; writes `trials.csv` and `best.json`.

    Parameters
    ----------
    outcomes : sequence of Outcome
        Of all runs.
    select : str
        The metric: the highest wins, of a loss the lowest.
    out : Path
        The sweep's folder.

    Returns
    -------
    dict
        By algorithm: `point`, `values` (key paths and their values), `score` (mean over seeds),
        `std_seeds` and `seeds`. Empty where no run has the metric.
    """
    scores: dict[tuple[str, str], list[float]] = {}
    by_label = {o.job.point.label: o.job.point for o in outcomes}
    for outcome in outcomes:
        for folder in outcome.folders:
            value = score(load(folder), select)
            if value is not None:
                scores.setdefault((outcome.job.point.label, folder.name), []).append(value)
    rows: list[dict[str, Any]] = []
    best: dict[str, dict[str, Any]] = {}
    sign = -1.0 if is_loss(select) else 1.0
    for (label, algorithm), values in scores.items():
        point, mean = by_label[label], statistics.fmean(values)
        spread = statistics.stdev(values) if len(values) > 1 else None
        found: dict[str, Any] = {"score": mean, "std_seeds": spread, "seeds": len(values)}
        values_shown = {key: csv_cell(value) for key, value in point.values.items()}
        rows.append({"point": label, "algorithm": algorithm, **values_shown, **found})
        if algorithm not in best or sign * mean > sign * best[algorithm]["score"]:
            best[algorithm] = {"point": label, "values": point.values, **found}
    if rows:
        write_csv(out / "trials.csv", rows)
        write_text(out / "best.json", json.dumps(best, indent=2) + "\n")
    return best
