"""Content of the page of a run, or of several algorithms on one world."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError, one_line
from netsim.recording import run_warnings
from netsim.recording.reader import Places, RunFolder, no_positions
from netsim.recording.run_mismatches import made_unlike
from netsim.recording.schema import TABLES
from netsim.recording.summary_fields import divergence
from netsim.recording.verified_files import require_tables
from netsim.scenario.labels import shown
from netsim.views import Ask, Shown, View, on_page
from netsim.views.gathering.names import full_stop
from netsim.views.render.page import marks
from netsim.views.render.page.html import write

NAME = "report.html"


@dataclass
class Entry:
    """One algorithm of a page."""

    label: str
    heading: str
    notices: list[str] = field(default_factory=list)
    panels: dict[str, Any] = field(default_factory=dict)


def gather(
    folder: Path, places: Places = no_positions, is_live: bool = False, is_requested: bool = False
) -> Entry:
    """All that the page shows of one run.

    Parameters
    ----------
    places : callable
        Where nodes that move were, see `reader.Places`.
    is_live : bool
        Whether the page says of itself that the run is still being played.
    is_requested : bool
        Whether its reader has asked for the page, and waits for all that there is.
    """
    run = RunFolder(folder, faults=[], places=places)
    views = on_page("of_run", is_requested)
    panels = sections({name: (view, view.of_run(run)) for name, view in views.items()})
    summary = run.summary
    name = str(summary.get("name", run.scenario.get("name", folder.parent.name)))
    return Entry(run.algorithm, name, _notices(run, is_live), panels)


def sections(found: Mapping[str, tuple[View, Shown | None]]) -> dict[str, Any]:
    """Sections of a page by the names of their views; those that have nothing are left out."""
    made = {
        name: marks.section(shown, view.TITLE)
        for name, (view, shown) in found.items()
        if shown is not None
    }
    return {name: section for name, section in made.items() if section is not None}


def _compared(runs: Sequence[RunFolder]) -> dict[str, Any]:
    """Algorithms of one world over each other, whether their runs have ended or not."""
    found: dict[str, tuple[View, Shown | None]] = {}
    for name, view in on_page("of_runs").items():
        try:
            found[name] = view, view.of_runs(runs, Ask())
        except ScenarioError:  # nothing is drawn over each other that was not measured in common
            continue
    return sections(found)


def _notices(run: RunFolder, is_live: bool) -> list[str]:
    """Return the notices of an incomplete page, with the reasons."""
    found = []
    state = run.state
    plays = is_live and state == "running"
    if not plays and not run.summary:  # it is written when all events have happened
        far = f"{run.end_s:,.6g} s"
        if run.horizon_s:
            far += f" of {run.horizon_s:,.6g} s"
        ended = {
            "failed": f"This run failed at {far}",
            "interrupted": f"This run was interrupted at {far}",
            "cut off": f"This run was cut off: there is something up to {far}",
            "running": f"This run has not ended, or was killed: there is something up to {far}",
        }.get(state, f"This run has no summary; there is something up to {far}")
        error = run.status.get("error")
        found.append(f"{ended}: {one_line(error)}" if error else f"{ended}.")
        found.append("What follows is what had been written by then.")
    if not run.messages and run.metrics and not plays:
        found.append("No table of messages: [run] log_messages is false, or it was not written.")
    if notice := divergence(run.summary):
        found.append(full_stop(notice))
    found += _changes(run.summary.get("changes"))
    said = (*run.environment.get("assumptions", ()), *run.summary.get("warnings", ()))
    found += [one_line(warning) for warning in said]
    faults = run.faults or []
    return found + faults + [p for p in _altered(run.folder) if not any(p in f for f in faults)]


def _altered(folder: Path) -> Iterator[str]:
    """Yield a sentence for each table that is not as the run has written it."""
    for name in TABLES:
        try:
            require_tables(folder, [name])
        except ScenarioError as problem:
            yield str(problem)


def _changes(changes: Any) -> list[str]:
    """Sentences on keys of the scenario that had other values from some time on."""
    return [
        f"From {one_line(change.get('at_s'))} s on: {one_line(key)} = {one_line(shown(value))}."
        for change in (changes if isinstance(changes, list) else ())
        if isinstance(change, dict) and isinstance(change.get("set"), dict)
        for key, value in change["set"].items()
    ]


def content(
    folders: Sequence[Path], gathered: Callable[[Path], Entry], missing: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the arguments of `html.page`, of some runs.

    Parameters
    ----------
    folders : sequence of Path
        One an algorithm, of one world.
    gathered : callable
        What the page shows of each: `gather`.
    missing : sequence of str
        Sentences on runs that the page lacks.
    """
    entries = [gathered(folder) for folder in folders]
    heading = entries[0].heading
    several = len(entries) > 1
    if several:
        runs = [RunFolder(folder, faults=[]) for folder in folders]
        summaries = [run.summary for run in runs]
        unequal = run_warnings.unequal_steps_of(summaries)
        notices = [] if unequal is None else [full_stop(unequal)]
        notices += [
            one_line(f"{entry.label}: {warning}")
            for entry, summary in zip(entries, summaries, strict=True)
            for warning in summary.get("warnings", ())
        ]
        unlike = made_unlike(folders, [entry.label for entry in entries])
        notices += [full_stop(notice) for notice in unlike]
        entries.insert(0, Entry("all, compared", heading, notices, panels=_compared(runs)))
    first = [*(f"{notice}." for notice in missing), *entries[0].notices]
    entries[0] = replace(entries[0], notices=first)
    return {
        "kind": "runs",
        "title": heading if several else f"{heading} · {entries[-1].label}",
        "runs": [
            {"label": entry.label, "notices": entry.notices, "panels": entry.panels}
            for entry in entries
        ],
    }


def report(
    folders: Sequence[Path],
    out: Path,
    places: Callable[[Path], Places] = lambda _: no_positions,
    missing: Sequence[str] = (),
    is_requested: bool = True,
) -> None:
    """Write the page of some runs.

    Parameters
    ----------
    folders : sequence of Path
        One an algorithm; an algorithm's `set` may put it into a world of its own.
    out : Path
        The file.
    places : callable
        Of a run's folder: where its nodes that move were, see `reader.Places`.
    missing : sequence of str
        As of `content`.
    is_requested : bool
        As of `gather`.
    """
    found = content(
        folders, lambda one: gather(one, places(one), is_requested=is_requested), missing
    )
    write(out, found)
