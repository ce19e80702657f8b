"""Interference among senders that share a slot: those of other slots are never on the air together.

A flight interferes from its first slot on, not while it waits for it. Slots of one number begin
together, so two flights in the same slot overlap in every frame in which both have something left,
and each is for the other a sender that is always on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from netsim.channels.mac import Mac
from netsim.links.radio.mac.flight import Flight
from netsim.links.radio.mac.interference import Interference
from netsim.links.radio.phy.channel import RadioChannel


class SlotInterference(Interference):
    """Interference between flights of one slot that have begun.

    A radio that sends does not listen: its own power drowns what comes in the same slot.

    Parameters
    ----------
    mac : Mac
    channel : RadioChannel
    nodes : int
    slot_of : mapping of int to int
        The slot of each node.
    by_snr : bool
        As of `Interference`.
    """

    own_sending_drowns: ClassVar[bool] = True

    def __init__(
        self, mac: Mac, channel: RadioChannel, nodes: int, slot_of: Mapping[int, int], by_snr: bool
    ) -> None:
        super().__init__(mac, channel, nodes, None, by_snr)
        self._slot_of = slot_of

    def goes_on_from(self, before: Interference) -> bool:
        """Return False, since slots may have changed."""
        return False

    def join(self, flight: Flight, others: Iterable[Flight], now_ns: int) -> None:
        """Add a flight whose first slot begins, among those on the air in its slot.

        Parameters
        ----------
        flight : Flight
        others : iterable of Flight
            Those that have begun, or wait for their slots.
        now_ns : int
        """
        super().join(flight, self._in_slot_of(flight, others), now_ns)

    def join_late(self, flight: Flight, others: Iterable[Flight], now_ns: int) -> None:
        """Add a flight that was sampled when it came, with the interference of its slot.

        Parameters
        ----------
        flight : Flight
        others : iterable of Flight
            As in `join`; this flight may be among them.
        now_ns : int
        """
        self.join(flight, (other for other in others if other is not flight), now_ns)
        flight.known_medium = flight.medium
        for reception in flight.receptions:
            if reception.interferers:
                reception.known_rise, reception.equal_rises = 1.0, (1.0, 1.0)
                self._touched[flight] = None
                for other, inr in reception.interferers.items():
                    reception.shifts[other.src] = inr * other.medium_share

    def leave(self, flight: Flight, others: Iterable[Flight]) -> None:
        """Remove a flight that has ended."""
        super().leave(flight, self._in_slot_of(flight, others))

    def _in_slot_of(self, flight: Flight, others: Iterable[Flight]) -> list[Flight]:
        slot = self._slot_of[flight.src]
        return [other for other in others if other.order and self._slot_of[other.src] == slot]
