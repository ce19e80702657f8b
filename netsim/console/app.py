"""The command `netsim`."""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from netsim import standard_streams
from netsim.console import (
    export_command,
    plot_command,
    report_command,
    run_command,
    stand_ins,
    terminal,
)
from netsim.console.options import (
    Against,
    AnyRun,
    Components,
    DataDir,
    Debug,
    Device,
    Engine,
    Figures,
    ForceNew,
    OneNode,
    Out,
    Queries,
    Quiet,
    Report,
    ScenarioArgument,
    Sets,
    Show,
    Target,
    TimingOnly,
    Watch,
    assignments,
)
from netsim.console.run_command import LOADING
from netsim.errors import ScenarioError, one_line

app = typer.Typer(
    help="A discrete-event network simulator in which nodes learn.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("netsim-dfl")
        except PackageNotFoundError:
            number = "(not installed)"
        terminal.out().print(f"netsim {number}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


app.command("run", help=run_command.RUN_HELP)(run_command.run)
app.command("resume", help=run_command.RESUME_HELP)(run_command.resume)


@app.command()
def sweep(
    scenario: ScenarioArgument,
    over: Annotated[
        list[str] | None,
        typer.Option(metavar="A.B=V1,V2", help="Values of one key; repeated: their grid."),
    ] = None,
    draw: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A.B=LOW:HIGH[:log]", help="Values from which a search chooses a key."
        ),
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Number of trials of a search.")] = None,
    search: Annotated[
        str | None,
        typer.Option(
            metavar="optuna|random",
            help="Way of the search: by the trials that did well \\[optuna].",
        ),
    ] = None,
    prune: Annotated[
        bool | None, typer.Option("--prune/--no-prune", help="End bad trials early.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="0:5", help="Seeds 0 to 4, or a list such as 0,3,7.")
    ] = None,
    select: Annotated[
        str | None, typer.Option(help="Metric that chooses the best trial or point.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at a time \\[one a core].")] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Play every N-th run from the I-th on, beside others."),
    ] = None,
    engine: Annotated[
        Engine, typer.Option(help="Processes of this machine, or a Ray cluster.")
    ] = "local",
    ray_address: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Of the cluster \\[$RAY_ADDRESS, or a local one]."),
    ] = None,
    ray_cpus: Annotated[float, typer.Option(min=0.01, help="Cores that a run takes there.")] = 1.0,
    ray_gpus: Annotated[float, typer.Option(min=0.0, help="GPUs, or a part of one.")] = 0.0,
    show: Show = None,
    target: Target = None,
    against: Against = None,
    sets: Sets = None,
    out: Out = None,
    force_new: ForceNew = False,
    device: Device = None,
    components: Components = None,
    data: DataDir = None,
    timing_only: TimingOnly = False,
    report: Report = True,
    watch: Watch = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Play a scenario many times (a grid, a search, seeds); paired differences.

    In the folder of a sweep, the same command plays what is missing.
    """
    with terminal.reported(debug, terminal.THE_RUN):
        with terminal.waiting(LOADING, quiet):
            from netsim.console import sweeping
            from netsim.console.sweep_options import options, part
            from netsim.console.sweep_session import Where

        given = {"trials": trials, "search": search, "prune": prune}
        more = {"select": select, "jobs": jobs, "target": target, "against": against}
        sweeping.sweep(
            scenario,
            [*(sets or []), *assignments(device=device, data=data)],
            options(over or [], draw or [], seeds, show, **given, **more),
            out,
            tuple(components or ()),
            timing_only,
            quiet,
            Where(engine, ray_address, ray_cpus, ray_gpus, part(only), force_new, report, watch),
        )


@app.command()
def tune(
    scenario: ScenarioArgument,
    sets: Sets = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The table [$NETSIM_ROUTES or ~/.config/netsim]."),
    ] = None,
    device: Device = None,
    components: Components = None,
    data: DataDir = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Measure which backend suits a scenario's models here; later runs go by it."""
    with terminal.reported(debug):
        with terminal.waiting(LOADING, quiet):
            from netsim.console import commands

        changes = [*(sets or []), *assignments(device=device, data=data)]
        commands.tune(scenario, changes, components or (), out, quiet)


@app.command()
def validate(
    scenarios: Annotated[list[str], typer.Argument(metavar="SCENARIO...")],
    sets: Sets = None,
    components: Components = None,
    data: DataDir = None,
    world: Annotated[
        bool, typer.Option(help="Also read the data and lay out nodes and links.")
    ] = True,
    debug: Debug = False,
) -> None:
    """Check scenarios and list all their errors."""
    with terminal.reported(debug):
        from netsim.console import validating

        validating.validate(
            scenarios, [*(sets or []), *assignments(data=data)], components or (), world
        )


@app.command("list")
def list_choices(
    what: Annotated[
        str,
        typer.Argument(help="algorithms, scenarios, models, papers, channels, fading, ..."),
    ] = "all",
    components: Components = None,
    keys: Annotated[bool, typer.Option("--keys", help="Also the keys and their defaults.")] = False,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="papers: hours at this machine's own rates."),
    ] = False,
    debug: Debug = False,
) -> None:
    """List the components that a scenario can choose from."""
    with terminal.reported(debug):
        if what.lower() in ("paper", "papers"):
            from netsim.console import papers

            papers.show(measure)
        else:
            from netsim.console import listing

            listing.show(what, components or (), keys)


