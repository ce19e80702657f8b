"""The command `netsim verify`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from netsim.console import terminal
from netsim.console.options import Components, DataDir, assignments
from netsim.errors import ScenarioError, one_line

if TYPE_CHECKING:
    from netsim.campaign.verify import Report

ALSO_CALLED = ("replay", "reproduce", "rerun", "checksum")
FAILURE = terminal.THE_RUN


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN")],
    rerun: Annotated[bool, typer.Option(help="Also play it again and compare.")] = True,
    components: Components = None,
    data: DataDir = None,
) -> None:
    """Check that a run's files are as it left them, and that it can be played again."""
    from netsim.campaign import verify
    from netsim.scenario.kinds import kinds_of
    from netsim.terminal import progress

    folders = verify.run_folders(run)
    modules = kinds_of(components or ())
    same, unchecked = True, []
    for folder in dict.fromkeys((run, *verify.outer_folders(run, folders), *folders)):
        try:
            if folder not in folders:
                same &= _print_report(verify.verify_files(folder, folders))
                continue
            with progress.watched(terminal.err(), quiet=not rerun) as watch:
                report = verify.verify(folder, modules, assignments(data=data), rerun, watch)
            same &= _print_report(report)
        except ScenarioError as error:
            unchecked += str(error).splitlines()
    if unchecked and same:
        raise ScenarioError("\n".join(unchecked))
    if unchecked:
        terminal.problems(unchecked)
    if not same:
        raise typer.Exit(terminal.FAILED)


def _print_report(report: "Report") -> bool:
    """Print what was found of a folder; whether all is as it was."""
    if not (report.same or report.notes or report.differences):
        return True
    console = terminal.out()
    console.print(Text(one_line(report.folder), style="bold"))
    for texts, word, style in (
        (report.same, "same", "green"),
        (report.notes, "another", "yellow"),
        (report.differences, "differs", "bold red"),
    ):
        for text in texts:
            line = " ".join(text.splitlines())  # names in a run folder may hold ends of lines
            console.print(Text(f"  {word:<11}", style=style) + Text(line))
    return not report.differences
