"""The command `netsim fork`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from netsim.console import terminal
from netsim.console.options import Components, DataDir, Figures, Quiet, assignments

if TYPE_CHECKING:
    from netsim.campaign.fork import Fork, ForkEnding

ALSO_CALLED = ("branch", "change", "what-if", "whatif")
FAILURE = terminal.THE_RUN


def command(
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
) -> None:
    """Play a run again with a change from one instant on; compare the two node by node.

    Keys of the link, the radio, the schedule, the local training and the algorithm can change:
    docs/fork.md lists them.
    """
    with terminal.loading(quiet):
        from netsim.campaign import fork, sweep_results
        from netsim.engine import output_folder, runner
        from netsim.recording import folder_lock
        from netsim.scenario.kinds import kinds_of
        from netsim.terminal import progress

    sweep_results.require_run(run)
    here = assignments(data=data)
    found = fork.prepare(run, at, sets, here, kinds_of(components or ()), out)
    ending, console = fork.ForkEnding(found, figures), terminal.err()
    with folder_lock.released() as made:

        def make_folder() -> Path:
            made.append(output_folder.claim(out, f"{found.scenario.name}-fork"))
            if not quiet:
                progress.announce(console, found.scenario)
            return made[0]

        with progress.watched(console, found.scenario, quiet) as watch:
            runner.play(
                found.scenario,
                make_folder,
                found.path,
                found.timing_only,
                watch,
                components=components or (),
                doing=None if watch is None else watch.announce,
                ending=ending,
                fork=found.record,
            )
        if not quiet:
            _tell(found, made[0], ending)


def _tell(fork: "Fork", folder: Path, ending: "ForkEnding") -> None:
    """Print the change, the two runs beside each other, and the check of their common past."""
    from netsim.recording.run_warnings import warnings_of
    from netsim.scenario.labels import shown
    from netsim.views.render.terminal import WrappedTable

    console = terminal.out()
    change = ", ".join(f"{key} = {shown(value)}" for key, value in fork.change.items())
    console.print(
        f"{folder} is {fork.original} up to {fork.at_s:g} s; from then on it has {change}."
    )
    console.print(WrappedTable(ending.table))
    measures = json.loads((folder / "fork.json").read_text(encoding="utf-8"))["measures"]
    if measures and not any(m["higher"] or m["lower"] for m in measures.values()):
        console.print("The change made no difference to any node.")
    rows = [f"{count:,} of {name}" for name, count in ending.equal_rows.items() if count]
    if rows:
        console.print(f"Before {fork.at_s:g} s all rows are equal: {', '.join(rows)}.")
    for warning in warnings_of([folder]):
        terminal.err().warn(warning)
    console.print(Text("results in ") + Text(str(folder), style="bold"))
