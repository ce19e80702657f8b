"""The command `netsim tune`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from netsim.console import terminal
from netsim.console.options import (
    Components,
    DataDir,
    Device,
    Quiet,
    ScenarioArgument,
    Sets,
    assignments,
)

if TYPE_CHECKING:
    from netsim.campaign.tuning import Measurement
    from netsim.views import Printed

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
) -> None:
    """Measure which backend suits a scenario's models here; later runs go by it."""
    with terminal.loading(quiet):
        from netsim.backends import route_tables
        from netsim.campaign import tuning
        from netsim.console.checking import checked
        from netsim.engine import runner
        from netsim.errors import ScenarioError
        from netsim.scenario.kinds import kinds_of
        from netsim.views.render.terminal import WrappedTable

    changes = [*(sets or []), *assignments(device=device, data=data)]
    draft, valid = checked(scenario, changes, {}, kinds_of(components or ()), None, False)
    path = out or route_tables.user_table()
    route_tables.read_measured(path)  # a file that can't be kept fails before the measuring
    if path.is_dir():
        raise ScenarioError(f"--out {path}: is a folder; name a file, as {path / 'routes.toml'}")
    found = tuning.tune(runner.build(valid, draft.path))
    if not found:
        raise ScenarioError(f"{draft.path}: no node trains a model: there is nothing to measure")
    try:
        tuning.write_table(found, path)
    except OSError as error:
        raise ScenarioError(f"--out {path}: cannot be written: {error.strerror}") from error
    if quiet:
        return
    console = terminal.out()
    console.print("us of one node's job, and how many times faster than sequential")
    for measurement in found:
        console.print(WrappedTable(_timings(measurement)))
    console.print(Text("kept in ") + Text(str(path), style="bold"))


def _timings(found: "Measurement") -> "Printed":
    """The times that were measured for one model."""
    from netsim.views import Column, Printed

    columns = []
    for way in ("native", "stacked", "sequential"):
        of_way = [
            f"{1e6 * s[way]:,.0f} ({s['sequential'] / s[way]:.2f})" if way in s else "-"
            for s in found.seconds.values()
        ]
        columns.append(Column(way, of_way))
    columns.append(Column("chosen", [getattr(found.route, job) for job in found.seconds]))
    lanes = f"{found.route.lanes} in a stacked call"
    note = f"{found.signature}: {found.nodes} nodes, {lanes}"
    return Printed({"job": list(found.seconds)}, columns, note)
