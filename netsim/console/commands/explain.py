"""The command `netsim explain`: limits of a run, in words and numbers."""

from pathlib import Path
from typing import Annotated

import typer

from netsim.console import terminal

ALSO_CALLED = ("why", "analyse", "analyze", "diagnose", "inspect")


def command(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run's folder, finished or not, or one above.")
    ],
    node: Annotated[
        int | None,
        typer.Option(min=0, metavar="ID", help="Tell what happened to this node instead."),
    ] = None,
    queries: Annotated[
        bool, typer.Option(help="Print below each line the query that gives its numbers.")
    ] = False,
) -> None:
    """Name the limits of a run, and the nodes that starved, in words and numbers."""
    from netsim.campaign.sweep_results import require_run
    from netsim.recording.reader import begun_folders
    from netsim.recording.summary import left_out
    from netsim.views import explain
    from netsim.views.render.terminal import say

    require_run(run)
    console = terminal.out()
    for number, folder in enumerate(begun_folders(run)):
        if number:
            console.print()
        say(explain.gather(folder, node), console, queries)
    for line in left_out(run, only_to_come=True):
        terminal.err().print(line)
