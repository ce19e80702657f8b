"""The command `netsim explain`: limits of a run, in words and numbers."""

from pathlib import Path

from netsim.console import terminal
from netsim.errors import one_line
from netsim.recording import played
from netsim.views.explaining import Finding, RunTables, explained, limits
from netsim.views.explaining.findings import OUTLOOK
from netsim.views.explaining.node_story import story

_NOTHING = (
    "Nothing stands out: no message cause, node or wait took 5 % of anything, and neither training "
    "nor airtime set the pace. The run went as fast as its schedule let it."
)


def explain(path: Path, node: int | None, queries: bool) -> None:
    """Print what limited the runs at a path, or the story of one node.

    Parameters
    ----------
    path : Path
        A run's folder, or one above several.
    node : int or None
        None: of the whole network.
    queries : bool
        Whether to print the query below each line.

    Raises
    ------
    ScenarioError
        If there is no run, none that left a log, or no such node.
    """
    for number, folder in enumerate(played.folders(path)):
        if number:
            terminal.out().print()
        if node is None:
            run, found = explained(folder)
            _head(run)
            if not limits(found):
                _print(_NOTHING)
        else:
            run = RunTables(folder)
            found = story(run, node)
            _head(run, f"node {node}")
        _lines(found, queries)
        if queries:
            _print("\nThe queries are Python. Run these lines before them, once:\n")
            terminal.out().print_whole(*run.loading.rstrip().splitlines())


def _head(run: RunTables, whose: str = "") -> None:
    of, state = run.played, run.played.state
    ended = "" if state == "done" else f"; the run is not done ({state}): as far as it came"
    about = f"{len(run.nodes)} nodes, {of.virtual_s:,.6g} virtual s, {run.schedule}{ended}"
    _print(one_line(f"{of.folder}: {of.label}" + (f", {whose}" if whose else "")))
    _print(f"{one_line(about)}\n")


def _lines(found: list[Finding], queries: bool) -> None:
    console = terminal.out()
    for number, finding in enumerate(found, 1):
        mark = "At most:" if finding.rank == OUTLOOK else f"{number}."
        console.print_item(mark, one_line(finding.text))
        if queries:
            console.print_whole(*(f"    {query.code}" for query in finding.queries))


def _print(text: str) -> None:
    terminal.out().print(text)
