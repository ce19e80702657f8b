"""Nothing ends before it was sent, or arrives faster than rate and distance allow."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.channels.rate.minstrel import Minstrel
from netsim.engine.invariants import Invariant
from netsim.messaging.over_the_air import Analogue
from netsim.recording.parquet_parts import Rows
from netsim.recording.schema import OUTCOMES
from netsim.units import NS_PER_S, SPEED_OF_LIGHT_M_PER_S
from netsim.world.builder import World
from netsim.world.placement import distances

HIGHEST_SNR = 1e12
"""Linear; no link is better, but where the mean SNR of one is at the start."""

ABOVE_START = 1e10
"""As many times that mean SNR no link has, by fading or because its ends come closer."""

ROUNDING_NS = 10
"""Times are rounded to nanoseconds, some of them several times."""

ROUNDING = 1e-6
"""Relative, of times that are sums over packets."""


class Causality(Invariant):
    """Check of the time that each message has taken, against the least that it could take.

    Not where the scenario changes on its way.
    """

    def watch(self) -> None:
        world = self.run.world
        if world.scenario.changes:
            return
        self._distance_m = None
        self._peak_bps = math.inf
        radio = world.scenario.radio
        if radio is not None:
            self._peak_bps = peak_bps(world)
            if radio.propagation_delay:
                self._distance_m = distances(world.positions_m, world.track, world.heights_m)
        self._wired = self.run.is_wired
        self.run.recorder.watch_messages(self._rows)

    def _rows(self, rows: Rows, kinds: Sequence[str]) -> None:
        sent_ns, done_ns = rows["t_sent_s"], rows["t_done_s"]
        took_ns = done_ns - sent_ns
        self._compare(rows, took_ns, np.zeros(len(took_ns)))
        arrived = rows["outcome"] == OUTCOMES.index("delivered")
        wired = self._wired[rows["src"]] | self._wired[rows["dst"]]
        analogue = is_analogue(rows, kinds)
        least_ns = np.zeros(len(took_ns))
        over_air = arrived & ~wired & ~analogue
        least_ns[over_air] = rows["bits"][over_air] / self._peak_bps * NS_PER_S
        for i in np.flatnonzero(arrived & wired):
            least_ns[i] = self._by_wire(rows, int(i))
        if self._distance_m is not None:
            for i in np.flatnonzero(over_air):
                src, dst = int(rows["src"][i]), int(rows["dst"][i])
                least_ns[i] += self._propagation_ns(src, dst, int(done_ns[i]))
        self._compare(rows, took_ns, least_ns * (1 - ROUNDING) - ROUNDING_NS)

    def _propagation_ns(self, src: int, dst: int, done_ns: int) -> float:
        """Propagation [ns] of what arrives at an instant, over the distance when it was sent."""
        assert self._distance_m is not None
        took_ns = 0.0
        for _ in range(2):  # fast nodes are elsewhere by then; the second guess is good to 1e-8
            metres = self._distance_m(src, dst, max(0, done_ns - round(took_ns)))
            took_ns = metres / SPEED_OF_LIGHT_M_PER_S * NS_PER_S
        return took_ns

    def _by_wire(self, rows: Rows, i: int) -> float:
        """Least time [ns] of a message that has the wires for itself."""
        wiring = self.run.world.wiring
        assert wiring is not None
        route = wiring.route(int(rows["src"][i]), int(rows["dst"][i]))
        sent_ns, bits = int(rows["t_sent_s"][i]), float(rows["bits"][i])
        ends = [wiring.capacity[b].finish_ns(sent_ns, bits) for b in route.bottlenecks]
        return max(ends, default=sent_ns) - sent_ns + route.latency_ns

    def _compare(
        self, rows: Rows, took_ns: NDArray[np.int64], least_ns: NDArray[np.float64]
    ) -> None:
        early = np.flatnonzero(took_ns < least_ns)
        if len(early):
            i = int(early[0])
            src, dst, bits = (int(rows[name][i]) for name in ("src", "dst", "bits"))
            what = f"a message of {bits} bit from node {src} has taken less than it can, in ns"
            self.broken(f"node {dst}", int(rows["t_done_s"][i]), what, took_ns[i], least_ns[i])


def peak_bps(world: World) -> float:
    """The highest rate of a world's radio [bit/s]."""
    radio, budget = world.scenario.radio, world.budget
    assert radio is not None
    assert budget is not None
    if isinstance(radio.rate, Minstrel):
        return max(radio.rate.rates_bps(radio.bandwidth_hz))
    strongest, _ = budget.strongest_link(world.neighbours)
    highest = max(HIGHEST_SNR, ABOVE_START * strongest)
    return float(radio.rate.bits_per_s(highest, radio.bandwidth_hz))


def is_analogue(rows: Rows, kinds: Sequence[str]) -> NDArray[np.bool_]:
    """Mask of the messages whose values are sent as symbols, not as bits."""
    names, classes = set(), [Analogue]
    while classes:
        one = classes.pop()
        names.add(one.__name__)
        classes += one.__subclasses__()
    return np.isin(rows["kind"], [i for i, kind in enumerate(kinds) if kind in names])
