"""The same power all the time."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from netsim.devices.energy.harvest import Harvest, Piece
from netsim.registry import NonNegative, Plausible
from netsim.rng import Streams


class Constant(Harvest):
    """A constant power: a node that draws more than that is on for harvested over drawn power.

    Attributes
    ----------
    power_w
        Power that each node harvests.
    """

    kind: Literal["constant"] = "constant"
    power_w: Annotated[NonNegative, Plausible(most=1e4, why="it is in watt")]

    def pieces(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Iterator[Piece]] | None:
        return [iter((Piece(None, self.power_w),)) for _ in nodes]
