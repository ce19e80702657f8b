"""Nodes are off for a while in every period, each from a phase of its own."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from netsim.registry import Duration, Recurs
from netsim.rng import Streams
from netsim.topology.churn import Churn, Periods
from netsim.units import to_ns


class Starting(Churn):
    """On for `on_s`, off for `off_s`, and so on.

    Attributes
    ----------
    on_s, off_s : float
        In s.
    """

    kind: Literal["starting"] = "starting"
    on_s: Annotated[Duration, Recurs("switches", per_node=True)] = 60.0
    off_s: Annotated[Duration, Recurs("switches", per_node=True)] = 10.0

    def periods(self, nodes: Sequence[int], streams: Streams, folder: Path | None) -> list[Periods]:
        """Return the state of each node at time 0, and the times at which it changes."""
        return [self._periods(streams.uniform("churn/starting", node)) for node in nodes]

    def _periods(self, phase: float) -> Periods:
        passed_s = phase * (self.on_s + self.off_s)
        on = passed_s < self.on_s
        first_s = (self.on_s if on else self.on_s + self.off_s) - passed_s
        return Periods(on, self._switches(on, max(1, to_ns(first_s))))

    def _switches(self, on: bool, time_ns: int) -> Iterator[int]:
        while True:
            yield time_ns
            on = not on
            time_ns += to_ns(self.on_s if on else self.off_s)
