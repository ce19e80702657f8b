"""The command lines of `netsim run` and `netsim resume`."""

from pathlib import Path
from typing import Annotated

import typer

from netsim.console import terminal
from netsim.console.options import (
    Components,
    DataDir,
    Debug,
    Device,
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

LOADING = "loading PyTorch"
RUN_HELP = "Play a scenario and write what happened."
RESUME_HELP = "Go on with a run or a sweep that was killed or interrupted."


def run(
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
    check: Annotated[
        bool, typer.Option("--check", help="Check invariants at every evaluation, too.")
    ] = False,
    watch: Watch = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Play a scenario.

    Parameters
    ----------
    scenario, sets, seed, out, force_new, device, components, data, timing_only, figures, report
        See `commands.run`; seed, device and data stand for a `--set`.
    check, log, quiet
        See `commands.run`.
    watch : bool
        Write the page anew every few seconds meanwhile.
    debug : bool
        Show tracebacks.
    """
    with terminal.reported(debug, terminal.THE_RUN):
        with terminal.waiting(LOADING, quiet):
            from netsim.console import commands

        changes = [*(sets or []), *assignments(seed=seed, device=device, data=data)]
        commands.run(
            scenario,
            changes,
            out,
            components or (),
            timing_only,
            figures,
            quiet,
            check=check,
            report=report,
            force_new=force_new,
            watch=watch,
            log=log or (),
        )


def resume(
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
    watch: Watch = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Go on with a run.

    Parameters
    ----------
    run, components, with_changes, figures, report, quiet
        See `resuming.resume`.
    watch : bool
        Write the page anew every few seconds meanwhile.
    debug : bool
        Show tracebacks.
    """
    with terminal.reported(debug, terminal.THE_RUN):
        with terminal.waiting(LOADING, quiet):
            from netsim.console import resuming

        resuming.resume(run, components or (), figures, quiet, report, watch, with_changes)
