"""Slots in which energy arrives by chance, each independent of the others.

Source: the usual arrivals of energy-harvesting communication, e.g. Yang and Ulukus, "Optimal packet
scheduling in an energy harvesting communication system", IEEE Trans. Commun. 2012, in slots.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Annotated, Literal

from netsim.devices.energy.harvest import Harvest, Piece, Power, slot_pieces
from netsim.registry import Duration, Fraction, Recurs
from netsim.rng import Streams
from netsim.units import to_ns


class Bernoulli(Harvest):
    """`power_w` in a slot with a probability, else nothing; drawn anew for each node and slot.

    Attributes
    ----------
    power_w
        Power in a slot in which there is any.
    probability
        Probability of such a slot.
    slot_s
        Length of a slot.
    """

    kind: Literal["bernoulli"] = "bernoulli"
    power_w: Power
    probability: Fraction
    slot_s: Annotated[Duration, Recurs("slots", per_node=True)] = 1.0

    def pieces(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Iterator[Piece]] | None:
        return [slot_pieces(self._powers(node, streams), to_ns(self.slot_s)) for node in nodes]

    def _powers(self, node: int, streams: Streams) -> Iterator[float]:
        for slot in count():
            arrives = streams.uniform("harvest/bernoulli", node, slot) < self.probability
            yield self.power_w * arrives
