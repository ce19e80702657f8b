"""A view of runs that have been played, by its name: for figures on paper and in notebooks."""

from collections.abc import Sequence
from dataclasses import replace

from netsim.errors import ScenarioError
from netsim.recording.reader import RunFolder
from netsim.views import Ask, Shown, find


def shown_of(name: str, runs: Sequence[RunFolder], ask: Ask, before: str = "") -> Shown:
    """Gather a view of some runs; of several, a view of one run has a panel for each.

    Parameters
    ----------
    name : str
    runs : sequence of RunFolder
    ask : Ask
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
        shown = _beside(name, runs)
    else:
        raise ScenarioError(f"{before}{name} shows a sweep; name the folder of one")
    if shown is None:
        why = getattr(view, "NOTHING", "nothing of the kind was recorded")
        raise ScenarioError(f"{before}{runs[0].folder}: has no {name}: {why}")
    return shown


def _beside(name: str, runs: Sequence[RunFolder]) -> Shown | None:
    """The panels of every run that has any, its algorithm over them where there are several."""
    panels, about = [], ""
    for run in runs:
        shown = find(name).of_run(run)
        if shown is not None and len(runs) == 1:
            return shown
        if shown is not None:
            about = about or shown.about
            titles = [" · ".join(filter(None, (run.algorithm, p.title))) for p in shown.panels]
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
