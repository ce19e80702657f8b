"""Keys that a sweep varied, and the number of runs that were played."""

from typing import Any

from netsim.results.report.sweep_tables import SweepTables
from netsim.scenario.labels import shown

_MOST_WORDS = 120


def gather(sweep: SweepTables) -> dict[str, Any]:
    """Names with what they are."""
    keys = dict.fromkeys(key for values in sweep.design.points.values() for key in values)
    found = [
        ("points", f"{len(sweep.design.points):,}"),
        ("seeds", f"{len(sweep.design.seeds):,}"),
        ("algorithms", ", ".join(sweep.algorithms)),
        ("runs done", f"{len(sweep.runs):,}"),
    ]
    if sweep.trials:
        found.insert(0, ("trials", f"{len(sweep.trials):,}"))
    for key in keys:
        values = dict.fromkeys(
            shown(point[key]) for point in sweep.design.points.values() if key in point
        )
        told = ", ".join(values)
        if len(told) > _MOST_WORDS:
            told = f"{len(values)} values"
        found.append((key, told))
    return {"entries": [[name, value] for name, value in found]}
