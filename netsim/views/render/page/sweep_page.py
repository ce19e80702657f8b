"""Content of the page of a sweep."""

from pathlib import Path
from typing import Any

from netsim.recording.keys_without_effect import unmoved_in
from netsim.recording.run_mismatches import changed_in
from netsim.recording.run_warnings import warned_in
from netsim.views import on_page
from netsim.views.gathering.names import full_stop
from netsim.views.gathering.sweep_tables import SweepTables
from netsim.views.render.page.html import write
from netsim.views.render.page.run_page import sections


def content(sweep: SweepTables) -> dict[str, Any]:
    """Return what `html.page` takes, of a sweep.

    Raises
    ------
    ScenarioError
        If no run of it has ended.
    """
    found = {name: (view, view.of_sweep(sweep)) for name, view in on_page("of_sweep").items()}
    panels = sections(found)
    name = str(sweep.runs[0].summary.get("name", sweep.folder.name))
    notices = [] if sweep.trials else _missing(sweep)
    folders, points = [one.folder for one in sweep.runs], sweep.design.points
    remarks = changed_in(sweep.folder, folders, points) + unmoved_in(points, folders)
    remarks += warned_in(sweep.folder, folders)
    notices += [full_stop(line) for line in remarks]
    run = {"label": name, "notices": notices, "panels": panels}
    return {"kind": "sweep", "title": f"{name} · sweep", "runs": [run]}


def report(sweep: SweepTables, out: Path) -> None:
    """Write the page of a sweep into a file."""
    write(out, content(sweep))


def _missing(sweep: SweepTables) -> list[str]:
    """Say how many runs are missing, and of which algorithms all are."""
    design = sweep.design
    names = design.algorithms or sweep.algorithms
    wanted = len(design.points) * len(design.seeds) * len(names)
    missing = wanted - len(sweep.runs)
    if missing <= 0:
        return []
    told = [f"This sweep is not whole: {missing} of {wanted} runs are not there."]
    nothing = [name for name in names if name not in sweep.algorithms]
    return [*told, *([f"No run has ended of {', '.join(nothing)}."] if nothing else [])]
