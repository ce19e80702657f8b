"""Runs side by side: one row per run, the numbers that runs are compared by.

The page's table has every measure, and the differences of the main one to the first run, node by
node; the terminal's table has the measures that fit. Columns name the spread that they hold:
`std_nodes` is over the nodes of one run. `netsim.views.differences` compares sweeps over seeds.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from netsim.recording import run_folder
from netsim.recording.csv_files import write_csv
from netsim.recording.main_metric import MainMetric, is_share
from netsim.recording.reader import RunFolder
from netsim.recording.run_mismatches import made_unlike
from netsim.recording.summary import labels
from netsim.recording.summary_fields import DEFAULT, MEASURES, definitions, row
from netsim.views import Ask, Column, Columns, Panel, Printed, Quantity, Row, Shown
from netsim.views.gathering.comparison import numbers_of, paired_nodes, require_possible
from netsim.views.gathering.sweep_tables import described, measure_column, title

TITLE = "Numbers"
PLACE = 10

_REACHED = (
    "accuracy", "accuracy_all_classes", "best", "main_metric", "main_metric_common",
    "main_metric_best", "time_to_target_s", "megabytes_to_target", "airtime_to_target_s",
)  # fmt: skip
_SPENT = (
    "messages", "delivered_share", "used_share", "offered_megabytes", "transmitted_megabytes",
    "delivered_megabytes", "sent_megabytes", "local_steps", "virtual_s", "wall_s",
)  # fmt: skip
"""Measures by which the terminal compares runs."""
_IF_THERE = {*_REACHED, "used_share", "sent_megabytes"}
"""Those of them that have no column where no run has them."""


def of_runs(runs: Sequence[RunFolder], _: Ask) -> Shown:
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
        "One row per algorithm; all were played on one world. Differences are taken node by node, "
        "their intervals are over the nodes of this seed. A heading sorts."
    )
    ended = [run for run in runs if run.summary]
    as_text = printed(rows_of([run.folder for run in ended])) if ended else None
    return Shown([Panel(Columns(columns, caption, about=about), table)], printed=as_text)


def _differences(runs: Sequence[RunFolder], table: dict[str, Any]) -> list[Quantity]:
    """Put differences of the main metric to the first run into a table; return their columns."""
    first, nan = runs[0], float("nan")
    found = [paired_nodes(r.measured, first.measured, r.main, first.main) for r in runs[1:]]
    if not found or paired_nodes(first.measured, first.measured, first.main, first.main) is None:
        return []
    means = [nan if one is None else one.mean for one in found]
    halves = [nan if one is None or one.half_width is None else one.half_width for one in found]
    table |= {"difference": np.array([nan, *means]), "half_width": np.array([nan, *halves])}
    metric, unit = first.main.name, "pp" if is_share(first.main.name) else ""
    return [
        Quantity("difference", f"{metric.replace('_', ' ')} minus {first.algorithm}'s", unit),
        Quantity("half_width", "± half its 95 % interval", unit),
    ]


def table(
    folders: Sequence[Path], csv_path: Path | None = None, target: float | None = None
) -> Printed:
    """Runs side by side, for the terminal and as CSV; below, what they were not made alike of.

    Parameters
    ----------
    folders : sequence of Path
        Run folders, in the order of the table.
    csv_path : Path, optional
        Where to write the same, with more columns and full precision (`comparison.csv`).
    target : float, optional
        Value of the main metric whose first crossing is told, see `comparison.time_to_target`.

    Raises
    ------
    ScenarioError
        If a folder has no summary, or a target is no value of what runs are judged by.
    """
    rows = rows_of(folders, target)
    text = printed(rows)
    unlike = made_unlike(folders, [str(row["run"]) for row in rows])
    if csv_path is not None:  # after all that reads the runs
        write_csv(csv_path, rows)
    return replace(text, note="\n".join([text.note, *unlike]))


def rows_of(folders: Sequence[Path], target: float | None = None) -> list[Row]:
    """One row per run: its label, algorithm, seed and measures; see `table`."""
    summaries = [run_folder.summary(folder) for folder in folders]
    mains = [MainMetric.of(one) for one in summaries]
    for main in mains:
        require_possible(target, main)
    return [
        {
            "run": label,
            "algorithm": summary.get("algorithm"),
            "seed": summary.get("seed"),
            **({} if main.name == "accuracy" else {"metric": main.name}),
            **numbers_of(folder, target),
        }
        for label, summary, main, folder in zip(
            labels(list(folders), summaries), summaries, mains, folders, strict=True
        )
    ]


def printed(rows: Sequence[Row]) -> Printed:
    """Rows of runs for the terminal: one a run, with seed and main metric if they differ."""
    columns, names_shown = [], []
    text_columns = {"run": [str(r["run"]) for r in rows]}
    about = {
        "seed": [str(r.get("seed")) for r in rows],
        "judged by": [_judging_metric(r) for r in rows],
    }
    text_columns |= {key: words for key, words in about.items() if len(set(words)) > 1}
    main = {r["metric"] for r in rows if "metric" in r}  # of runs that are not judged by accuracy
    for name in (*_REACHED, *_SPENT):
        if name in _IF_THERE and all(r.get(name) is None for r in rows):
            continue
        cells = [_cell_text(name, r) for r in rows]
        titled, is_named = title(name), name == "main_metric" and len(main) == 1
        if is_named:
            titled = f"{next(iter(main)).replace('_', ' ')}\n"
        columns.append(Column(titled, cells, name not in _REACHED))
        names_shown += [] if is_named else [name]
    spreads = any(r.get(f"{name}_std_nodes") is not None for r in rows for name in _REACHED)
    notes = ["± is the standard deviation over nodes"] * spreads + [definitions(names_shown)]
    if not main and all(r.get("accuracy") is None for r in rows):
        notes.append(
            "nothing was measured that runs could be judged by: they had no tensor work "
            "(--timing-only), no node had a model, or methods bring their own learning, whose "
            "metric [metrics] main names"
        )
    uncounted = [str(r["run"]) for r in rows if r.get("sent_megabytes") is not None]
    for r in rows:
        broke, caught = r.get("nodes_diverged"), r.get("nodes_caught")
        if broke or caught:
            notes.append(
                f"{r['run']}: {broke or 0} nodes diverged, {caught or 0} caught it by a message; "
                "a mean over nodes with a model that is not finite is -"
            )
    if uncounted:
        notes.append(
            f"{', '.join(uncounted)}: recorded before bits offered and transmitted were counted"
        )
    return Printed(text_columns, columns, "\n".join(notes))


def _judging_metric(r: Row) -> str:
    """The metric by which a run is judged."""
    return str(r.get("metric", "accuracy")).replace("_", " ")


def _cell_text(name: str, r: Row) -> str:
    value, around, spelled = r.get(name), r.get(f"{name}_std_nodes"), MEASURES[name].spelled
    if value is None:
        return "-"
    return spelled(value) + ("" if around is None else f" ± {spelled(around)}")
