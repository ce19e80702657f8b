"""Trials of a search, and the best of a sweep's points, algorithm by algorithm."""

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from netsim.campaign import sweep_folder
from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.csv_files import write_csv
from netsim.recording.main_metric import ACCURACY, MainMetric
from netsim.recording.summary import load
from netsim.recording.whole_files import write_text
from netsim.scenario.labels import csv_cell

TRIALS = "trials.json"


def recorded(top: Path) -> list[dict[str, Any]]:
    """The trials of a sweep's folder: `point algorithm values state score` of each."""
    try:
        found: Any = run_folder.json_file(top / TRIALS)
    except (FileNotFoundError, ScenarioError):
        return []
    needed = {"point", "state", "values"}
    return list(found) if all(needed <= trial.keys() for trial in found) else []


def played_points(top: Path) -> dict[str, dict[str, Any]]:
    """The trials of a sweep's folder in the order of their names: labels and values."""
    found = {trial["point"]: dict(trial["values"]) for trial in recorded(top)}
    return dict(sorted(found.items()))


def score(summary: dict[str, Any], select: str) -> float | None:
    """The number by which a trial is judged: a metric's mean over nodes at its last evaluation."""
    found: Any = summary
    for key in select.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    if isinstance(found, dict):
        found = found.get("mean")
    return float(found) if isinstance(found, int | float) else None


def best_trials(
    points: Mapping[str, Mapping[str, Any]],
    seeds: Sequence[int],
    names: Sequence[str],
    select: str,
    out: Path,
    main: MainMetric = ACCURACY,
) -> dict[str, dict[str, Any]]:
    """The best point of every algorithm; writes `trials.csv` and `best.json`.

    Parameters
    ----------
    points : mapping of str to mapping
        Values by label, in the sweep's order; points without a run that is done are left out.
    seeds : sequence of int
    names : sequence of str
        Of the algorithms.
    select : str
        The metric: the highest wins, of a loss the lowest.
    out : Path
        The sweep's folder.
    main : MainMetric
        Of the task: says of which metrics the lowest wins.

    Returns
    -------
    dict
        By algorithm: `point`, `values` (key paths and their values), `score` (mean over seeds),
        `std_seeds` and `seeds`. Empty where no run has the metric.
    """
    rows: list[dict[str, Any]] = []
    best: dict[str, dict[str, Any]] = {}
    sign = -1.0 if main.prefers_lower(select) else 1.0
    for label, values in points.items():
        for name in names:
            scores = _scores(out / label, seeds, name, select)
            if not scores:
                continue
            mean = statistics.fmean(scores)
            spread = statistics.stdev(scores) if len(scores) > 1 else None
            found: dict[str, Any] = {"score": mean, "std_seeds": spread, "seeds": len(scores)}
            cells = {key: csv_cell(value) for key, value in values.items()}
            rows.append({"point": label, "algorithm": name, **cells, **found})
            if name not in best or sign * mean > sign * best[name]["score"]:
                best[name] = {"point": label, "values": dict(values), **found}
    if rows:
        write_csv(out / "trials.csv", rows)
        write_text(out / "best.json", json.dumps(best, indent=2) + "\n")
    return best


def _scores(folder: Path, seeds: Sequence[int], name: str, select: str) -> list[float]:
    found = []
    for seed in seeds:
        run = folder / f"seed-{seed}" / name
        if sweep_folder.state(run) == "done":
            value = score(load(run), select)
            if value is not None:
                found.append(value)
    return found
