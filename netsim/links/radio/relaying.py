"""Relaying: a unicast to a node out of reach goes from node to node by the routing table.

Store and forward: a relay sends a message on when it has all of it, so M packets of t over h hops
take h M t, not the (M + h - 1) t of packets that follow each other through the relays. Every hop is
a message of its own to the radios: it waits for them, takes airtime and energy at its two ends, is
repeated by ARQ, and is lost where it is lost. A relay looks the next hop up when it sends: one that
is off, empty or out of contact breaks the way until the table is made anew.

A message that is of use in part is sent on with the packets that have come so far. Its time to live
counts from its sender on, its patience for radios to become free (`Node.ask`) at each relay anew.
In `messages/` it is one row, from its sender to its receiver, with the attempts, lost packets and
bits of all its hops; each hop is a row of `hops/`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.links.link import ARRIVED, OFF, OUTAGE, PARTIAL, PhysicalLink, Transmission
from netsim.links.radio.routes import Routes
from netsim.links.radio.table import Radio
from netsim.units import db_to_linear, linear_to_db

Done = Callable[[Transmission, str, Any], None]


@dataclass(slots=True)
class Journey:
    """A message on its way by relays, and what its hops have cost so far.

    Attributes
    ----------
    tx : Transmission
        From its sender to its receiver.
    arrived : (packets,) bool array or None
        Those that have come so far, of a message of which some were lost; None: all.
    hops, attempts, packets_lost, bits_transmitted : int
    weighted_snr : float
        Sum over attempts of their mean SNR, linear.
    measured : int
        Of so many attempts.
    """

    tx: Transmission
    arrived: NDArray[np.bool_] | None = None
    hops: int = 0
    attempts: int = 0
    packets_lost: int = 0
    bits_transmitted: int = 0
    weighted_snr: float = 0.0
    measured: int = 0

    def count(self, attempts: int, lost: int, snr_db: float | None, bits: int) -> None:
        """Add what a hop has cost.

        Parameters
        ----------
        attempts, lost : int
            Of packets.
        snr_db : float or None
            Their mean.
        bits : int
            Transmitted.
        """
        self.attempts += attempts
        self.packets_lost += lost
        self.bits_transmitted += bits
        if snr_db is not None:
            self.weighted_snr += attempts * db_to_linear(snr_db)
            self.measured += attempts

    def keep_packets(self, came: NDArray[np.bool_]) -> None:
        """Keep those packets that came over a hop, of those that were sent on."""
        if self.arrived is None:
            self.arrived = np.array(came)
        else:
            sent = np.flatnonzero(self.arrived)
            self.arrived = np.zeros_like(self.arrived)
            self.arrived[sent[came]] = True


class Hop(Transmission):
    """One hop of a journey.

    Parameters
    ----------
    journey : Journey
    relay, to : int
        Its ends.
    bits : int
        Of what it carries.
    begins_ns : int
        Now.
    ended : callable
        Its `done`.
    """

    __slots__ = ("begins_ns", "costs", "journey")

    def __init__(
        self, journey: Journey, relay: int, to: int, bits: int, begins_ns: int, ended: Done
    ) -> None:
        last, envelope = to == journey.tx.dst, journey.tx.envelope
        # A relay does not stay awake for what it has not asked for.
        own = replace(envelope, src=relay, bits=bits, reply=envelope.reply and last)
        super().__init__(own, to, ended)
        self.journey, self.begins_ns = journey, begins_ns
        self.costs: tuple[int, int, float | None, int] = (0, 0, None, 0)

    def set_costs(
        self, attempts: int, packets_lost: int, snr_db: float | None, bits_transmitted: int
    ) -> None:
        """Set the costs of the hop, as in the row of its message.

        Parameters
        ----------
        attempts, packets_lost : int
        snr_db : float or None
        bits_transmitted : int
        """
        self.costs = attempts, packets_lost, snr_db, bits_transmitted


def is_others(tx: Transmission) -> bool:
    """Return whether a transmission is a relay's, on the way of another node's message."""
    return isinstance(tx, Hop) and tx.journey.hops > 1


class Relaying:
    """Sending of messages by relays.

    Parameters
    ----------
    link : PhysicalLink
        Which carries the hops.
    radio : Radio
    routes : Routes
    """

    def __init__(self, link: PhysicalLink, radio: Radio, routes: Routes) -> None:
        self._link, self._radio, self.routes = link, radio, routes

    @classmethod
    def from_routes(
        cls, routes: Routes, radio: Radio, link: PhysicalLink, before: Relaying | None
    ) -> Relaying | None:
        """Return the relaying by a table; messages on their way go on by it, too.

        Parameters
        ----------
        routes : Routes
        radio : Radio
            Whose `routing` says whether messages that are sent from now on are relayed.
        link : PhysicalLink
        before : Relaying or None
            What has relayed until now.
        """
        if not radio.routing.relays or before is None:
            return cls(link, radio, routes) if radio.routing.relays else None
        before.routes, before._radio = routes, radio
        return before

    def begin_journey(self, tx: Transmission) -> bool:
        """Begin the journey of a message; False: it goes to its receiver at once, or nowhere."""
        if isinstance(tx, Hop) or tx.envelope.message.over_the_air:
            return False
        to = self.routes.next_hop(tx.src, tx.dst, self._link.env.now)
        if to is None or to == tx.dst:
            return False
        self._send(Journey(tx), tx.src, to)
        return True

    def _send(self, journey: Journey, relay: int, to: int) -> None:
        """Send a message over its next hop."""
        bits = journey.tx.envelope.bits
        if journey.arrived is not None:
            packets, came = len(journey.arrived), int(journey.arrived.sum())
            bits = came * -(-bits // packets)
        journey.hops += 1
        self._link.unicast(Hop(journey, relay, to, bits, self._link.env.now, self._end_hop))

    def _end_hop(self, tx: Transmission, outcome: str, arrived: Any) -> None:
        """Go on from where a hop has ended, or end the journey."""
        assert isinstance(tx, Hop)
        journey, link = tx.journey, self._link
        journey.count(*tx.costs)
        link.recorder.hop(
            tx.begins_ns, link.env.now, tx.src, tx.dst, journey.tx.src, journey.tx.dst,
            tx.envelope.sent_ns, tx.envelope.bits, outcome, tx.costs[0], tx.costs[3],
        )  # fmt: skip
        if outcome == PARTIAL:
            journey.keep_packets(arrived)
        link.keep_waiting(1)
        if outcome in ARRIVED and tx.dst != journey.tx.dst:
            # When its radio is free again, which has received until now.
            link.env.call_after(0, self._forward, journey, tx.dst)
        else:
            self._end(journey, outcome)

    def _forward(self, journey: Journey, relay: int) -> None:
        """Send a message on, if its relay still can."""
        link, dst = self._link, journey.tx.dst
        to = self.routes.next_hop(relay, dst, link.env.now)
        if relay in link.off:
            self._end(journey, OFF)
        elif to is None or journey.hops >= self._radio.routing.max_hops:
            self._end(journey, OUTAGE)
        else:
            link.keep_waiting(-1)
            self._send(journey, relay, to)

    def _end(self, journey: Journey, outcome: str) -> None:
        """End a journey: its row, and its receiver."""
        arrived = journey.arrived if outcome in ARRIVED else None
        snr_db = None
        if journey.measured and journey.weighted_snr > 0.0:
            snr_db = linear_to_db(journey.weighted_snr / journey.measured)
        self._link.record(
            journey.tx,
            outcome if arrived is None else PARTIAL,
            journey.attempts,
            journey.packets_lost,
            snr_db,
            arrived,
            journey.bits_transmitted,
        )
