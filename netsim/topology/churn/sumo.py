"""Nodes that are on while their vehicle is in SUMO's floating car data (`--fcd-output`).

The companion of `[mobility] kind = "sumo"`: vehicles and persons are nodes in order of appearance.
A node is on from the first time step with its vehicle to one step after the last; where it is
missing for more than a step and a half in between, it is off meanwhile.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

from netsim.registry import FilePath, Finite
from netsim.rng import Streams
from netsim.topology.churn import Churn, Periods
from netsim.traces.sumo_fcd import Mover, read_fcd
from netsim.units import to_ns

_GAP = 1.5
"""A vehicle that is not told of for more than so many time steps is away."""


class Sumo(Churn):
    """On while the vehicle is there; a node without a vehicle is always on.

    Attributes
    ----------
    path : str
        File that `sumo --fcd-output` has written; `.gz` is unpacked.
    start_s : float, optional
        Time of the file at which the run starts, as in `[mobility]`. Absent: that of its first time
        step.
    """

    kind: Literal["sumo"] = "sumo"
    path: FilePath
    start_s: Finite | None = None

    def periods(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Periods] | None:
        found = read_fcd(self.path, folder, "churn", max(nodes) + 1, self.start_s)
        return [
            _periods(found.movers[i], found.step_s)
            if i < len(found.movers)
            else Periods(True, iter(()))
            for i in nodes
        ]


def _periods(mover: Mover, step_s: float) -> Periods:
    times = [t for t, _, _ in mover.legs]
    return Periods(times[0] == 0, _switches(times, step_s))


def _switches(times: list[float], step_s: float) -> Iterator[int]:
    if times[0] > 0:
        yield to_ns(times[0])
    if step_s == float("inf"):  # a single time step: nothing says how long it lasts
        return
    for t, later in pairwise(times):
        if later - t > _GAP * step_s:
            yield to_ns(t + step_s)
            yield to_ns(later)
    yield to_ns(times[-1] + step_s)
