"""The command `netsim explain`: limits of a run, in words and numbers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netsim.console import terminal
from netsim.console.options import Debug
from netsim.errors import one_line

if TYPE_CHECKING:
    from netsim.views.explaining import Evidence

ALSO_CALLED = ("why", "analyse", "analyze", "diagnose", "inspect")

_NOTHING = (
    "Nothing stands out: no message cause, node or wait took 5 % of anything, and neither training "
    "nor airtime set the pace. The run went as fast as its schedule let it."
)


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
    debug: Debug = False,
) -> None:
    """Name the limits of a run, and the nodes that starved, in words and numbers."""
    with terminal.reported(debug):
        from netsim.recording.reader import begun_folders
        from netsim.views.explaining import Evidence, explained, limits
        from netsim.views.explaining.findings import OUTLOOK
        from netsim.views.explaining.node_story import story

        console = terminal.out()
        for number, folder in enumerate(begun_folders(run)):
            if number:
                console.print()
            if node is None:
                tables, found = explained(folder)
                _print_head(tables)
                if not limits(found):
                    console.print(_NOTHING)
            else:
                tables = Evidence(folder)
                found = story(tables, node)
                _print_head(tables, f", node {node}")
            for place, finding in enumerate(found, 1):
                mark = "At most:" if finding.rank == OUTLOOK else f"{place}."
                console.print_item(mark, one_line(finding.text))
                if queries:
                    console.print_whole(*(f"    {query.code}" for query in finding.queries))
            if queries:
                console.print("\nThe queries are Python. Run these lines before them, once:\n")
                console.print_whole(*tables.loading.rstrip().splitlines())


def _print_head(run: "Evidence", whose: str = "") -> None:
    of, state = run.run, run.run.state
    ended = "" if state == "done" else f"; the run is not done ({state}): as far as it came"
    about = f"{len(run.nodes)} nodes, {of.end_s:,.6g} virtual s, {run.schedule}{ended}"
    terminal.out().print(one_line(f"{of.folder}: {of.label}{whose}"))
    terminal.out().print(f"{one_line(about)}\n")
