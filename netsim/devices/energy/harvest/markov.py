"""Good and bad periods: a chain of two states, slot by slot.

Source: Ho, Tran, Chin, "Markovian models for harvested energy in wireless communications", IEEE
ICCS 2010. The chain is stationary from time 0 on: good with probability g / (g + b), where g is
`bad_to_good` and b `good_to_bad`; good times last 1 / b slots on average.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from netsim.devices.energy.harvest import Harvest, Piece, Power, slot_pieces
from netsim.registry import Duration, Recurs
from netsim.rng import Streams
from netsim.units import to_ns

Chance = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class Markov(Harvest):
    """`good_w` in good slots and `bad_w` in bad ones; each node has a chain of its own.

    Attributes
    ----------
    good_w
        Power in a good slot.
    bad_w
        Power in a bad slot.
    good_to_bad
        Probability that a bad slot follows a good one.
    bad_to_good
        Probability that a good slot follows a bad one.
    slot_s
        Length of a slot.
    """

    kind: Literal["markov"] = "markov"
    good_w: Power
    bad_w: Power = 0.0
    good_to_bad: Chance
    bad_to_good: Chance
    slot_s: Annotated[Duration, Recurs("slots", per_node=True)] = 1.0

    def pieces(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Iterator[Piece]] | None:
        return [slot_pieces(self._powers(node, streams), to_ns(self.slot_s)) for node in nodes]

    def _powers(self, node: int, streams: Streams) -> Iterator[float]:
        share = self.bad_to_good / (self.bad_to_good + self.good_to_bad)
        good = streams.uniform("harvest/start", node) < share
        for slot in count():
            yield self.good_w if good else self.bad_w
            leaves = self.good_to_bad if good else self.bad_to_good
            good ^= streams.uniform("harvest/markov", node, slot) < leaves
