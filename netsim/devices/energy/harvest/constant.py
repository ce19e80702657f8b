"""A constant power."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from netsim.devices.energy.harvest import Harvest, Piece, Power
from netsim.rng import Streams


class Constant(Harvest):
    """A constant power: a node that draws more is on for the share harvested over drawn power.

    Attributes
    ----------
    power_w
        Power that each node harvests.
    """

    kind: Literal["constant"] = "constant"
    power_w: Power

    def pieces(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Iterator[Piece]] | None:
        return [iter((Piece(None, self.power_w),)) for _ in nodes]
