"""The runs of a figure: which of them are seeds of one curve, and views of them by name."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from netsim.errors import ScenarioError
from netsim.recording import metrics as measured
from netsim.recording.reader import RunFolder
from netsim.recording.summary import labels
from netsim.registry import did_you_mean
from netsim.views import Ask, Shown, find
from netsim.views.gathering import names

_SEED = re.compile(r"seed-\d+")


def title_of(summary: dict[str, Any], algorithm: bool = True) -> str:
    """Return the heading of a figure: the name of the run."""
    name = str(summary.get("name", "run"))
    if algorithm and summary.get("algorithm", name) != name:
        name = f"{name} · {summary['algorithm']}"
    return f"{name} · {summary['nodes']:,} nodes" if "nodes" in summary else name


def pictured(run: RunFolder) -> list[str]:
    """The main metric on test samples; where data is balanced, the personal one repeats another."""
    found = run.main.of_tests(measured.names(run.measured))
    return [m for m in found if m != "accuracy_personal"]


def groups(runs: Sequence[RunFolder]) -> dict[str, list[RunFolder]]:
    """Runs by curve: seeds of one algorithm and scenario together, by the name of the curve."""
    by_algorithm: dict[str, list[RunFolder]] = {}
    for run in runs:
        by_algorithm.setdefault(run.algorithm, []).append(run)
    if all(_are_seeds(group) for group in by_algorithm.values()):
        return {names.method(name): group for name, group in by_algorithm.items()}
    by_place: dict[tuple[str, ...], list[RunFolder]] = {}
    for run in runs:
        place = tuple(part for part in run.folder.parts if not _SEED.fullmatch(part))
        by_place.setdefault(place, []).append(run)
    if all(_are_seeds(group) for group in by_place.values()):
        found = [group[0] for group in by_place.values()]
        placed = zip(_places(found), by_place.values(), strict=True)
        return dict(placed)
    run_labels = labels([run.folder for run in runs], [run.summary for run in runs])
    return {name: [run] for name, run in zip(run_labels, runs, strict=True)}


def _places(runs: Sequence[RunFolder]) -> list[str]:
    """Names of curves by their folders, shortened to what differs, seeds left out."""
    run_labels = labels([run.folder for run in runs], [run.summary for run in runs])
    kept = []
    for name, run in zip(run_labels, runs, strict=True):
        parts = [part for part in name.split("/") if not _SEED.fullmatch(part)]
        if parts and parts[-1] == run.algorithm:
            parts[-1] = names.method(run.algorithm)
        kept.append("/".join(parts))
    return kept if len(set(kept)) == len(kept) else run_labels


def _are_seeds(group: Sequence[RunFolder]) -> bool:
    """Return whether runs differ in their seed alone."""
    seeds = {run.seed for run in group}
    return len(seeds) == len(group) and len({run.settings for run in group}) == 1


def reference(found: dict[str, list[RunFolder]], named: str) -> str:
    """The name of the curve that a word means: its name, or its algorithm's.

    Raises
    ------
    ScenarioError
        If there is none, or a method has several.
    """
    meant = [
        title
        for title, group in found.items()
        if named in (group[0].algorithm, names.method(group[0].algorithm))
    ]
    if named in found:
        return named
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise ScenarioError(
            f"--paired-to {named}: {len(meant)} curves are of it: {', '.join(meant)}; name one of "
            "them (of a sweep, --as sweep pairs methods at each point)"
        )
    known = list(found)
    raise ScenarioError(
        f"--paired-to {named}: there is no such curve; there are {', '.join(known)}"
        + did_you_mean(named, [*known, *(group[0].algorithm for group in found.values())])
    )


def pairs(
    mine: Sequence[RunFolder], theirs: Sequence[RunFolder]
) -> list[tuple[RunFolder, RunFolder]]:
    """Runs of equal seeds, of which there must be some."""
    by_seed = {run.seed: run for run in theirs}
    found = [(run, by_seed[run.seed]) for run in mine if run.seed in by_seed]
    if not found:
        raise ScenarioError(
            f"{mine[0].folder}: seed = {mine[0].seed}: is paired with no run of "
            f"{theirs[0].folder.name}, whose seeds are "
            f"{', '.join(str(run.seed) for run in theirs)}; play both with the same seeds"
        )
    return found


def shown_of(name: str, runs: Sequence[RunFolder], ask: Ask, before: str = "") -> Shown:
    """Gather a view of some runs; of several, a view of one run has a panel for each.

    Parameters
    ----------
    before : str
        Begins what is refused.

    Raises
    ------
    ScenarioError
        If a run can't be read, or none has what the view shows.
    """
    view = find(name, f"{before}--as " if ask.on_paper else before)
    if hasattr(view, "of_runs"):
        if "metrics" in getattr(view, "TAKES", ()) and ask.on_paper:
            _require_one_task(runs)
        shown = view.of_runs(runs, ask)
    elif hasattr(view, "of_run"):
        shown = _side_by_side(name, runs)
    else:
        raise ScenarioError(f"{before}{name} shows a sweep; name the folder of one")
    if shown is None:
        why = getattr(view, "NOTHING", "nothing of the kind was recorded")
        raise ScenarioError(f"{before}{runs[0].folder}: has no {name}: {why}")
    return shown


def _side_by_side(name: str, runs: Sequence[RunFolder]) -> Shown | None:
    """The panels of every run that has any, its label over them where there are several."""
    panels, about = [], ""
    run_labels = labels([run.folder for run in runs], [run.summary for run in runs])
    for label, run in zip(run_labels, runs, strict=True):
        shown = find(name).of_run(run)
        if shown is not None and len(runs) == 1:
            return shown
        if shown is not None:
            about = about or shown.about
            titles = [" · ".join(filter(None, (label, p.title))) for p in shown.panels]
            panels += [
                replace(panel, title=title)
                for panel, title in zip(shown.panels, titles, strict=True)
            ]
    return Shown(panels, about) if panels else None


def _require_one_task(found: Sequence[RunFolder]) -> None:
    """Raise ScenarioError where runs are judged by different metrics."""
    first = found[0]
    for run in found:
        if run.main.name != first.main.name:
            raise ScenarioError(
                f"{run.folder / 'summary.json'}: task.metric = {run.main.name}: {first.folder} is "
                f"judged by {first.main.name}; draw runs of one task"
            )