@app.command()
def schema(components: Components = None, debug: Debug = False) -> None:
    """Print the JSON Schema of scenario files, for editors."""
    with terminal.reported(debug):
        from netsim.scenario import json_schema
        from netsim.scenario.kinds import kinds_of

        kinds = kinds_of(components or ())
        kinds.read_installed()
        sys.stdout.write(json.dumps(json_schema(kinds), indent=2) + "\n")


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...")],
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table here.")] = None,
    target: Target = None,
    against: Against = None,
    show: Show = None,
    debug: Debug = False,
) -> None:
    """Compare finished runs side by side; a sweep by means over its seeds."""
    with terminal.reported(debug):
        from netsim.console import comparing

        comparing.compare(runs, csv, target, show, against)


@app.command()
def verify(
    run: Annotated[Path, typer.Argument(metavar="RUN")],
    rerun: Annotated[bool, typer.Option(help="Also play it again and compare.")] = True,
    components: Components = None,
    data: DataDir = None,
    debug: Debug = False,
) -> None:
    """Check that a run's files are as it left them, and that it can be played again."""
    with terminal.reported(debug, terminal.THE_RUN):
        from netsim.console import verifying

        if not verifying.verify(run, components or (), data, rerun):
            raise typer.Exit(terminal.FAILED)


@app.command()
def fork(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    at: Annotated[float, typer.Option(metavar="SECONDS", help="Virtual time of the change.")],
    sets: Annotated[
        list[str],
        typer.Option("--set", metavar="A.B=V", help="Key and value from then on; repeatable."),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the results \\[runs/NAME-fork].")
    ] = None,
    components: Components = None,
    data: DataDir = None,
    figures: Figures = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Play a run again with a change from one instant on; compare the two node by node.

    Keys of the link, the radio, the schedule, the local training and the algorithm can change:
    docs/fork.md lists them.
    """
    with terminal.reported(debug, terminal.THE_RUN):
        with terminal.waiting(LOADING, quiet):
            from netsim.console import forking

        forking.fork(run, at, sets, out, components or (), data, figures, quiet)


@app.command()
def explain(
    run: AnyRun, node: OneNode = None, queries: Queries = False, debug: Debug = False
) -> None:
    """Name the limits of a run, and the nodes that starved, in words and numbers."""
    with terminal.reported(debug):
        from netsim.console import explaining

        explaining.explain(run, node, queries)


@app.command()
def new(
    sort: Annotated[
        str,
        typer.Argument(metavar="SORT", help="algorithm, model, data_set, topology, fading, ..."),
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name in scenarios.")],
    folder: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="Folder of its two files.")
    ] = Path(),
    debug: Debug = False,
) -> None:
    """Write a component of your own to begin with, and its test; both run as they are."""
    with terminal.reported(debug):
        from netsim.console import starting

        starting.new(sort, name, folder)


app.command("export", help=export_command.HELP)(export_command.export)
app.command("plot", help=plot_command.HELP)(plot_command.plot)
app.command("report", help=report_command.HELP)(report_command.report)


def _require_utf8() -> None:
    """Raise ScenarioError for names that neither a scenario nor a table of a run can state."""
    names = sys.argv[1:]
    with suppress(OSError):  # the working folder has been removed
        names.append(os.getcwd())
    wrong = [one_line(name) for name in names if any("\ud800" <= s <= "\udfff" for s in name)]
    if wrong:
        raise ScenarioError("\n".join(f"{name}: is not UTF-8; rename it" for name in wrong))


def main() -> None:
    """Run the command line and exit."""
    standard_streams.never_fail()
    stand_ins.this_process_is_the_commands()
    try:
        with terminal.reported():
            _require_utf8()
        app()
    except typer.Exit as end:
        raise SystemExit(end.exit_code) from None
    finally:
        standard_streams.tell_what_was_lost()
