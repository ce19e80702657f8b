"""Ways of the nodes as BonnMotion's movement file: `[mobility] kind = "bonnmotion"`."""

from pathlib import Path

from netsim.export.formats import Layout, seconds

SUFFIX = ".movements"


def write(layout: Layout, path: Path) -> None:
    """Write one line a node, `t x y t x y ...`: its turns, and where it is at the end."""
    lines = [" ".join(f"{seconds(t)} {x!r} {y!r}" for t, x, y in knots) for knots in layout.knots()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
