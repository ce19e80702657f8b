"""Energy that comes in a shower now and then."""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Literal

from netsim.devices.energy.harvest import Harvest, Piece
from netsim.registry import NonNegative, Positive
from netsim.rng import Streams
from netsim.units import to_ns


class Starting(Harvest):
    """A power for a while, at times that are exponential apart.

    Attributes
    ----------
    power_w : float
        During a shower [W].
    lasts_s : float
        Length of a shower [s].
    mean_pause_s : float
        Between two of them, on average [s].
    """

    kind: Literal["starting"] = "starting"
    power_w: NonNegative = 0.1
    lasts_s: Positive = 1.0
    mean_pause_s: Positive = 5.0

    def pieces(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Iterator[Piece]]:
        """Powers by node, from time 0 on; see `netsim.devices.energy.harvest.Harvest`."""
        return [self._showers(node, streams) for node in nodes]

    def _showers(self, node: int, streams: Streams) -> Iterator[Piece]:
        now_ns = 0
        for number in count():
            pause_s = self.mean_pause_s * streams.exponential("harvest/starting", node, number)
            now_ns += max(1, to_ns(pause_s))
            yield Piece(now_ns, 0.0)
            now_ns += max(1, to_ns(self.lasts_s))
            yield Piece(now_ns, self.power_w)
