"""The command `netsim run`."""

from pathlib import Path
from typing import Annotated

import typer

from netsim.console import terminal
from netsim.console.options import (
    Address,
    Components,
    DataDir,
    Device,
    Engine,
    Figures,
    ForceNew,
    Log,
    Out,
    Quiet,
    Report,
    ScenarioArgument,
    Seed,
    Sets,
    TimingOnly,
    Watch,
    assignments,
)

ALSO_CALLED = ("play", "simulate", "simulation", "start", "train")
FAILURE = terminal.THE_RUN


def command(
    scenario: ScenarioArgument,
    sets: Sets = None,
    seed: Seed = None,
    out: Out = None,
    force_new: ForceNew = False,
    device: Device = None,
    components: Components = None,
    data: DataDir = None,
    timing_only: TimingOnly = False,
    figures: Figures = False,
    report: Report = True,
    engine: Annotated[
        Engine | None,
        typer.Option(metavar="WAY", help="local: learning here; ray: by actors of a cluster."),
    ] = None,
    actors: Annotated[
        int | None, typer.Option(min=1, help="How many \\[as there is room].")
    ] = None,
    address: Address = None,
    check: Annotated[
        bool, typer.Option("--check", help="Check invariants at every evaluation, too.")
    ] = False,
    watch: Watch = False,
    log: Log = None,
    quiet: Quiet = False,
) -> None:
    """Play a scenario and write what happened."""
    with terminal.loading(quiet):
        from netsim.campaign import final_views, live, sweeping
        from netsim.console.checking import checked
        from netsim.engine import output_folder, ray_cluster, runner
        from netsim.errors import ScenarioError
        from netsim.export.trackers import tracker
        from netsim.recording import folder_lock
        from netsim.scenario.kinds import kinds_of
        from netsim.terminal import progress

    folders, programs = tuple(components or ()), tuple(log or ())
    given = assignments(seed, device, data, engine, actors)
    changes = [*(sets or []), *given]
    ray_cluster.join(address)
    with terminal.waiting("reading the algorithms and the scenario", quiet):
        new = sweeping.new_folder(out, force_new)
        draft, played = checked(scenario, changes, {}, kinds_of(folders), new, timing_only)
    if watch:
        live.require_page(report)
    if played.sweep is not None:
        for option, said in (("--check", check), ("--log", programs)):
            if said:
                raise ScenarioError(
                    f"{draft.path}: [sweep]: {option} looks at single runs; leave the "
                    "table out, or play scenario.toml of one of its runs"
                )
        where = sweeping.Where(force_new=force_new, report=report, watch=watch)
        sweeping.play(draft, played, out, folders, timing_only, quiet, where)
        return
    writers = tracker.writers_of(programs)
    console = terminal.err()
    with folder_lock.released() as made:

        def own(algorithm: str) -> Path:
            return made[0] / algorithm if len(played.algorithm) > 1 else made[0]

        names = [entry.name for entry in played.algorithm]
        with live.live_page(watch, names, folders, console.warn) as page:

            def make_folder() -> Path:
                if force_new:
                    made.append(sweeping.claimed_anew(out, played.name, quiet))
                else:
                    made.append(output_folder.claim(out, played.name))
                if not quiet:
                    progress.announce(console, played)
                if page is not None:
                    page.begin(made[0])
                return made[0]

            with (
                progress.watched(console, played, quiet) as shown,
                tracker.observers_of(
                    writers, own, live.write_every_s(page), console.warn
                ) as observers,
            ):
                watcher = shown if page is None else page.told_with(shown)
                ended = runner.play(
                    played,
                    make_folder,
                    draft.path,
                    timing_only,
                    watcher,
                    components=folders,
                    check=check,
                    observers=observers,
                    doing=None if watcher is None else watcher.announce,
                    ending=final_views.RunEnding(played, figures, report, page),
                    warn=None if quiet else console.warn,
                )
            final_views.tell(made[0], ended, played, quiet)
