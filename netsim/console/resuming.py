"""`netsim resume`: going on with a run that was killed or interrupted."""

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from netsim.console import commands, live, progress, terminal
from netsim.engine import resuming
from netsim.engine.checkpoints.command import Command
from netsim.recording import folder_lock
from netsim.recording.observers import Observers
from netsim.scenario.kinds import kinds_of


def resume(
    folder: Path,
    components: Sequence[Path],
    figures: bool,
    quiet: bool,
    report: bool = True,
    live_port: int | None = None,
) -> None:
    """Go on with an unfinished run.

    Parameters
    ----------
    folder : Path
        Of the run.
    components : sequence of Path
        Folders of components of the user's own; none: those that the run was begun with.
    figures : bool
        Whether to draw figures.
    quiet : bool
        Neither progress nor tables.
    report : bool
        Whether to write a page of what happened.
    live_port : int or None
        Where the page is to be seen meanwhile; 0: a port that is free; None: nowhere.

    Raises
    ------
    ScenarioError
        If it can't go on; what was written stays as it was.
    RunFailedError
        If it failed on its way.
    """
    console = terminal.err()
    if resuming.has_ended(folder):
        terminal.out().print(Text(f"{folder}: has ended; there is nothing to go on with"))
        return
    components = components or Command.read(folder).components
    modules = kinds_of(components)
    run = resuming.found(folder, modules)
    if not quiet:
        progress.announce(console, run.scenario)

    def tell(text: str) -> None:
        if not quiet:
            console.print(Text(text))

    with (
        folder_lock.held(folder, take_over=True),
        live.served(live_port, run.scenario, components) as page,
    ):
        if page is not None:
            page.begin(folder)
        with progress.watched(console, run.scenario, quiet) as shown:
            watch = shown if page is None else page.told_with(shown)
            every_s = live.write_every_s(page)
            observers = None if every_s is None else Observers(write_every_s=every_s)
            folders = resuming.play(run, modules, tell, watch, observers)
        commands.conclude(folder, folders, run.scenario, figures, quiet, report)
