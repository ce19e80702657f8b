"""Runs compared one by one, in the terminal and as CSV.

A spread is always named: `std_nodes` is over the nodes of one run. Sweeps are averaged over their
seeds by `netsim.views.gathering.sweep_comparison`.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.main_metric import MainMetric, is_share
from netsim.recording.metrics import curve, names, spent
from netsim.recording.summary import labels, load
from netsim.recording.summary_fields import row
from netsim.recording.whole_files import make_folder, write_text
from netsim.scenario.labels import shown
from netsim.units import BITS_PER_MEGABYTE
from netsim.views.render.terminal_tables import Row, WrappedTable, comparison

_FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""Begins what spreadsheets compute."""
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|nan)")


def time_to_target(folder: Path, target: float | None) -> Row:
    """Return the first time at which a run's mean main metric reached a target, and its cost.

    Parameters
    ----------
    folder : Path
        A run folder.
    target : float or None
        Of an accuracy a share; None asks for nothing.

    Returns
    -------
    dict
        `time_to_target_s`; `megabytes_to_target` and `airtime_to_target_s`, what the whole network
        had transmitted by then; all None if it never did, the last two also where a run folder
        is too old to tell. `target_reached`: 1 or 0.
    """
    if target is None:
        return {}
    return _to_target(folder, target, MainMetric.of(load(folder)))


def require_possible(target: float | None, main: MainMetric) -> None:
    """Raise ScenarioError for a target that no value of a main metric reaches."""
    if target is not None and is_share(main.name) and not 0 <= target <= 1:
        raise ScenarioError(f"--target {target:g}: {main.name} is a share, from 0 to 1")


def _to_target(folder: Path, target: float, main: MainMetric) -> Row:
    rows = run_folder.read(folder, "metrics")
    if main.name not in names(rows):
        return {}
    measured = curve(rows, main.name, main)
    is_reached = measured.mean <= target if main.is_lower_better else measured.mean >= target
    over = np.flatnonzero(is_reached)
    found: Row = {
        "time_to_target_s": None,
        "megabytes_to_target": None,
        "airtime_to_target_s": None,
        "target_reached": float(len(over) > 0),
    }
    if len(over):
        found["time_to_target_s"] = float(measured.t_s[over[0]])
        cost = spent(folder, measured.t_s[over[:1]])
        if cost is not None:
            found["megabytes_to_target"] = float(cost["bits_transmitted"][0]) / BITS_PER_MEGABYTE
            found["airtime_to_target_s"] = float(cost["airtime_s"][0])
    return found


def table(
    folders: Sequence[Path], csv_path: Path | None = None, target: float | None = None
) -> WrappedTable:
    """Runs side by side.

    Parameters
    ----------
    folders : sequence of Path
        Run folders, in the order of the table.
    csv_path : Path, optional
        Where to write the same, with more columns and full precision (`comparison.csv`).
    target : float, optional
        Value of the main metric whose first crossing is told, see `time_to_target`.

    Returns
    -------
    WrappedTable
        For `rich.print`.

    Raises
    ------
    ScenarioError
        If a folder has no summary, or a target is no value of what runs are judged by.
    """
    summaries = [load(folder) for folder in folders]
    for one in summaries:
        require_possible(target, MainMetric.of(one))
    rows = [
        {
            "run": label,
            "algorithm": s.get("algorithm"),
            "seed": s.get("seed"),
            **_main_metric(s),
            **row(s),
            **time_to_target(folder, target),
        }
        for label, s, folder in zip(
            labels(list(folders), summaries), summaries, folders, strict=True
        )
    ]
    if csv_path is not None:
        write_csv(csv_path, rows)
    return comparison(rows)


def _main_metric(summary: Mapping[str, Any]) -> Row:
    """`metric`, the name of what a run is judged by, where it is not accuracy."""
    name = MainMetric.of(summary).name
    return {} if name == "accuracy" else {"metric": name}


def csv_cell(value: Any) -> Any:
    """A swept value as one cell: tables and lists as text."""
    return value if isinstance(value, int | float | str) else shown(value)


def csv_text(rows: Sequence[Row]) -> str:
    """Rows as CSV; empty cells where a run does not say."""
    text = io.StringIO(newline="")
    columns = dict.fromkeys(key for row in rows for key in row)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(inert, columns))
    writer.writerows([inert(row.get(column)) for column in columns] for row in rows)
    return text.getvalue()


def inert(cell: Any) -> Any:
    """A cell of CSV that no program takes for a formula: a quotation mark goes before such text."""
    is_formula = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as CSV, whole."""
    text = csv_text(rows)
    make_folder(path.parent)
    write_text(path, text)
