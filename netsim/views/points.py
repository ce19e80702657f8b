"""A row a point and algorithm: means over seeds of the measures that a sweep's table shows."""

from typing import Any

from netsim.results.report.numbers import short
from netsim.results.report.sweep_panels.parallel import word_of
from netsim.results.report.sweep_tables import SweepTables, described

MOST_MEASURES = 12


def gather(sweep: SweepTables) -> dict[str, Any]:
    """Columns with their titles and units."""
    columns: list[dict[str, Any]] = [
        {
            "key": "point",
            "title": "point",
            "unit": "",
            "values": [one.point for one in sweep.lines],
        },
        {
            "key": "algorithm",
            "title": "algorithm",
            "unit": "",
            "values": [line.algorithm for line in sweep.lines],
        },
        {
            "key": "seeds",
            "title": "seeds",
            "unit": "",
            "values": [one.seeds for one in sweep.lines],
        },
    ]
    keys = dict.fromkeys(key for line in sweep.lines for key in line.values)
    for key in keys if len(keys) > 1 else ():
        swept: list[Any] = [line.values.get(key) for line in sweep.lines]
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in swept)
        shown = short(swept) if numbers else ["" if v is None else word_of(v) for v in swept]
        columns.append({"key": key, "title": key, "unit": "", "values": shown})
    for name in sweep.measures[:MOST_MEASURES]:
        about = described(name)
        cells = [line.estimates.get(name) for line in sweep.lines]
        values = [None if c is None else short([about["scale"] * c.mean])[0] for c in cells]
        told = {key: about[key] for key in ("title", "unit", "about")}
        columns.append({"key": name, **told, "values": values})
    return {
        "caption": "Means over seeds, a row a point and algorithm. A heading sorts.",
        "columns": columns,
    }
