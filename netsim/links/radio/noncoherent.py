"""Frames of energies: all who send at the same time, heard by all who listen.

Non-coherent over-the-air consensus (Michelusi, "Non-Coherent Over-the-Air Decentralized Gradient
Descent", IEEE Trans. Signal Process. 2024, arXiv:2211.10777): no sender knows a channel, and no
receiver a phase. A sender spreads the energy of a frame, M symbols at its full power on average,
over the symbols; a receiver measures each one's energy, in which those of all senders add up,
scaled by their average channel gains, beside the noise's, which it takes away. The arithmetic is
`netsim.node.superposition.sum_of_energies`.

Radios are half duplex: who sends in a frame hears nothing of it (`busy`), nor does one whose radio
is taken, asleep or off. M symbols last M / bandwidth, the frame's airtime, counted once; each
sender's radio and each listener's spends energy for all of it. No bit is transmitted. With
`propagation_delay` a listener has the frame when the symbols of its farthest sender have come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from netsim.devices.energy.meter import EnergyMeter
from netsim.links.link import (
    ASLEEP,
    BUSY,
    DEADLINE,
    DELIVERED,
    OFF,
    OUTAGE,
    WITHDRAWN,
    PhysicalLink,
    Transmission,
)
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.messaging.over_the_air import Energies, HeardEnergy
from netsim.units import NS_PER_S, linear_to_db, to_ns


class NonCoherent:
    """Gathers what is sent as energies, and sends it, one frame after the other.

    Parameters
    ----------
    link : PhysicalLink
        Which it is a part of.
    meter : EnergyMeter
    released : callable
        Called with the radios that a frame has given back; it calls `retry`.
    """

    def __init__(
        self, link: PhysicalLink, meter: EnergyMeter, released: Callable[[Sequence[int]], None]
    ) -> None:
        self._link, self._meter, self._released = link, meter, released
        self._waiting: list[Transmission] = []
        self.is_due = False
        self._number = self._gathered = 0  # frames that were sent, or began to gather
        self._on_air: list[dict[Transmission, HeardEnergy]] = []  # by frame

    def set_radio(
        self, radio: Radio, channel: RadioChannel, free: list[bool] | None, ttl_ns: int | None
    ) -> None:
        """Send by this table from now on.

        Parameters
        ----------
        radio : Radio
        channel : RadioChannel
        free : list of bool or None
            By node, whether its radio is free; None: radios are not taken.
        ttl_ns : int or None
            A message that has not arrived this long after it was sent is given up; None: never.
        """
        self._radio, self._channel, self._free, self._ttl_ns = radio, channel, free, ttl_ns

    def add(self, tx: Transmission) -> None:
        """Let a transmission wait for the others of its frame."""
        self._waiting.append(tx)
        if len(self._waiting) == 1:
            self._gathered += 1
            self._link.env.call_after(to_ns(_message(tx).wait_s), self._make_due, self._gathered)

    def retry(self) -> None:
        """Start the frame that is due, if the radios of its senders are free."""
        if self.is_due:
            senders = dict.fromkeys(tx.src for tx in self._waiting)
            if self._free is None or all(self._free[node] for node in senders):
                group, self._waiting, self.is_due = self._waiting, [], False
                self._start(group, list(senders))

    def drop(self, node: int) -> None:
        """Give up what a node that has been switched off sends, is about to send, or receives."""
        for frame in self._on_air:
            for tx in [tx for tx in frame if node in (tx.src, tx.dst)]:
                del frame[tx]
                self._link.finish(tx, OFF, 1)
        for tx in [tx for tx in self._waiting if tx.src == node]:
            self._waiting.remove(tx)
            self._link.finish(tx, OFF, 0)
        if self._waiting:
            self.retry()
        else:
            self.is_due = False

    def num_waiting(self, src: int) -> int:
        """Number of a node's transmissions that wait for the others of their frame."""
        return sum(tx.src == src for tx in self._waiting)

    def withdraw(self, src: int, kind: type) -> int:
        """End a node's waiting energies of a class as `withdrawn`, and return their number.

        Parameters
        ----------
        src : int
        kind : type
        """
        gone = [t for t in self._waiting if t.src == src and isinstance(t.envelope.message, kind)]
        self._waiting = [tx for tx in self._waiting if tx not in gone]
        for tx in gone:
            self._link.finish(tx, WITHDRAWN, 0)
        self.is_due = self.is_due and bool(self._waiting)
        if self.is_due:
            self._link.env.call_after(0, self.retry)
        return len(gone)

    def _make_due(self, number: int) -> None:
        if self._waiting and number == self._gathered:
            self.is_due = True
            self.retry()

    def _start(self, group: list[Transmission], senders: list[int]) -> None:
        """Send a frame."""
        link, now = self._link, self._link.env.now
        values = max(_message(tx).row.num_values for tx in group)
        duration_ns = round(values / self._radio.bandwidth_hz * NS_PER_S)
        self._number += 1
        symbols = symbols_in_a_block(self._radio)
        frame: dict[Transmission, HeardEnergy] = {}
        for tx in group:
            missed, mean = self._missed_cause(tx.dst, senders), 0.0
            if missed is None:
                mean = self._channel.mean_snr(tx.src, tx.dst, now)
                missed = OUTAGE if mean <= 0.0 or link.are_apart(tx.src, tx.dst) else None
            if missed is not None:
                link.env.call_after(0, link.finish, tx, missed, 0)
                continue
            gains = gains_in(self._radio, self._channel, tx, now, duration_ns)
            frame[tx] = HeardEnergy((tx.dst, self._number), mean, symbols, gains)
        listeners = list(dict.fromkeys(tx.dst for tx in frame))
        radios = [*senders, *listeners]
        if self._free is not None:
            for node in radios:
                self._free[node] = False
        for sender in senders:
            heard = listeners if sender == senders[0] else []
            self._meter.on_air(sender, heard, now, now + duration_ns, duration_ns)
        self._on_air.append(frame)
        lose_contact(link, frame, duration_ns)
        link.env.call_after(duration_ns, self._end, frame, radios, duration_ns)

    def _missed_cause(self, node: int, senders: Sequence[int]) -> str | None:
        """Cause for which a node hears nothing of a frame; None: it listens."""
        if node in self._link.off:
            return OFF
        if node in senders or (self._free is not None and not self._free[node]):
            return BUSY
        return ASLEEP if self._link.is_asleep(node) else None

    def _end(
        self, frame: dict[Transmission, HeardEnergy], radios: Sequence[int], airtime_ns: int
    ) -> None:
        self._on_air = [other for other in self._on_air if other is not frame]
        link = self._link
        link.recorder.airtime_ns += airtime_ns
        wait_ns = dict.fromkeys((tx.dst for tx in frame), 0)
        for tx in frame:
            wait_ns[tx.dst] = max(wait_ns[tx.dst], link.propagation_ns(tx.src, tx.dst))
        for tx, came in frame.items():
            late = self._ttl_ns is not None and link.env.now - tx.envelope.sent_ns > self._ttl_ns
            outcome, snr_db = DEADLINE if late else DELIVERED, linear_to_db(came.snr)
            link.deliver((tx, outcome, 1, 0, snr_db, came), 0, wait_ns[tx.dst])
        self._released(radios)


