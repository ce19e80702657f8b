"""Several algorithms of one world beside each other."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netsim.recording.main_metric import is_share
from netsim.recording.summary_fields import DEFAULT, MEASURES, row
from netsim.results.report.numbers import short
from netsim.results.report.panels import curves
from netsim.results.report.run_tables import RunTables
from netsim.results.report.sweep_tables import described

_FEW = 2
"""Bands of more algorithms hide each other."""


def gather(folders: Sequence[Path]) -> dict[str, Any]:
    """Panels `algorithms`, their main metric over time, and `measures`, their numbers."""
    runs = [RunTables(folder) for folder in folders]
    names = [run.algorithm for run in runs]
    found: dict[str, Any] = {}
    lines = [line for run, name in zip(runs, names, strict=True) if (line := _line(run, name))]
    main = next((run.main for run in runs if run.summary), runs[0].main)
    few = len(lines) <= _FEW
    if not few:
        lines = [{key: line[key] for key in line if key != "std"} for line in lines]
    if any(len(line["t_s"]) > 1 for line in lines):
        found["algorithms"] = {
            "metric": main.name,
            "is_share": is_share(main.name),
            "algorithms": names,
            "points": [{"point": "", "lines": lines}],
            "left_out": 0,
            "note": "Mean over nodes, once all have a model"
            + ("; band: standard deviation over nodes." * few or "."),
        }
    numbers = [row(run.summary) if run.summary else {} for run in runs]
    there = [m for m in MEASURES if any(of_run.get(m) is not None for of_run in numbers)]
    ordered = [m for m in DEFAULT if m in there] + [m for m in there if m not in DEFAULT]
    columns: list[dict[str, Any]] = [
        {"key": "algorithm", "title": "algorithm", "unit": "", "values": names}
    ]
    for name in ordered:
        about = described(name)
        cells = [of_run.get(name) for of_run in numbers]
        values = [None if c is None else short([about["scale"] * c])[0] for c in cells]
        told = {key: about[key] for key in ("title", "unit", "about")}
        columns.append({"key": name, **told, "values": values})
    found["measures"] = {
        "caption": "A row an algorithm; all were played on the same world. A heading sorts.",
        "columns": columns,
    }
    return found


def _line(run: RunTables, name: str) -> dict[str, Any] | None:
    """The main metric of one run over time."""
    shown = curves.gather(run, most=1)
    if shown is None:
        return None
    metric = shown["metrics"][0]
    known = [mean is not None for mean in metric["mean"]]
    first = known.index(True) if any(known) else 0
    line = {k: metric[k][first:] for k in ("t_s", "mean", "std")}
    return {"algorithm": name, "seeds": 1, **line}
