"""A message on its way, with what the network and its receivers need to know of it.

There is one envelope for all receivers of one sending. It is what a receiver keeps until the
algorithm asks for the message; only then does the receiver get Refs of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from netsim.messaging.message import Message, Received, handed_to
from netsim.recording.traffic_stats import Ages
from netsim.recording.uses import Arrival
from netsim.units import NS_PER_S

_received = partial(tuple.__new__, Received)
"""`Received` of a tuple of all its fields, in half the time; there is one for every message."""


@dataclass(slots=True, eq=False)
class Envelope:
    """One message as it was sent, the same for all of its receivers.

    Attributes
    ----------
    message : Message
        With the sender's Refs.
    src : int
        The sender.
    bits : int
        Size of the message, without the headers that a link adds.
    round : int
        The sender's wake-up number.
    sent_ns : int
        When the algorithm sent it.
    ages : Ages or None
        Is told the message's age whenever it is handed over; None: its age is not counted.
    tag : object
        Key of the exchange that it belongs to; None outside exchanges.
    request : tuple of int or None
        (asking node, serial) of the request that this is, or that this answers.
    reply : bool
        Whether it answers `request`.
    patience_ns : int or None
        How long it may wait for radios or wires to become free; None: as long as it takes.
    arrived : numpy.ndarray of bool or None
        Which packets arrived, in the copy that one receiver of a partial message keeps.
    arrivals : dict of int to Arrival
        By receiver, the record of what becomes of its values there.
    """

    message: Message
    src: int
    bits: int
    round: int
    sent_ns: int
    ages: Ages | None = None
    tag: Any = None
    request: tuple[int, int] | None = None
    reply: bool = False
    patience_ns: int | None = None
    arrived: Any = None
    arrivals: dict[int, Arrival] = field(default_factory=dict)

    def in_part(self, arrived: Any) -> Envelope:
        """A copy for the receiver at which only some packets arrived; `arrived` is their mask."""
        return replace(self, arrived=arrived)

    def came_late(self, node: int) -> None:
        """Note that it reached `node` after what waited for it there had ended."""
        arrival = self.arrivals.get(node)
        if arrival is not None:
            arrival.is_late = True

    def became(self, node: int, fate: str) -> None:
        """Note what became of it at `node`, where no algorithm has ever got it."""
        arrival = self.arrivals.get(node)
        if arrival is not None and arrival.handed_ns is None:
            arrival.settled(fate)

    def handed_to(self, node: int, now_ns: int) -> Received[Any]:
        """The message as the algorithm of `node` gets it at `now_ns`, with its age then."""
        message, sent_ns = self.message, self.sent_ns
        age_ns = now_ns - sent_ns
        if self.ages is not None:
            self.ages.add(type(message).__name__, age_ns)
        arrival = self.arrivals.get(node)
        if arrival is not None:
            arrival.handed(now_ns)
        mine = handed_to(message, node, arrival)
        sent_s, age_s = sent_ns / NS_PER_S, age_ns / NS_PER_S
        return _received((mine, self.src, sent_s, age_s, self.round, self.arrived))
