"""Keys that a sweep varied, and the number of runs that were played."""

from netsim.views import OnPage, Panel, Shown
from netsim.views.gathering.sweep_tables import SweepTables
from netsim.views.gathering.swept import SweptAxis

TITLE = "In short"
PLACE = 10

_MOST_WORDS = 120


def of_sweep(sweep: SweepTables) -> Shown:
    """Return names with what they are."""
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
        axis = SweptAxis.of(key, [p[key] for p in sweep.design.points.values() if key in p])
        values = dict.fromkeys(axis.texts)
        text = ", ".join(values)
        if len(text) > _MOST_WORDS:
            text = f"{len(values)} values"
        found.append((axis.axis.title, text))
    return Shown([Panel(OnPage("facts", {"entries": [[name, value] for name, value in found]}))])
