"""Ways of the nodes as CSV: `[mobility] kind = "trace"`."""

from pathlib import Path

from netsim.export.formats import Layout, seconds

SUFFIX = ".positions.csv"


def write(layout: Layout, path: Path) -> None:
    """Write a row `node,t_s,x_m,y_m` for every turn of every node."""
    rows = [
        f"{node},{seconds(t)},{x!r},{y!r}"
        for node, knots in enumerate(layout.knots())
        for t, x, y in knots
    ]
    path.write_text("\n".join(["node,t_s,x_m,y_m", *rows]) + "\n", encoding="utf-8")
