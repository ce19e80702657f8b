"""Random churn: an on-off process with exponential periods."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from netsim.registry import Duration, Recurs
from netsim.rng import Streams
from netsim.topology.churn import Churn, Periods
from netsim.units import to_ns


class Exponential(Churn):
    """Exponential times on and off.

    At every time, also at the start, a node is on with probability mean_on_s / (mean_on_s +
    mean_off_s); the rest of its first period is exponential: the process is stationary from time 0
    on.

    Attributes
    ----------
    mean_on_s
        Mean time for which a node is on.
    mean_off_s
        Mean time for which it is off.
    """

    kind: Literal["exponential"] = "exponential"
    mean_on_s: Annotated[Duration, Recurs("switches", per_node=True)]
    mean_off_s: Annotated[Duration, Recurs("switches", per_node=True)]

    def periods(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Periods] | None:
        share_on = self.mean_on_s / (self.mean_on_s + self.mean_off_s)

        def life(node: int) -> Periods:
            on = streams.uniform("churn/start", node) < share_on
            return Periods(on, self._switches(node, on, streams))

        return [life(node) for node in nodes]

    def _switches(self, node: int, on: bool, streams: Streams) -> Iterator[int]:
        time_ns, number = 0, 0
        while True:
            mean_s = self.mean_on_s if on else self.mean_off_s
            time_ns += max(1, to_ns(mean_s * streams.exponential("churn", node, number)))
            yield time_ns
            on, number = not on, number + 1
