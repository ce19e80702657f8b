"""The main measure of a sweep over two keys, as a heat map for each algorithm."""

from typing import Any

import numpy as np

from netsim.views import Cells, Panel, Quantity, Shown
from netsim.views.gathering import names, swept
from netsim.views.gathering.sweep_tables import SweepTables, described

TITLE = "Response over two keys"
PLACE = 7
NOTHING = "not exactly two keys vary"


def of_sweep(sweep: SweepTables) -> Shown | None:
    """Return means over seeds by the values of both keys; None where not exactly two vary."""
    lines = sweep.lines
    keys = [
        key
        for key in (lines[0].values if lines else ())
        if len({str(line.values.get(key)) for line in lines}) > 1
    ]
    measure = next((m for m in sweep.measures if m in ("accuracy", "main_metric")), None)
    measure = measure or next(iter(sweep.measures), None)
    if len(keys) != 2 or sweep.trials or measure is None:
        return None
    axes = [swept.SweptAxis.of(key, [line.values[key] for line in lines]) for key in keys]
    order = [list(dict.fromkeys(str(line.values[key]) for line in lines)) for key in keys]
    ticks = [
        tuple(axis.text(words.index(word)) for word in values)
        for axis, values, words in zip(
            axes, order, ([str(line.values[key]) for line in lines] for key in keys), strict=True
        )
    ]
    described_measure = described(measure)
    value = Quantity(
        "mean",
        described_measure["title"],
        described_measure["unit"],
        1 / described_measure["scale"],
    )
    panels = []
    known = [line.estimates[measure].mean for line in lines if measure in line.estimates]
    for algorithm in sweep.algorithms:
        mine = [m for m in lines if m.algorithm == algorithm and measure in m.estimates]
        if not mine:
            continue
        place = [[order[k].index(str(m.values[key])) for m in mine] for k, key in enumerate(keys)]
        table: dict[str, Any] = {
            "row": np.array(place[0]),
            "column": np.array(place[1]),
            "point": np.array([m.point for m in mine]),
            "mean": np.array([m.estimates[measure].mean for m in mine]),
            "half_width": np.array([m.estimates[measure].half_width or np.nan for m in mine]),
        }
        mark = Cells(
            Quantity("row", axes[0].axis.title),
            Quantity("column", axes[1].axis.title),
            value,
            0,
            "no number: no run has ended, or one diverged",
            top=value.scale * max(known),
            ticks=(ticks[0], ticks[1]),
            low=value.scale * min(known),
        )
        panels.append(Panel(mark, table, names.method(algorithm)))
    counts = sorted({m.estimates[measure].seeds for m in lines if measure in m.estimates})
    over = " to ".join(map(str, dict.fromkeys((*counts[:1], *counts[-1:]))))
    about = "one seed" if counts[-1:] == [1] else f"mean over {over} seeds"
    return Shown(panels, f"{about}; all maps have the same colours") if panels else None
