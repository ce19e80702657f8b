"""The table that `netsim tune` prints."""

from rich import box
from rich.table import Table

from netsim.campaign import tuning


def timings(found: tuning.Measurement) -> Table:
    """Return the table of the times that `netsim tune` measured for one model."""
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
