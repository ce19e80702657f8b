"""A message on the air: a flight, and its reception at each receiver.

What a receiver meets is sampled to the end of the flight in one go, and what was sampled is kept.
Should the flight be interrupted, the part up to then is sampled again from the same random stream,
and so is the same. The time from one interruption to the next is a leg.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from netsim.channels.arq import Sending
from netsim.channels.block import ChannelBlock
from netsim.channels.mac import ALONE, Turns
from netsim.links.link import (
    ASLEEP,
    COLLISION,
    DEADLINE,
    DELIVERED,
    OUTAGE,
    PARTIAL,
    RETRIES,
    Report,
    Transmission,
)
from netsim.links.radio.mac.rate_adaptation import LinkRates
from netsim.links.radio.phy.background import Interferer
from netsim.links.radio.phy.channel import RadioChannel
from netsim.units import linear_to_db


class Progress(Protocol):
    """Progress of a message at a receiver: packets in all, delivered, and given up."""

    packets: int

    @property
    def delivered(self) -> int: ...

    @property
    def lost(self) -> int: ...


class Reception:
    """A flight at one receiver.

    Parameters
    ----------
    tx : Transmission
    serial : int
        Number of the message among those of this pair of nodes: keys its random draws.
    unreachable : str or None
        Outcome (`off`, `outage`) if the receiver is off or has lost contact, so that no attempt
        gets through; None while it can receive.
    predetermined : Report or None
        What becomes of the transmission, if that is known from the start; nothing is sampled then.
    listened : bool
        Whether its receiver has listened until the flight was cut short.

    Attributes
    ----------
    wakes_ns : int
        The receiver's radio sleeps until then, and attempts that begin earlier are lost.
    medium, sampled_medium : Medium
        What other senders do to each attempt now, but for their power as noise, and what they did
        when the leg was sampled.
    interferers : dict of Flight to float
        Interference over noise of each flight that is heard, linear, without fading that changes
        in time; kept by `Interference`, as are the next four.
    rise, known_rise : float
        Interference and noise over noise from these, each for its share of the time; what it was
        when the flight was last told that it had changed.
    equal_rises : (float, float)
        Least and largest `rise` that are known to make no difference to `known_rise`.
    shifts : dict of int to float
        By how much each sender is heard more than when the flight was told: in power over noise,
        or where nodes move in shares of the time.
    hidden : dict of Flight to (float, float, bool)
        Flights that its sender does not hear and that may spoil its packets here, and how.
    first_loss : (float, int) or None
        Probability of losing the first attempt of a leg to one of them; that leg's number.
    leg_start, sending : Sending or None
        The message where its leg began (None: nothing has been sent), and at the end of what has
        been sampled.
    rng : numpy.random.Generator or None
        What the leg was sampled with.
    blocks, block_attempts : list of ChannelBlock, list of int
        The blocks of the leg, and the attempts made in each of them.
    last_block : ChannelBlock or None
        The last block of earlier legs.
    first_snr : float or None
        SNR of the first block of all, linear.
    attempts, attempts_asleep, held_attempts : int
        Attempts of earlier legs, those of them at which the receiver slept, and those that
        `leg_start` has made in its last block.
    transmissions : float
        How often a packet of a unicast was sent in them: more than `attempts` where what counts as
        one attempt is several transmissions; one that was cut short counts by its part.
    weighted_snr : float
        SNR of earlier legs, linear, summed over attempts.
    came : (packets,) bool array or None
        Which packets of a round of a repeated broadcast arrived, once it has ended.
    hopeless : bool
        Whether no attempt of earlier legs could have got through.
    leg_rates, rates : LinkRates or None
        What the sender knew of the link where the leg began (None: what it knows now), and at the
        end of what has been sampled; only where rates follow acknowledgements.
    rates_before : list of LinkRates
        What it knew before each block of the leg.
    """

    # Defaults of what few flights ever set are kept with the class: one is made for every message.
    hidden: dict[Flight, tuple[float, float, bool]]
    first_loss: tuple[float, int] | None = None
    came: NDArray[np.bool_] | None = None
    leg_rates: LinkRates | None = None
    rates: LinkRates | None = None
    rates_before: list[LinkRates]
    leg_start: Sending | None = None
    sending: Sending | None = None
    rng: np.random.Generator | None = None
    last_block: ChannelBlock | None = None
    first_snr: float | None = None
    medium = ALONE
    sampled_medium = ALONE
    rise = known_rise = 1.0
    equal_rises = (1.0, 1.0)
    # When the leg was sampled, and with which rise; the rise that counts for the mean SNR, since
    # when, and the integral of 1 / rise up to then [ns].
    _sampled_ns = _followed_ns = 0
    _sampled_rise = _followed_rise = 1.0
    _clear_ns = 0.0
    wakes_ns = 0
    attempts = 0
    attempts_asleep = held_attempts = 0
    transmissions = 0.0
    weighted_snr = 0.0
    hopeless = True
    listened = False

    def __init__(
        self,
        tx: Transmission,
        serial: int,
        unreachable: str | None = None,
        predetermined: Report | None = None,
    ) -> None:
        self.tx = tx
        self.serial = serial
        self.unreachable = unreachable
        self.predetermined = predetermined
        self.interferers: dict[Flight, float] = {}
        self.shifts: dict[int, float] = {}
        self.blocks: list[ChannelBlock] = []
        self.block_attempts: list[int] = []

    def note_sampling(self, now_ns: int) -> None:
        """Note that a leg has been sampled with `rise`."""
        self._sampled_ns = self._followed_ns = now_ns
        self._sampled_rise = self._followed_rise = self.rise
        self._clear_ns = 0.0

    def follow_rise(self, now_ns: int) -> None:
        """Let `rise` count for the mean SNR from now on: it makes no difference to any attempt."""
        if self.rise == self._followed_rise:
            return
        self._clear_ns += (now_ns - self._followed_ns) / self._followed_rise
        self._followed_ns, self._followed_rise = now_ns, self.rise

    def snr_ratio(self, now_ns: int) -> float:
        """Mean SNR since the leg was sampled over that with which it was."""
        lasted_ns = now_ns - self._sampled_ns
        if self._followed_ns == self._sampled_ns or lasted_ns == 0:
            return 1.0
        clear_ns = self._clear_ns + (now_ns - self._followed_ns) / self._followed_rise
        return clear_ns * self._sampled_rise / lasted_ns

    def count_rate(self, block: ChannelBlock, attempts: int, acknowledged: int) -> None:
        """Count the attempts of a block for the rates that follow acknowledgements.

        Parameters
        ----------
        block : ChannelBlock
            The last one of the leg so far.
        attempts, acknowledged : int
        """
        assert self.rates is not None
        self.rates_before.append(self.rates.copy())
        self.rates.count(block.rate_bps, attempts, acknowledged)

    def close_leg(self, clearer: float = 1.0) -> None:
        """Add the leg to the sums over earlier legs, and forget its blocks.

        `snr_ratio`: the mean SNR over that of the blocks.
        """
        if not self.blocks:
            return
        if self.first_snr is None:
            self.first_snr = self.blocks[0].snr
        before = self.attempts
        for block, n in zip(self.blocks, self.block_attempts, strict=False):
            self.attempts += n
            self.weighted_snr += block.snr * n * clearer
            if block.per < 1.0:
                self.hopeless = False
            elif block.asleep:
                self.attempts_asleep += n
        self.transmissions += (self.attempts - before) * self.sampled_medium.transmissions
        self.last_block = self.blocks[-1]
        self.blocks, self.block_attempts = [], []

    def report(
        self,
        flight: Flight,
        under_way: float,
        progress: Progress,
        arrived: Any,
        channel: RadioChannel,
        limit: int | None,
    ) -> Report:
        """Report the outcome of the message, after the end of its last leg.

        Parameters
        ----------
        flight : Flight
        under_way : float
            The part that has been sent of an attempt that had begun but not ended, in [0, 1).
        progress : Progress
            Packets delivered and given up.
        arrived : ndarray of bool, shape (packets,), or None
            Which packets arrived, if that was kept.
        channel : RadioChannel
        limit : int or None
            Attempts at one packet; None: any number.

        Returns
        -------
        Report
        """
        tx, delivered, mask = self.tx, progress.delivered, None
        attempts = self.attempts + (under_way > 0.0)
        self.transmissions += under_way * self.sampled_medium.transmissions
        if self.unreachable is not None:
            outcome = self.unreachable
        elif delivered == progress.packets:
            outcome = DELIVERED
        elif delivered and tx.envelope.message.accepts_partial:
            outcome, mask = PARTIAL, arrived
        elif flight.expired:
            outcome = DEADLINE
        elif limit is not None and self.attempts_asleep >= limit:  # a packet was lost before
            outcome = ASLEEP
        elif self._lost_to_others(flight, channel):
            outcome = COLLISION
        else:
            outcome = OUTAGE if self.hopeless else RETRIES
        return tx, outcome, attempts, progress.lost, self._mean_snr_db(), mask

    def _lost_to_others(self, flight: Flight, channel: RadioChannel) -> bool:
        """Return whether other senders were the larger cause of the last failed attempts.

        What counts is what these attempts met, also if the others have stopped by now.
        """
        last = self.last_block
        if last is None or (last.noise_rise == 1.0 and self.sampled_medium.collision == 0.0):
            return False
        snr, rate_bps = last.snr * last.noise_rise, flight.rate_bps
        if last.rate_bps:
            rate_bps = last.rate_bps
        if rate_bps is None:
            rate_bps = channel.rate_bps(snr)
        alone = channel.packet_error(snr, flight.packet_bits, rate_bps) if rate_bps > 0.0 else 1.0
        return last.per > 2.0 * alone

    def _mean_snr_db(self) -> float | None:
        """Attempt-weighted linear mean of the SNR, in dB."""
        if self.attempts:
            return linear_to_db(self.weighted_snr / self.attempts)
        return None if self.first_snr is None else linear_to_db(self.first_snr)


class Piece(NamedTuple):
    """A time for which a flight is sent, as the energy meter was told of it.

    Attributes
    ----------
    from_ns, to_ns : int
        Where `to_ns` is the earlier one, it is taken back.
    airtime_ns : float
        Spread evenly over it.
    found : (nodes,) float array or None
    answers : float
        See `Flight`.
    """

    from_ns: int
    to_ns: int
    airtime_ns: float
    found: NDArray[np.float64] | None
    answers: float


Stretch = tuple[int, int, float]
"""Begin and end [ns] of a time, and the share of it in which a sender transmits."""


class Transmits(Protocol):
    """Callback of a sampler: how much a flight's sender transmits from an instant on."""

    def __call__(
        self, flight: Flight, from_ns: int, share: float, stretches: Sequence[Stretch] = ()
    ) -> None: ...


