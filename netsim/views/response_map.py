"""The main measure of a sweep over two keys, as a heat map for each algorithm."""

from typing import Any

import numpy as np

from netsim.recording.summary_fields import MEASURES
from netsim.views import Cells, Panel, Quantity, Shown
from netsim.views.gathering import names, swept
from netsim.views.gathering.comparison import tidy_rows
from netsim.views.gathering.numbers import span
from netsim.views.gathering.sweep_tables import SweepTables, described

TITLE = "Response over two keys"
PLACE = 7
NOTHING = "not exactly two keys vary, or its points are trials of a search, which have no grid"


def of_sweep(sweep: SweepTables) -> Shown | None:
    """Return means over seeds by the values of both keys; None where not exactly two vary."""
    lines = sweep.lines
    keys = swept.varied_keys([line.values for line in lines])
    measure = next((m for m in sweep.measures if m in ("accuracy", "main_metric")), None)
    measure = measure or next(iter(sweep.measures), None)
    if len(keys) != 2 or sweep.trials or measure is None:
        return None
    axes = [swept.SweptAxis.of(key, [line.values[key] for line in lines]) for key in keys]
    order = [_in_order(axis) for axis in axes]
    place = {
        id(line): (order[0].index(row), order[1].index(column))
        for line, row, column in zip(lines, axes[0].texts, axes[1].texts, strict=True)
    }
    unit = described(measure)
    value = Quantity("mean", unit["title"], unit["unit"], 1 / unit["scale"])
    panels = []
    known = [line.estimates[measure].mean for line in lines if measure in line.estimates]
    for algorithm in sweep.algorithms:
        mine = [m for m in lines if m.algorithm == algorithm and measure in m.estimates]
        if not mine:
            continue
        table: dict[str, Any] = {
            "row": np.array([place[id(m)][0] for m in mine]),
            "column": np.array([place[id(m)][1] for m in mine]),
            "point": np.array([m.point for m in mine]),
            "mean": np.array([m.estimates[measure].mean for m in mine]),
            "half_width": np.array([m.estimates[measure].half_width for m in mine], dtype=float),
        }
        mark = Cells(
            Quantity("row", axes[0].axis.title),
            Quantity("column", axes[1].axis.title),
            value,
            0,
            "no number: no run has ended, or one diverged",
            top=value.scale * max(known),
            ticks=(tuple(order[0]), tuple(order[1])),
            low=value.scale * min(known),
        )
        panels.append(Panel(mark, table, names.method(algorithm)))
    if not panels:
        return None
    over = span(m.estimates[measure].seeds for m in lines if measure in m.estimates)
    about = "one seed" if over == "1" else f"mean over {over} seeds"
    cells = [
        {
            axes[0].axis.title: row,
            axes[1].axis.title: column,
            "algorithm": names.method(line.algorithm),
            value.title: MEASURES[measure].spelled(found.mean, found.half_width),
        }
        for line, row, column in zip(lines, axes[0].texts, axes[1].texts, strict=True)
        if (found := line.estimates.get(measure)) is not None
    ]
    rows = [row for row in tidy_rows(lines) if row["metric"] == measure]
    return Shown(panels, f"{about}; all maps have the same colours", cells, rows=rows)


def _in_order(axis: swept.SweptAxis) -> list[str]:
    """The different values of a key along the map: numbers by size, others as in the sweep."""
    texts = dict(zip(axis.texts, axis.values, strict=True))
    return sorted(texts, key=lambda text: texts[text]) if axis.is_number else list(texts)
