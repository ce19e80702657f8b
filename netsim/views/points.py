"""One row per point and algorithm: means over seeds of the measures that a sweep's table shows."""

from typing import Any

import numpy as np

from netsim.units import is_number
from netsim.views import Columns, Panel, Quantity, Shown
from netsim.views.gathering import names
from netsim.views.gathering.sweep_tables import (
    SweepTables,
    described,
    measure_column,
    of_fewer_seeds,
)
from netsim.views.parallel import words_of

TITLE = "Points"
PLACE = 50

MOST_MEASURES = 12


def of_sweep(sweep: SweepTables) -> Shown | None:
    """Return means over seeds, with the keys that vary; None of a search, whose rows are trials."""
    if sweep.trials:
        return None
    lines = sweep.lines
    table: dict[str, Any] = {
        "point": np.array([line.point for line in lines]),
        "algorithm": np.array([line.algorithm for line in lines]),
        "seeds": np.array([line.seeds for line in lines]),
    }
    keys = dict.fromkeys(key for line in lines for key in line.values)
    columns = [Quantity(name, name) for name in table]
    for key in keys:
        swept = [line.values.get(key) for line in lines]
        numbers = all(map(is_number, swept))
        known = [v for v in swept if v is not None]
        remaining_words = iter(words_of(known))
        words = ["" if v is None else next(remaining_words) for v in swept]
        table[key] = np.array(swept if numbers else words)
        columns.append(names.key(key, swept if numbers else (), key))
    about = {}
    for name in sweep.measures[:MOST_MEASURES]:
        cells = [line.estimates.get(name) for line in lines]
        table[name] = np.array([np.nan if c is None else c.mean for c in cells])
        columns.append(measure_column(name))
        about[name] = described(name)["about"]
    caption = "Means over seeds, one row per point (its folder) and algorithm. A heading sorts."
    fewer = of_fewer_seeds(lines, list(about))
    caption += f" {fewer[:1].upper()}{fewer[1:]}." if fewer else ""
    return Shown([Panel(Columns(columns, caption, about=about), table)])
