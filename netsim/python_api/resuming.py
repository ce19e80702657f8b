"""Going on from Python with runs that were killed or interrupted: `netsim.resume`."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from netsim.campaign import resume as resuming
from netsim.console.ending import RunEnding
from netsim.engine import component_record
from netsim.python_api import progress as shown
from netsim.python_api.opening import opened_run
from netsim.python_api.runs import Run
from netsim.python_api.scenario import Scenario, kinds_for
from netsim.recording import folder_lock
from netsim.recording.summary import run_folders
from netsim.scenario.kinds import kinds_of


def resume(
    folder: str | Path,
    scenario: Scenario | None = None,
    *,
    progress: bool = False,
    tell: Callable[[str], object] | None = None,
) -> Run:
    """Go on with a run from its last checkpoint; the numbers are those of a run never interrupted.

    A run that has ended is opened. A sweep goes on by `netsim.sweep` with the same `out`.

    Parameters
    ----------
    folder : str or Path
        Of the run: what `out` named.
    scenario : Scenario, optional
        The one that was begun, if it has objects: the folder knows these by their names alone, and
        takes from here what bears a name. Everything else is as the folder has it.
    progress : bool
        Show how it goes, in one line.
    tell : callable, optional
        Told in words from where it goes on, and of anything that has changed since: `print`.

    Returns
    -------
    Run

    Raises
    ------
    ScenarioError
        If it can't go on; what was written stays as it was.
    NetsimError
        If it failed on its way.
    """
    path = Path(folder)
    if resuming.has_ended(path):
        return opened_run(path, run_folders(path), scenario)
    told = tell or _say_nothing
    folders, changes = component_record.recall(path)
    for change in changes if scenario is None else ():
        told(change)
    known = nullcontext(kinds_of(folders)) if scenario is None else kinds_for(scenario)
    with known as kinds, shown.line(progress) as watch:
        run = resuming.found(path, kinds)
        with folder_lock.held(path, take_over=True):
            ending = RunEnding(run.scenario, run.command.figures, run.command.report)
            played = resuming.play(run, kinds, told, watch, ending=ending)
    return opened_run(path, played, scenario)


def _say_nothing(text: str) -> None:
    """Drop a sentence that nobody wants to read."""
