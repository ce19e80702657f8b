"""Spread nodes over a rectangle."""

import math

from netsim.errors import ScenarioError


def rectangle(rows: int | None, nodes: int) -> tuple[int, int]:
    """Rows and columns of a grid of so many nodes.

    Raises
    ------
    ScenarioError
        If the rows that are asked for do not divide the nodes, or none are and only one would.
    """
    if rows is None:
        rows = next(r for r in range(math.isqrt(nodes), 0, -1) if nodes % r == 0)
        if rows == 1 and nodes > 3:
            raise ScenarioError(
                f"[topology]: {nodes} nodes fill no rectangle but a single row; take another "
                "[nodes] count, or rows = 1 if that is meant"
            )
    if nodes % rows:
        divisors = ", ".join(str(r) for r in range(1, nodes + 1) if nodes % r == 0)
        raise ScenarioError(
            f"[topology] rows = {rows}: {nodes} nodes do not fill so many rows; take one of "
            f"{divisors}"
        )
    return rows, nodes // rows
