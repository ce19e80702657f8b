"""Trajectories from the movement files of other simulators."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from netsim.errors import DataError
from netsim.topology.mobility._ways import Knot, Ways
from netsim.traces.files import Text
from netsim.traces.geodesy import degrees_problem
from netsim.traces.moments import file_time_of_start
from netsim.traces.node_ids import note_absent
from netsim.units import SPEED_OF_LIGHT_M_PER_S, to_ns

JUMP_S = 1e-9
"""Time of a node that is put elsewhere at once [s]; no speed is taken from it."""

Leg = tuple[float, float, float]
"""Time [s] and place [m, m] of a node."""

Start = Annotated[float | None, Field(allow_inf_nan=False)]
"""Time of a file at which a run starts [s]; None: that of its first row."""


def straight_ways(found: Sequence[Sequence[Leg]], start_m: NDArray[np.float64], where: str) -> Ways:
    """Straight ways through the places of a file.

    Parameters
    ----------
    found : sequence of sequence of Leg
        By node, by ascending time; times before 0 count, too. A node stands at its first place
        until then, and at its last from then on; nodes beyond the last one stay where they are
        placed.
    start_m : (N, 2) float64
        Where the scenario places nodes.
    where : str
        The beginning of what is told of the file.

    Raises
    ------
    DataError
        If a node goes faster than light.
    """
    absent = [node for node in range(len(start_m)) if not (node < len(found) and found[node])]
    note_absent(where, absent, len(start_m), "stay where they are placed")
    fastest, knots = 0.0, []
    for node, (x, y) in enumerate(start_m.tolist()):
        mine = _from_0(found[node]) if node < len(found) and found[node] else [(0.0, x, y)]
        for (t, x_m, y_m), (then, next_x, next_y) in pairwise(mine):
            moved_m = math.hypot(next_x - x_m, next_y - y_m)
            # after a jump links are looked at anew as soon as if nodes walked
            speed = moved_m / (then - t) if then - t > 2 * JUMP_S else min(moved_m, 1.0)
            if speed > SPEED_OF_LIGHT_M_PER_S:
                raise DataError(
                    f"{where}: moves node {node} by {moved_m:.4g} m in {then - t:.4g} s, faster "
                    "than light; are its times in ms, or its places in another unit than m?"
                )
            fastest = max(fastest, speed)
        knots.append(iter(_knots(mine)))
    return Ways(knots, fastest)


def _from_0(mine: Sequence[Leg]) -> Sequence[Leg]:
    """The legs from time 0 on, the first of them cut where it is then."""
    if mine[0][0] >= 0.0:
        return mine
    before = max(k for k, leg in enumerate(mine) if leg[0] < 0.0)
    t, x, y = mine[before]
    if before + 1 == len(mine):
        return [(0.0, x, y)]
    then, next_x, next_y = mine[before + 1]
    part = -t / (then - t)
    first = (0.0, x + part * (next_x - x), y + part * (next_y - y))
    return [first, *mine[before + 1 :]]


def _knots(mine: Sequence[Leg]) -> list[Knot]:
    found: list[Knot] = [(0, *mine[0][1:])]
    for t, x, y in mine:
        time_ns = to_ns(t)
        if time_ns <= found[-1][0] and found[-1][1:] != (x, y):
            time_ns = found[-1][0] + 1
        found.append((time_ns, x, y))
    return found


def ways_in_metres(
    text: Text,
    found: Sequence[Sequence[Leg]],
    start_m: NDArray[np.float64],
    start_s: float | None,
    words: Sequence[str] = (),
    span: tuple[float, float] | None = None,
) -> Ways:
    """The ways of a file whose places are in metres, from its first row or from a time on.

    Parameters
    ----------
    text : Text
    found : sequence of sequence of Leg
        By node, in times of the file.
    start_m : (N, 2) float64
    start_s : float or None
        When in the file the run starts; None: at the first row of all.
    words : sequence of str
        Places as the file writes them, if they may be degrees.
    span : (float, float) or None
        Times of its first and last row; None: those of `found`.

    Raises
    ------
    DataError
        If places look like degrees.
    """
    places = np.array([leg[1:] for mine in found for leg in mine], dtype=np.float64)
    problem = degrees_problem(places.reshape(-1, 2), words)
    if problem is not None:
        raise text.error(
            f"{problem}; bring degrees as a table with the columns node, t_s, lat, lon "
            '([mobility] kind = "trace"), and if these are metres, subtract one place from all: '
            "only distances count"
        )
    times = span or [leg[0] for mine in found for leg in mine]
    begins_s = file_time_of_start(text.where, min(times), max(times), start_s, "nodes stand still")
    shifted = [[(t - begins_s, x, y) for t, x, y in mine] for mine in found]
    return straight_ways(shifted, start_m, text.where)
