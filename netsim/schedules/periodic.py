"""Every node wakes periodically, by its own clock."""

from typing import Annotated, Literal

from netsim.registry import Duration, Fraction, Plausible, Recurs
from netsim.rng import Streams
from netsim.schedules import Clock, Schedule
from netsim.schedules._own_clock import OwnClock


class Periodic(Schedule):
    """A wake-up every `period_s`, at a random phase.

    Attributes
    ----------
    period_s
        Virtual time between two wake-ups of a node.
    drift
        Greatest relative difference between a node's period and `period_s`: 0.01 spreads periods
        uniformly over +- 1 %.
    """

    schedule: Literal["periodic"] = "periodic"
    period_s: Annotated[Duration, Recurs("wake-ups", per_node=True), Plausible(in_run=True)]
    drift: Fraction = 0.0

    def mean_interval_s(self, nodes: int) -> float:
        return self.period_s

    def clock(self, streams: Streams, nodes: int) -> Clock:
        def intervals_s(node: int, counts: range) -> list[float]:
            offset = 2.0 * streams.uniform("drift", node) - 1.0
            period_s = self.period_s * (1.0 + self.drift * offset)
            phase_s = streams.uniform("phase", node) * self.period_s
            return [phase_s if count == 1 else period_s for count in counts]

        return OwnClock(nodes, intervals_s)
