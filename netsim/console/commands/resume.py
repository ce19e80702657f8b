"""The command `netsim resume`."""

from pathlib import Path
from typing import Annotated

import typer

from netsim.console import terminal
from netsim.console.options import Address, Components, Engine, Quiet, Watch

ALSO_CALLED = ("continue", "go-on", "restart")
FAILURE = terminal.THE_RUN


def command(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of an unfinished run or sweep.")
    ],
    components: Components = None,
    with_changes: Annotated[
        bool,
        typer.Option(
            "--with-changes",
            help="What scenario.toml has changed since holds from where the run goes on.",
        ),
    ] = False,
    figures: Annotated[
        bool | None,
        typer.Option("--figures/--no-figures", help="Draw figures \\[as the run was begun]."),
    ] = None,
    report: Annotated[
        bool | None,
        typer.Option("--report/--no-report", help="Write report.html \\[as the run was begun]."),
    ] = None,
    engine: Annotated[
        Engine | None,
        typer.Option(
            metavar="WAY", help="local: learning here; ray: by actors \\[as the run was begun]."
        ),
    ] = None,
    actors: Annotated[
        int | None, typer.Option(min=1, help="How many \\[as the run was begun].")
    ] = None,
    address: Address = None,
    watch: Watch = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a run or a sweep that was killed or interrupted."""
    with terminal.loading(quiet):
        from netsim.campaign import final_views, fork, live, resume, sweep_folder, sweeping
        from netsim.engine import component_record, ray_cluster, runner
        from netsim.errors import ScenarioError
        from netsim.recording import folder_lock
        from netsim.recording.observers import Observers
        from netsim.scenario.kinds import kinds_of
        from netsim.terminal import progress

    console = terminal.err()
    ray_cluster.join(address)

    def tell(text: str) -> None:
        if not quiet:
            console.print(text)

    is_sweep = bool(sweep_folder.definition(run))
    if _sweep_has_ended(run) if is_sweep else resume.has_ended(run):
        with folder_lock.held(run, take_over=True):  # one that a killed process left goes, too
            pass
        if not is_sweep:
            resume.require_whole(run)
        terminal.out().print(f"{run}: has ended; there is nothing to go on with")
        return
    folders = tuple(components or ())
    if not folders:
        folders, changes = component_record.recall(run)
        for change in changes:
            tell(change)
    modules = kinds_of(folders)
    if is_sweep:
        if with_changes:
            raise ScenarioError(f"{run}: --with-changes: a sweep is of one scenario; leave it out")
        if engine is not None or actors is not None:
            option = "--actors" if engine is None else "--engine"
            raise ScenarioError(
                f"{run}: {option}: is for the learning of one run; netsim sweep SCENARIO "
                f"--out {run} goes on with a sweep, with the workers that it names"
            )
        sweeping.go_on(run, folders, quiet, report is not False, watch)
        return
    found = resume.read_unfinished(run, modules, with_changes, engine, actors)
    if not quiet:
        progress.announce(console, found.scenario)
    has_page = found.command.report if report is None else report
    if watch:
        live.require_page(has_page, "leave out --no-report" if report is False else "add --report")
    names = [entry.name for entry in found.scenario.algorithm]
    with (
        folder_lock.held(run, take_over=True),
        live.live_page(watch, names, folders, console.warn) as page,
    ):
        if page is not None:
            page.begin(run)
        with progress.watched(console, found.scenario, quiet) as shown:
            watcher = shown if page is None else page.told_with(shown)
            every_s = live.write_every_s(page)
            observers = None if every_s is None else Observers(write_every_s=every_s)
            has_figures = found.command.figures if figures is None else figures
            drawn: runner.Ending | None = fork.ending_of(found, has_figures, tell)
            if drawn is None:
                drawn = final_views.RunEnding(found.scenario, has_figures, has_page, page)
            ended = resume.play(found, modules, tell, watcher, observers, drawn)
        final_views.tell(run, ended, found.scenario, quiet)


def _sweep_has_ended(folder: Path) -> bool:
    """Return whether nothing is left to do in a sweep, whose runs somebody may have taken away."""
    from netsim.campaign import sweep_folder, sweep_results

    return sweep_folder.has_ended(folder) and not sweep_results.missing(folder)