def lose_contact(link: PhysicalLink, frame: dict[Transmission, Any], duration_ns: int) -> None:
    """Plan to remove transmissions whose ends lose contact before the end of a new frame.

    Parameters
    ----------
    link : PhysicalLink
    frame : dict
        By transmission.
    duration_ns : int
    """

    def lose(tx: Transmission) -> None:
        if frame.pop(tx, None) is not None:
            link.finish(tx, OUTAGE, 1)

    for tx in frame:
        left_ns = link.contact_ns(tx)
        if left_ns is not None and left_ns < duration_ns:
            link.env.call_after(left_ns, lose, tx)


def symbols_in_a_block(radio: Radio) -> int:
    """Symbols on each resource block in a coherence block."""
    blocks = getattr(radio.fading, "resource_blocks", 1)
    coherence_s = radio.fading.constant_s(radio.carrier_hz)
    return max(1, round(float(coherence_s * radio.bandwidth_hz / blocks)))


def gains_in(
    radio: Radio, channel: RadioChannel, tx: Transmission, begins_ns: int, duration_ns: int
) -> tuple[tuple[float, ...], ...]:
    """Power gains of a link during a frame, by coherence block and resource block.

    Parameters
    ----------
    radio : Radio
    channel : RadioChannel
    tx : Transmission
        Over the link.
    begins_ns, duration_ns : int
    """
    length_ns = to_ns(radio.fading.constant_s(radio.carrier_hz))
    count = max(1, math.ceil(duration_ns / length_ns))
    if radio.fading.hold == "exchange" or radio.fading.kind == "none":
        count = 1
    times = [begins_ns + k * length_ns for k in range(count)]
    return tuple(tuple(np.atleast_1d(channel.gain(tx.src, tx.dst, t)).tolist()) for t in times)


def _message(tx: Transmission) -> Energies:
    message = tx.envelope.message
    assert isinstance(message, Energies)
    return message
