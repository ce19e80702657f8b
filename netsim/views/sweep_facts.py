"""What a sweep varied, and how much of it has been played."""

from netsim.scenario.labels import shown
from netsim.views import OnPage, Panel, Shown
from netsim.views.gathering.sweep_tables import SweepTables

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
        values = dict.fromkeys(
            shown(point[key]) for point in sweep.design.points.values() if key in point
        )
        told = ", ".join(values)
        if len(told) > _MOST_WORDS:
            told = f"{len(values)} values"
        found.append((key, told))
    return Shown([Panel(OnPage("facts", {"entries": [[name, value] for name, value in found]}))])
