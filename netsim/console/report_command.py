"""The command line of `netsim report`."""

from pathlib import Path
from typing import Annotated

import typer

from netsim.console import terminal
from netsim.console.options import Components, DataDir, Debug

HELP = "Write a page on which one sees what happened: one HTML file, for any browser, offline."


def report(
    path: Annotated[
        Path, typer.Argument(metavar="RUN|SWEEP", help="Its folder, whether it has ended or not.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page \\[report.html in the folder].")
    ] = None,
    components: Components = None,
    data: DataDir = None,
    debug: Debug = False,
) -> None:
    """Write the page of a run or a sweep.

    Parameters
    ----------
    path, out, components, data
        See `reporting.report`.
    debug : bool
        Show tracebacks.
    """
    with terminal.reported(debug):
        from netsim.console import reporting

        written = reporting.report(path, out, components or (), data)
        terminal.out().print(f"wrote {written}", markup=False)
