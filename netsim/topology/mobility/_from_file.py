"""Trajectories from the movement files of other simulators."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from netsim.topology.mobility._ways import Knot, Ways
from netsim.units import to_ns

JUMP_S = 1e-9
"""How long a node takes that is put elsewhere at once; no speed is taken from it."""

Leg = tuple[float, float, float]
"""When [s] a node is where [m, m]."""


def ways(found: Sequence[Sequence[Leg]], start_m: NDArray[np.float64]) -> Ways:
    """Straight ways through the places of a file.

    Parameters
    ----------
    found : sequence of sequence of Leg
        By node, by ascending time. A node stands at its first place until then, and at its last
        from then on; nodes beyond the last one stay where they are placed.
    start_m : (N, 2) float64
        Where the scenario places nodes.
    """
    fastest, knots = 0.0, []
    for node, (x, y) in enumerate(start_m.tolist()):
        mine = found[node] if node < len(found) and found[node] else [(0.0, x, y)]
        for (t, x_m, y_m), (then, next_x, next_y) in pairwise(mine):
            moved_m = math.hypot(next_x - x_m, next_y - y_m)
            # after a jump links are looked at anew as soon as if nodes walked
            speed = moved_m / (then - t) if then - t > 2 * JUMP_S else min(moved_m, 1.0)
            fastest = max(fastest, speed)
        knots.append(iter(_knots(mine)))
    return Ways(knots, fastest)


def _knots(mine: Sequence[Leg]) -> list[Knot]:
    found: list[Knot] = [(0, *mine[0][1:])]
    for t, x, y in mine:
        time_ns = to_ns(t)
        if time_ns <= found[-1][0] and found[-1][1:] != (x, y):
            time_ns = found[-1][0] + 1
        found.append((time_ns, x, y))
    return found
