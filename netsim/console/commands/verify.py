"""The command `netsim verify`."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from netsim.campaign import verify as verification
from netsim.campaign.sweep_folder import ARGUMENTS, UNFINISHED
from netsim.console import progress, terminal
from netsim.errors import ScenarioError, one_line
from netsim.scenario.kinds import kinds_of

MOST_FOLDERS = 20_000
"""Most folders that are searched for runs and are of none: a disk is searched for minutes."""


def verify(path: Path, components: Sequence[Path], data: Path | None, rerun: bool) -> bool:
    """Check the run, or all runs, in a folder, and say what differs.

    Parameters
    ----------
    path : Path
        The folder of a run, or one above it.
    components : sequence of Path
        Folders of components of the user's own.
    data : Path or None
        The data folder of the rerun; None: the one that was recorded.
    rerun : bool
        Whether to play it again.

    Returns
    -------
    bool
        Whether all is as it was.

    Raises
    ------
    ScenarioError
        If there is no finished run, or some can't be checked here while nothing differs.
    """
    folders = run_folders(path)
    modules = kinds_of(components)
    sets = [] if data is None else [f"data.path={json.dumps(str(data.absolute()))}"]
    same, unchecked = True, []
    for folder in dict.fromkeys((path, *folders)):
        try:
            if folder not in folders:
                same &= _told(verification.verify_files(folder, folders))
                continue
            with progress.watched(terminal.err(), quiet=not rerun) as watch:
                report = verification.verify(folder, modules, sets, rerun, watch)
            same &= _told(report)
        except ScenarioError as error:
            unchecked += str(error).splitlines()
    if unchecked and same:
        raise ScenarioError("\n".join(unchecked))
    if unchecked:
        terminal.problems(unchecked)
    return same


def run_folders(path: Path) -> list[Path]:
    """The folders of runs at or anywhere below a path, by name; none that a sweep has put aside.

    Raises
    ------
    ScenarioError
        If there are none, or they lie among too many folders that are of no run.
    """
    found, of_runs, others = [], set[str](), 0
    for name, folders, files in os.walk(path):
        folders[:] = [folder for folder in folders if UNFINISHED not in folder]
        is_sweep = ARGUMENTS in files
        if "status.json" in files and not is_sweep:
            found.append(Path(name))
        if is_sweep or "status.json" in files or os.path.dirname(name) in of_runs:
            of_runs.add(name)
            continue
        others += 1
        if others > MOST_FOLDERS:
            raise ScenarioError(
                f"{path}: more than {MOST_FOLDERS:,} folders here and below are of no run; name "
                "the folder of a run, or one in which there are runs, as in runs/NAME or runs"
            )
    if not found:
        raise ScenarioError(f"{path}: no run here or below (no status.json)")
    return sorted(found)


def _told(report: verification.Report) -> bool:
    if not (report.same or report.notes or report.differences):
        return True
    console = terminal.out()
    console.print(Text(one_line(report.folder), style="bold"))
    for texts, word, style in (
        (report.same, "same", "green"),
        (report.notes, "another", "yellow"),
        (report.differences, "differs", "bold red"),
    ):
        for text in texts:
            line = " ".join(text.splitlines())  # names in a run folder may hold ends of lines
            console.print(Text(f"  {word:<11}", style=style) + Text(line))
    return not report.differences
