"""A transmission on the air: one airtime, one or more receivers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from netsim.channels.arq import Sending
from netsim.channels.mac import ALONE, Medium
from netsim.links.link import (
    ASLEEP,
    COLLISION,
    DEADLINE,
    DELIVERED,
    OFF,
    OUTAGE,
    PARTIAL,
    RETRIES,
    Report,
    Transmission,
)
from netsim.links.radio.channel import Propagation, Stretch
from netsim.units import linear_to_db


class Got(Protocol):
    """What a receiver has of a message: packets in all, delivered and given up."""

    packets: int

    @property
    def delivered(self) -> int: ...

    @property
    def lost(self) -> int: ...


class Reception:
    """What becomes of a flight at one receiver.

    A flight is drawn to its end in one go, and what was drawn is kept: should it be interrupted,
    the part up to then is drawn again from the same stream, and so is the same. What lies between
    two interruptions is a leg.

    Attributes
    ----------
    in_vain : bool
        Whether the receiver is off or has lost contact: nothing gets through.
    vain : str
        The outcome if so.
    wakes_ns : int
        Attempts that begin earlier are lost: its radio sleeps until then.
    fixed : Report or None
        What becomes of it if that is known from the start: nothing is drawn for it.
    medium, drawn_under : Medium
        What others do to each attempt now, and did when its leg was drawn.
    heard : dict
        Interference over noise of each flight that is heard, linear; kept by `Sharing`.
    base : Sending or None
        The message where its leg began; None: nothing has been sent.
    sending : Sending or None
        The message at the end of what has been drawn.
    rng : numpy.random.Generator or None
        What the leg was drawn with.
    met, used : list
        The stretches of the leg, and the attempts in each.
    last : Stretch or None
        The last stretch of earlier legs.
    first_snr : float or None
        What was met first, linear.
    attempts, slept, weighted_snr
        Sums over earlier legs; `slept` are the attempts at which it slept.
    hopeless : bool
        Whether no attempt of earlier legs had a chance.
    """

    # What few flights ever set is kept with the class: a flight is made for every message.
    heard: dict[Flight, float]
    base: Sending | None = None
    sending: Sending | None = None
    rng: np.random.Generator | None = None
    last: Stretch | None = None
    first_snr: float | None = None
    medium = ALONE
    drawn_under = ALONE
    vain = OFF
    wakes_ns = 0
    attempts = 0
    slept = 0
    weighted_snr = 0.0
    hopeless = True

    def __init__(
        self, tx: Transmission, serial: int, in_vain: bool, fixed: Report | None = None
    ) -> None:
        self.tx = tx
        self.serial = serial
        self.in_vain = in_vain
        self.fixed = fixed
        self.met: list[Stretch] = []
        self.used: list[int] = []

    def close_leg(self) -> None:
        """Add what the leg brought to the sums, and forget it."""
        if not self.met:
            return
        if self.first_snr is None:
            self.first_snr = self.met[0].snr
        for stretch, n in zip(self.met, self.used, strict=False):
            self.attempts += n
            self.weighted_snr += stretch.snr * n
            if stretch.per < 1.0:
                self.hopeless = False
            elif stretch.asleep:
                self.slept += n
        self.last = self.met[-1]
        self.met, self.used = [], []

    def report(
        self,
        flight: Flight,
        under_way: int,
        got: Got,
        arrived: Any,
        channel: Propagation,
        limit: int | None,
    ) -> Report:
        """What became of the message, its last leg being closed.

        Parameters
        ----------
        under_way : int
            Attempts that had begun but not ended.
        got : Got
        arrived : ndarray of bool or None
            Which packets arrived, if they were kept.
        limit : int or None
            Attempts at one packet; None: any number.
        """
        tx, delivered, mask = self.tx, got.delivered, None
        if self.in_vain:
            outcome = self.vain
        elif delivered == got.packets:
            outcome = DELIVERED
        elif delivered and tx.message.accepts_partial:
            outcome, mask = PARTIAL, arrived
        elif flight.expired:
            outcome = DEADLINE
        elif limit is not None and self.slept >= limit:  # a packet was lost before it woke
            outcome = ASLEEP
        elif self._failed_of_others(flight, channel):
            outcome = COLLISION
        else:
            outcome = OUTAGE if self.hopeless else RETRIES
        return tx, outcome, self.attempts + under_way, got.lost, self._mean_snr_db(), mask

    def _failed_of_others(self, flight: Flight, channel: Propagation) -> bool:
        """Whether others were the larger part of why attempts failed at the end."""
        medium, last = self.medium, self.last
        if last is None or (medium.noise_rise == 1.0 and medium.collision == 0.0):
            return False
        snr, rate_bps = last.snr * medium.noise_rise, flight.rate_bps
        if rate_bps is None:
            rate_bps = channel.rate_bps(snr)
        alone = channel.error(snr, flight.packet_bits, rate_bps) if rate_bps > 0.0 else 1.0
        return last.per > 2.0 * alone

    def _mean_snr_db(self) -> float | None:
        """Attempt-weighted linear mean of the SNR, in dB."""
        if self.attempts:
            return linear_to_db(self.weighted_snr / self.attempts)
        return None if self.first_snr is None else linear_to_db(self.first_snr)


class Flight:
    """A transmission on the air.

    Attributes
    ----------
    radios : list of int
        Those it has taken.
    meant : list of int
        Whom it is meant for, also those who miss it or leave.
    missed : list of Report
        What is told, at its end, of those receivers that missed it from the start.
    rate_bps : float or None
        Of a broadcast; a unicast follows its channel.
    begins_ns, from_ns : int
        When it and its leg began.
    left : int
        Packets of a broadcast that are still to be sent where its leg begins.
    leg : int
        How many interruptions it has had.
    medium, drawn_under : Medium
        What others do to its attempts now, and did when its leg was drawn.
    attempt_ns : float
        Time of one attempt of a broadcast, or of one that is played by itself.
    near : dict
        Flights that it contends with, as an ordered set; kept by `Sharing`.
    share : float
        For how much of the time those whom it contends with let it send; kept by `Sharing`.
    ends_ns : int
        When it ends as things are.
    deadline_ns : int or None
        When its time to live ends.
    expired : bool
        Whether that is what ends it.
    counted_to_ns : int
        Up to when its sender's time on the air has been counted, at `on_air` a unit of time: the
        share of the leg's first attempts.
    silent : sequence of (int, int)
        From when to when in its leg nothing can be sent, in order: the rate is 0.
    """

    near: dict[Flight, None]
    share = 1.0
    medium = ALONE
    drawn_under = ALONE
    attempt_ns = 0.0
    on_air = 1.0
    silent: Sequence[tuple[int, int]] = ()
    expired = False
    leg = 0

    def __init__(
        self,
        src: int,
        radios: list[int],
        receptions: list[Reception],
        packets: int,
        packet_bits: int,
        from_ns: int,
        deadline_ns: int | None,
        rate_bps: float | None = None,
        missed: Sequence[Report] = (),
    ) -> None:
        self.src = src
        self.radios = radios
        self.receptions = receptions
        self.packets = self.left = packets
        self.packet_bits = packet_bits
        self.begins_ns = self.from_ns = self.ends_ns = self.counted_to_ns = from_ns
        self.deadline_ns = deadline_ns
        self.rate_bps = rate_bps
        self.missed = missed
        self.meant = [r.tx.dst for r in receptions] + [report[0].dst for report in missed]
        self.broadcast = rate_bps is not None


def on_air(medium: Medium, attempt_ns: float) -> float:
    """Share of an attempt's time in which its sender does send."""
    if attempt_ns <= 0.0 or (medium.slowdown == 1.0 and medium.wait_ns == 0.0):
        return 1.0
    alone_ns = (attempt_ns - medium.wait_ns) / medium.slowdown
    return medium.transmissions * alone_ns / attempt_ns
