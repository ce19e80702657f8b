"""The command `netsim tune`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from netsim.console import terminal
from netsim.console.options import (
    Components,
    DataDir,
    Debug,
    Device,
    Quiet,
    ScenarioArgument,
    Sets,
    assignments,
)

if TYPE_CHECKING:
    from rich.table import Table

    from netsim.campaign.tuning import Measurement

ALSO_CALLED = ("benchmark", "calibrate", "autotune")


def command(
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
        with terminal.loading(quiet):
            from netsim.backends import route_tables
            from netsim.campaign import tuning
            from netsim.console.checking import checked
            from netsim.engine import runner
            from netsim.errors import ScenarioError
            from netsim.scenario.kinds import kinds_of

        changes = [*(sets or []), *assignments(device=device, data=data)]
        draft, valid = checked(scenario, changes, {}, kinds_of(components or ()), None, False)
        path = out or route_tables.user_table()
        route_tables.read_measured(path)  # a file that can't be kept fails before the measuring
        found = tuning.tune(runner.build(valid, draft.path))
        try:
            tuning.write_table(found, path)
        except OSError as error:
            raise ScenarioError(f"--out {path}: cannot be written: {error.strerror}") from error
        if quiet:
            return
        console = terminal.out()
        console.print("us of one node's job, and how many times faster than sequential")
        for measurement in found:
            console.print(_timings(measurement))
        console.print(Text("kept in ") + Text(str(path), style="bold"))


def _timings(found: "Measurement") -> "Table":
    """The times that were measured for one model."""
    from rich import box
    from rich.table import Table

    lanes = f"{found.route.lanes} in a stacked call"
    title = f"{found.signature}: {found.nodes} nodes, {lanes}"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    ways = ("native", "stacked", "sequential")
    table.add_column("job")
    for way in ways:
        table.add_column(way, justify="right")
    table.add_column("chosen")
    for purpose, seconds in found.seconds.items():
        base = seconds["sequential"]
        cells = (
            f"{1e6 * seconds[w]:,.0f} ({base / seconds[w]:.2f})" if w in seconds else "-"
            for w in ways
        )
        table.add_row(purpose, *cells, getattr(found.route, purpose))
    return table
