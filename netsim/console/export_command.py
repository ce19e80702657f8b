"""The command line of `netsim export`."""

from pathlib import Path
from typing import Annotated

import typer

from netsim.console import terminal
from netsim.console.options import Components, DataDir, Debug

HELP = "Write the events of a run, or its network, for other programs."


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN")],
    wanted: Annotated[
        str | None,
        typer.Option("--as", metavar="FORMAT", help="timeline, messages-csv, gains, ns2, ..."),
    ] = None,
    simulator: Annotated[
        str | None,
        typer.Option("--for", metavar="SIMULATOR", help="Its messages, too, for ns3 to replay."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="File or folder to write \\[NAME and an ending]."),
    ] = None,
    step: Annotated[
        float, typer.Option(metavar="SECONDS", help="Time between samples, where there are any.")
    ] = 1.0,
    components: Components = None,
    data: DataDir = None,
    debug: Debug = False,
) -> None:
    """Write files for other programs.

    Parameters
    ----------
    run, wanted, simulator, out, step, components, data
        See `exporting.export`.
    debug : bool
        Show tracebacks.
    """
    with terminal.reported(debug):
        from netsim.console import exporting

        path = exporting.export(run, (wanted, simulator), out, step, components or (), data)
        terminal.out().print(f"wrote {path}", markup=False)
