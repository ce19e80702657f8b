"""`netsim resume`: going on with a run or a sweep that was killed or interrupted."""

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from netsim.campaign import resume as resuming
from netsim.campaign import sweep_folder
from netsim.console import ending, live, progress, sweeping, terminal
from netsim.console.sweep_session import Where
from netsim.engine import component_record
from netsim.errors import ScenarioError
from netsim.recording import checksums, folder_lock, status
from netsim.recording.observers import Observers
from netsim.scenario import check, draft_of
from netsim.scenario.kinds import kinds_of


def resume(
    folder: Path,
    components: Sequence[Path],
    figures: bool | None,
    quiet: bool,
    report: bool | None = None,
    watch: bool = False,
    with_changes: bool = False,
) -> None:
    """Go on with an unfinished run, or with a sweep.

    Parameters
    ----------
    folder : Path
        Of the run.
    components : sequence of Path
        Folders of components of the user's own; none: those that this user began the run with, as
        the user's own record has them.
    figures, report : bool or None
        Whether to draw figures, and to write a page of what happened; None: as the run was begun.
    quiet : bool
        Neither progress nor tables.
    watch : bool
        Write the page anew every few seconds meanwhile.
    with_changes : bool
        Whether what `scenario.toml` has changed since shall hold from where the run goes on.

    Raises
    ------
    ScenarioError
        If it can't go on; what was written stays as it was.
    AlteredError
        If a file is not what the run has written; everything stays as it is.
    RunFailedError
        If it failed on its way.
    """
    console = terminal.err()

    def tell(text: str) -> None:
        if not quiet:
            console.print(Text(text))

    def warn(text: str) -> None:
        console.print(Text(text, style="yellow"))

    is_sweep = bool(sweep_folder.definition(folder))
    if _has_ended(folder) if is_sweep else resuming.has_ended(folder):
        with folder_lock.held(folder, take_over=True):  # one that a killed process left goes, too
            pass
        lost = [] if is_sweep else resuming.lacking(folder)
        if lost:
            more = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
            raise ScenarioError(
                f"{lost[0]}: is missing{more}, and the run has ended: put it back, or write it "
                f"anew (a page by netsim report {folder}, figures by netsim plot, tables by netsim "
                f"run {folder / 'scenario.toml'} in another folder)"
            )
        terminal.out().print(Text(f"{folder}: has ended; there is nothing to go on with"))
        return
    if not components:
        components, changes = component_record.recall(folder)
        for change in changes:
            tell(change)
    if is_sweep:
        _sweep(folder, components, quiet, report, with_changes, watch)
        return
    modules = kinds_of(components)
    run = resuming.found(folder, modules, with_changes)
    if not quiet:
        progress.announce(console, run.scenario)
    has_page = run.command.report if report is None else report
    if watch:
        live.require_page(has_page, "leave out --no-report" if report is False else "add --report")
    names = [entry.name for entry in run.scenario.algorithm]
    with (
        folder_lock.held(folder, take_over=True),
        live.shown(watch, names, components, warn) as page,
    ):
        if page is not None:
            page.begin(folder)
        with progress.watched(console, run.scenario, quiet) as shown:
            told = shown if page is None else page.told_with(shown)
            every_s = live.write_every_s(page)
            observers = None if every_s is None else Observers(write_every_s=every_s)
            has_figures = run.command.figures if figures is None else figures
            drawn = ending.RunEnding(run.scenario, has_figures, has_page, page)
            folders = resuming.play(run, modules, tell, told, observers, drawn)
        ending.tell(folder, folders, run.scenario, quiet)


def _has_ended(folder: Path) -> bool:
    """Return whether the folder of a sweep has its tables.

    Its state has to be said after these.
    """
    name = "status.json"
    if status.read(folder).get("state") != "done" or not (folder / checksums.NAME).is_file():
        return False
    return checksums.read(folder).get(name) == checksums.sha256(folder / name)


def _sweep(
    folder: Path,
    components: Sequence[Path],
    quiet: bool,
    report: bool | None,
    with_changes: bool,
    watch: bool,
) -> None:
    """Go on with a sweep as `netsim sweep` does that says the same again."""
    if with_changes:
        raise ScenarioError(f"{folder}: --with-changes: a sweep is of one scenario; leave it out")
    modules = kinds_of(components)
    draft = draft_of(str(folder / sweep_folder.DEFINITION), (), modules)
    timing_only = sweep_folder.said_there(folder).get("timing_only") is True
    where = Where(report=report is not False, watch=watch)
    scenario = check(draft, modules)
    sweeping.play(draft, scenario, folder, tuple(components), timing_only, quiet, where)
