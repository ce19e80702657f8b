"""Ways of the nodes as an ns-2 movement file: `[mobility] kind = "ns2"`."""

import math
from itertools import pairwise
from pathlib import Path

from netsim.export.formats import Layout, seconds

SUFFIX = ".ns_movements"


def write(layout: Layout, path: Path) -> None:
    """Write X_, Y_ and Z_ of every node, and a `setdest` for every straight leg."""
    lines, turns = [], []
    for node, knots in enumerate(layout.knots()):
        _, x, y = knots[0]
        lines += [
            f"$node_({node}) set {axis}_ {v!r}" for axis, v in zip("XYZ", (x, y, 0.0), strict=True)
        ]
        for (t, x, y), (then, next_x, next_y) in pairwise(knots):
            if (x, y) != (next_x, next_y):
                speed = math.hypot(next_x - x, next_y - y) / ((then - t) / 1e9)
                order = f'"$node_({node}) setdest {next_x!r} {next_y!r} {speed!r}"'
                turns.append((t, f"$ns_ at {seconds(t)} {order}"))
    lines += [line for _, line in sorted(turns, key=lambda turn: turn[0])]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
