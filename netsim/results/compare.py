"""Runs beside each other, in the terminal and as CSV.

`table` compares runs one by one; `sweep_table` averages over seeds. A spread is always named:
`std_nodes` is over the nodes of one run, `std_seeds` over the means of runs that differ in their
seed (divisor n - 1, none for a single seed).
"""

import csv
import io
import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from netsim.errors import ScenarioError
from netsim.results.metrics import BITS_PER_MEGABYTE, curve
from netsim.results.parts import read, write_whole
from netsim.results.summary import labels, load
from netsim.results.terminal import Comparison, Row


def row(summary: Mapping[str, Any]) -> Row:
    """The compared numbers of one run.

    Accuracies are shares, not percent; `best_t_s` is when the mean over nodes was best.
    """

    def get(*path: str) -> Any:
        found: Any = summary
        for key in path:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    sent, bits = get("messages", "sent"), get("messages", "bits_sent")
    return {
        "accuracy": get("accuracy", "mean"),
        "accuracy_std_nodes": get("accuracy", "std"),
        "accuracy_worst_10pct": get("accuracy", "worst_10pct"),
        "accuracy_all_classes": get("accuracy_all_classes", "mean"),
        "accuracy_all_classes_std_nodes": get("accuracy_all_classes", "std"),
        "accuracy_personal": get("accuracy_personal", "mean"),
        "accuracy_personal_std_nodes": get("accuracy_personal", "std"),
        "accuracy_personal_best_on_validation": get("accuracy_personal", "best_on_validation"),
        "best": get("accuracy", "best", "mean"),
        "best_t_s": get("accuracy", "best", "t_s"),
        "best_on_validation": get("accuracy", "best_on_validation"),
        "messages": sent,
        "delivered_share": get("messages", "delivered") / sent if sent else None,
        "sent_megabytes": None if bits is None else bits / BITS_PER_MEGABYTE,
        "models_sent": get("models_sent"),
        "staleness_s": get("staleness", "mean_s"),
        "sparsity": get("graph", "sparsity"),
        "asymmetry": get("graph", "asymmetry"),
        "weight_on_same_task": get("graph", "weight_on_same_task"),
        "weight_on_malicious": get("graph", "weight_on_malicious"),
        "local_steps": get("local_steps"),
        "energy_j": get("energy_j"),
        "virtual_s": get("virtual_s"),
        "wall_s": get("wall_s"),
    }


def reach(folder: Path, target: float | None) -> Row:
    """When a run's mean accuracy over nodes first reached a target, and what it had sent by then.

    Parameters
    ----------
    folder : Path
        A run folder.
    target : float or None
        A share; None asks for nothing.

    Returns
    -------
    dict
        `target_t_s`, `target_megabytes` (None if it never did) and `target_reached`, 1 or 0.
    """
    if target is None:
        return {}
    measured = curve(read(folder / "metrics"), "accuracy")
    over = np.flatnonzero(measured.mean >= target)
    first = int(over[0]) if len(over) else None
    return {
        "target_t_s": None if first is None else float(measured.t_s[first]),
        "target_megabytes": (
            None if first is None else float(measured.bits_sent[first]) / BITS_PER_MEGABYTE
        ),
        "target_reached": float(first is not None),
    }


def table(
    folders: Sequence[Path], csv_path: Path | None = None, target: float | None = None
) -> Comparison:
    """Runs side by side.

    Parameters
    ----------
    folders : sequence of Path
        Run folders, in the order of the table.
    csv_path : Path, optional
        Where to write the same, with more columns and full precision (`comparison.csv`).
    target : float, optional
        Accuracy whose first crossing is told, see `reach`.

    Returns
    -------
    Comparison
        For `rich.print`.

    Raises
    ------
    ScenarioError
        If a folder has no summary.
    """
    summaries = [load(folder) for folder in folders]
    rows = [
        {
            "run": label,
            "algorithm": s.get("algorithm"),
            "seed": s.get("seed"),
            **row(s),
            **reach(folder, target),
        }
        for label, s, folder in zip(
            labels(list(folders), summaries), summaries, folders, strict=True
        )
    ]
    if csv_path is not None:
        write_csv(csv_path, rows)
    return Comparison(rows, ("run",), "± is the standard deviation over nodes")


def sweep_rows(out: Path, target: float | None = None) -> list[Row]:
    """Means over seeds by point and algorithm.

    Parameters
    ----------
    out : Path
        Folder of a sweep: `<out>/<point label>/seed-<s>/<algorithm>/summary.json`.
    target : float, optional
        See `reach`; times and megabytes are means over the seeds that reached it.

    Returns
    -------
    list of dict
        `point algorithm seeds seeds_failed`, then every column of `row` averaged over seeds, each
        followed by its `<column>_std_seeds`; `accuracy_std_nodes` is the mean over seeds of the
        spread over nodes. A run without a summary counts as failed.

    Raises
    ------
    ScenarioError
        If there is no finished run.
    """
    found: dict[tuple[str, str], list[Row]] = {}
    for path in sorted(out.glob("*/seed-*/*/summary.json"), key=_by_numbers):
        point, algorithm = path.parents[2].name, path.parent.name
        cells = row(load(path.parent)) | reach(path.parent, target)
        found.setdefault((point, algorithm), []).append(cells)
    if not found:
        raise ScenarioError(f"{out}: no finished run of a sweep (<point>/seed-<s>/<algorithm>/)")
    tried = {p.name: len(list(p.glob("seed-*"))) for p in out.iterdir() if p.is_dir()}
    return [
        {
            "point": point,
            "algorithm": algorithm,
            "seeds": len(rows),
            "seeds_failed": tried[point] - len(rows),
            **_over_seeds(rows),
        }
        for (point, algorithm), rows in found.items()
    ]


def sweep_table(out: Path, target: float | None = None, csv_path: Path | None = None) -> Comparison:
    """A sweep's means over seeds.

    Parameters
    ----------
    out : Path
        Folder of the sweep, see `sweep_rows`.
    target : float, optional
        See `reach`.
    csv_path : Path, optional
        Where to write the same, with more columns and full precision.

    Returns
    -------
    Comparison
        For `rich.print`.

    Raises
    ------
    ScenarioError
        If there is no finished run.
    """
    rows = sweep_rows(out, target)
    if csv_path is not None:
        write_csv(csv_path, rows)
    several = any(r["seeds"] > 1 for r in rows)
    note = (
        "mean over seeds ± standard deviation over seeds (std_seeds); "
        if several
        else "one seed, so no std_seeds; "
    ) + "std_nodes: standard deviation over nodes, mean over seeds"
    return Comparison(rows, ("point", "algorithm", "seeds"), note)


def _by_numbers(path: Path) -> list[tuple[float, str]]:
    """Sorting key by which 9 comes before 10."""
    pieces = re.split(r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?)", str(path))
    return [(float(p), "") if i % 2 else (0.0, p) for i, p in enumerate(pieces)]


def _over_seeds(rows: Sequence[Row]) -> Row:
    found: Row = {}
    for column in rows[0]:
        values = [r[column] for r in rows if r[column] is not None]
        found[column] = statistics.fmean(values) if values else None
        if not column.endswith("_std_nodes"):
            found[f"{column}_std_seeds"] = statistics.stdev(values) if len(values) > 1 else None
    return found


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as CSV, whole; empty cells where a run does not say."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda partial: partial.write_text(text.getvalue(), encoding="utf-8"))