class Flight:
    """A message on the air: one sender, one or more receivers.

    Parameters
    ----------
    src : int
        The sender.
    radios : list of int
        Nodes whose radios it has taken.
    receptions : list of Reception
        One for each receiver that listens; a unicast has one.
    packets, packet_bits : int
        How many packets the message is cut into, and the size of each, header included.
    begins_ns : int
        When its first attempt begins.
    deadline_ns : int or None
        When its time to live ends; None: never.
    rate_bps : float or None
        Rate of a broadcast; None for a unicast, whose rate follows its channel.
    missed : sequence of Report
        Of the receivers that missed it from the start, or of the last one that left where nobody is
        left that is told at its end.

    Attributes
    ----------
    addressees : list of int
        All receivers that it was sent to, also those that miss it or leave.
    leg : int
        How many interruptions it has had.
    leg_begins_ns, ends_ns : int
        When its leg began, in the spread time of `turns` where it has slots, and when it ends as
        things are.
    held_ns : float
        Time of the attempt under way when interference fell last, which ends where the leg begins.
    packets_left : int
        Packets of a broadcast that are still to be sent where the leg begins.
    deserted : bool
        Whether all of its receivers have left, the last of whom is the one in `missed`.
    expired : bool
        Whether the end of its time to live is what ends it.
    met_worse : bool
        Whether its last attempt, under way, keeps interference that has fallen since.
    medium, sampled_medium : Medium
        What other senders do to its attempts now, and what they did when the leg was sampled.
    attempt_ns : float
        Time of one attempt, of a broadcast or of an attempt that is an event of its own.
    attempt_ends_ns : float or None
        When the attempt under way ends, where attempts are events of their own; None: none is.
    contenders : dict of Flight to None
        Flights that it contends with, an ordered set; kept by `Interference`, up to `order`.
    hidden : dict of Flight to None
        Flights that it does not hear, where one may spoil the other's packets; an ordered set.
    medium_share : float
        Share of the time on the air.
    power, power_now : float
        Its sender's transmit power over that node's full one when it began, and over what that is
        now.
    played : bool
        Whether its packets begin one by one at random times.
    waits : int
        How often it has done so.
    sampler : MessageLevelSampler, PacketLevelSampler or FrameLevelSampler
        What plays its attempts.
    overhead_ns : float
        Of each attempt, beside its bits [ns].
    repeated : bool
        Whether it is a round of a repeated broadcast, so that it matters which packets arrive.
    feedback_ns : int
        How long after the last attempt of a round its receivers tell what they lack.
    expected_bps : float or None
        The rate [bit/s] by which contention judges it, where it follows acknowledgements.
    known_medium : Medium
        `medium` when it was told last.
    order : int
        Its place in the order in which flights begin.
    accounted_to_ns, airtime_ns : int
        Up to when its sender's time on the air has been counted, and that time.
    counted, counted_late : what the energy meter was told: of its sender, of late receivers
    turns : Turns or None
        The slots in which it is sent; None: it is sent without a break.
    transmit_share : float
        Share of an attempt's time in which the sender transmits, but for `stretches`.
    at_once_ends_ns : int
        When its first attempt ends, where that is made at once on an idle medium, so that its time
        does not follow the contention; 0: it is not.
    at_once_frame_ns : float
        Time of its packet then.
    at_once_stretch : float
        Time of an attempt in its leg over that of its first one.
    waits_to_ns : int
        When what is on the air at its beginning ends, where that is known: until then it waits.
    found : (nodes,) float array or None
        Share of what its sender sends that the radio of each node receives; the rest begins
        beside other packets, and no preamble is found. None: all.
    answers : float
        Time for which its receiver sends answers, over that for which its sender sends.
    found_ns, answered_ns : (nodes,) float array or None, float
        Airtime that radios have received of it, None: all; and that of answers.
    stretches : sequence of (int, int, float)
        Begin, end [ns] and share of the times at which the sender transmits for another share, or
        not at all, in order; of those that have been counted the first ones may be missing.
    """

    contenders: dict[Flight, None]
    hidden: dict[Flight, None]
    sampler: Any
    medium_share = power = power_now = 1.0
    overhead_ns = held_ns = 0.0
    expected_bps: float | None = None
    order = 0
    medium = known_medium = sampled_medium = ALONE
    attempt_ns = 0.0
    attempt_ends_ns: float | None = None
    transmit_share = 1.0
    stretches: Sequence[Stretch] = ()
    expired = met_worse = repeated = played = deserted = False
    feedback_ns = waits = 0
    at_once_ends_ns = 0
    at_once_frame_ns = 0.0
    at_once_stretch = 1.0
    waits_to_ns = 0
    leg = 0
    airtime_ns = 0
    turns: Turns | None = None
    found: NDArray[np.float64] | None = None
    found_ns: NDArray[np.float64] | None = None
    answers = answered_ns = 0.0

    def __init__(
        self,
        src: int,
        radios: list[int],
        receptions: list[Reception],
        packets: int,
        packet_bits: int,
        begins_ns: int,
        deadline_ns: int | None,
        rate_bps: float | None = None,
        missed: Sequence[Report] = (),
    ) -> None:
        self.src = src
        self.radios = radios
        self.receptions = receptions
        self.packets = self.packets_left = packets
        self.packet_bits = packet_bits
        self.begins_ns = self.leg_begins_ns = self.ends_ns = self.accounted_to_ns = begins_ns
        self.deadline_ns = deadline_ns
        self.rate_bps = rate_bps
        self.missed = missed
        self.addressees = [r.tx.dst for r in receptions] + [report[0].dst for report in missed]
        self.broadcast = rate_bps is not None
        self.counted: list[Piece] = []
        self.counted_late: dict[Reception, list[Piece]] = {}

    def lost_its_last(self) -> bool:
        """Return whether, having ended, it more probably lost its last packet than not."""
        for reception in self.receptions:
            sending = reception.sending
            if sending is not None and 2 * sending.lost > sending.packets:
                return True
        return False

    def share_at(self, time_ns: int) -> float:
        """Share of the time in which its sender transmits, at an instant still to be counted."""
        for from_ns, to_ns, share in self.stretches:
            if from_ns <= time_ns < to_ns:
                return share
        return self.transmit_share

    def passed_ns(self, time_ns: int) -> float:
        """Time of its leg that has passed by an instant, in spread time where it has slots [ns].

        Negative before the leg begins.
        """
        if self.turns is None or time_ns < self.begins_ns:
            return time_ns - self.leg_begins_ns
        before_ns = self.leg_begins_ns - self.begins_ns
        return self.turns.spread_ns(time_ns - self.begins_ns) - before_ns

    def true_ns(self, passed_ns: float) -> int:
        """The instant at which its leg has come so far [ns]."""
        if self.turns is None:
            return self.leg_begins_ns + round(passed_ns)
        before_ns = self.leg_begins_ns - self.begins_ns
        return self.begins_ns + round(self.turns.elapsed_ns(before_ns + passed_ns))

    def leave_slots(self) -> None:
        """Let it be sent without slots; its times are still those in slots."""
        self.turns, self.medium = None, ALONE
        for reception in self.receptions:
            reception.medium = ALONE

    def wait_for_only_packets(self, now_ns: int) -> None:
        """Let it wait where all that is on the air are flights of one packet, sent at once.

        Nobody contends with it when they have ended, but for those that wait as well.
        """
        ends = [
            one.waits_to_ns or (one.at_once_ends_ns if one.packets_left == 1 else 0)
            for one in self.contenders
        ]
        self.waits_to_ns = max(ends) if min(ends) > now_ns else 0

    def set_first_attempt(self, held: bool = False) -> None:
        """Set the start of the leg by its first attempt, which begins at once.

        Parameters
        ----------
        held : bool
            Whether the result of that attempt is final, so that the leg begins with the next one.
        """
        attempt_ns = self.at_once_frame_ns + self.medium.wait_ns
        self.at_once_stretch = attempt_ns / max(1, self.at_once_ends_ns - self.begins_ns)
        self.leg_begins_ns = self.at_once_ends_ns - (0 if held else round(attempt_ns))


def interferers_at(flight: Flight, reception: Reception) -> Sequence[Interferer]:
    """Return the senders whose power is now noise to a reception of a flight."""
    if not reception.interferers:
        return ()
    begins_ns = flight.begins_ns
    return [
        Interferer(
            other.src,
            other.medium_share * other.power,
            max(begins_ns, other.begins_ns),
            *_rate_receiver(other),
        )
        for other in reception.interferers
    ]


def _rate_receiver(flight: Flight) -> tuple[int | None, float]:
    """Return whose link a flight's rate follows, None: nobody's, and its sender's power."""
    if flight.broadcast or not flight.receptions:
        return None, flight.power
    return flight.receptions[0].tx.dst, flight.power


def sending_rate_bps(flight: Flight, snr: float, channel: RadioChannel) -> float:
    """The rate at which a flight's packets go [bit/s]; 0: none gets through.

    Parameters
    ----------
    flight : Flight
    snr : float
        At its receiver, linear: what its rate follows unless it has one of its own, as broadcasts
        have, or one that acknowledgements have taught.
    channel : RadioChannel
    """
    known = flight.expected_bps if flight.rate_bps is None else flight.rate_bps
    return channel.rate_bps(snr) if known is None else known
