"""The radio channel as a function of time: instantaneous SNR, reach, channel blocks.

Nothing here has a state that advances: `mean_snr`, `fading_gains` and `background` (interference)
are functions of time, the same however often and in whatever order they are asked for.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from netsim.channels.block import ChannelBlock
from netsim.channels.mac import ALONE, WHOLE, Medium
from netsim.channels.packet_error.outage import OutagePacketError
from netsim.channels.rate.fixed import FixedRate
from netsim.links.radio.phy.background import Background, Interferer
from netsim.links.radio.phy.budget import LinkBudget, PowerControl
from netsim.links.radio.phy.fading_gains import FadingGains
from netsim.links.radio.phy.loudness import Loudness
from netsim.links.radio.phy.resource_blocks import Gain
from netsim.links.radio.table import Radio
from netsim.rng import Streams
from netsim.units import NS_PER_S, db_to_linear, to_ns


class RadioChannel:
    """The channels between all nodes.

    Parameters
    ----------
    radio : Radio
    budget : LinkBudget
    last_wakeup : callable
        (node, time in ns) -> (time in ns, number) of its last wake-up: under `hold = "exchange"`
        a pair's fading lasts from the last wake-up of either end to the next.
    streams : Streams

    Attributes
    ----------
    moving : bool
        Whether mean SNRs change.
    constant : bool
        Whether no link ever changes while a message lasts.
    fades : bool
        Whether links fade.
    may_be_silent : bool
        Whether links may have no rate for a while.
    is_known_now : bool
        Whether senders know the SNR of the instant at which they send.
    fading_lasts_ns : int or None
        For how long a gain of fading that changes in time holds; None: it does not.
    sensitivity : float
        SNR, linear, below which a signal is not noticed.
    loudness : Loudness
        How loud interferers are.
    power : PowerControl
        With what power nodes send.
    overhead_ns : callable
        Bits of a packet -> time of an attempt at it beside them [ns].
    """

    def __init__(
        self,
        radio: Radio,
        budget: LinkBudget,
        last_wakeup: Callable[[int, int], tuple[int, int]],
        streams: Streams,
    ) -> None:
        self._radio, self._budget, self._streams = radio, budget, streams
        self._mean_snr, self._nodes = budget.mean_snr, len(budget.tx_power_w)
        self._by_rate = radio.packet_error.by_rate
        # A rate that does not follow the channel is not asked for at each message.
        self._fixed_bps = radio.rate.rate_bps if type(radio.rate) is FixedRate else None
        fading = self._fading = FadingGains(radio, last_wakeup, streams)
        self.loudness = Loudness(budget.mean_snr, fading)
        self._gain: Callable[..., Gain] = (
            fading.pair_gain if fading.blocks is None else fading.of_blocks
        )
        self.resource_blocks, self.moving = fading.blocks, budget.mean_snr.moving
        self.constant = not (self._fading.in_time or self.moving)
        by_snr = radio.rate.slowest_bps(radio.bandwidth_hz) is not None
        self.may_be_silent = by_snr and not self.constant
        self.fading_lasts_ns = fading.holds_until_ns(0) if fading.in_time else None
        self.fades = radio.fading.kind != "none"
        # Where links don't change, the same few SNRs come again and again.
        is_step = type(radio.packet_error) is OutagePacketError  # all or nothing: not asked for
        self._step = budget.threshold if is_step else None
        is_cached = self.constant and self._step is None
        self._error = (
            lru_cache(maxsize=1 << 14)(self.packet_error) if is_cached else self.packet_error
        )
        self.sensitivity = radio.sensitivity
        self._csi_delay_ns = to_ns(radio.rate.choice_delay_s)
        self.is_known_now = self.resource_blocks is None and not self._csi_delay_ns
        # Whether a link that nobody interferes with changes with its fading and with nothing else.
        self._fades_alone = fading.in_time and not (self.moving or self._csi_delay_ns)
        self.power = PowerControl(radio, budget)
        # Few sizes of packets are under way, and an attempt is timed in every block.
        self.overhead_ns = lru_cache(maxsize=64)(radio.overhead_ns)

    # -- one pair --------------------------------------------------------------------------------

    def snr(self, src: int, dst: int, time_ns: int) -> float:
        """Instantaneous SNR of a link.

        Parameters
        ----------
        src, dst : int
        time_ns : int

        Returns
        -------
        float
            Linear, the same in both directions; of resource blocks the effective one.
        """
        if not self.fades:
            return self._mean_snr.pair_snr(src, dst, time_ns)
        return self._of_blocks(self._gain_snr(src, dst, time_ns))

    def measured_snr(self, src: int, dst: int, time_ns: int) -> Gain:
        """The SNR that a sender knows: that of `csi_delay_s` ago.

        Parameters
        ----------
        src, dst : int
        time_ns : int

        Returns
        -------
        float or (K,) array
            Linear; of each resource block where fading has them.
        """
        return self._gain_snr(src, dst, max(0, time_ns - self._csi_delay_ns))

    def known_snr(self, src: int, dst: int, time_ns: int) -> Gain:
        """`measured_snr` of a message that begins now, with its sender's transmit power.

        Parameters
        ----------
        src, dst : int
        time_ns : int
        """
        return self.measured_snr(src, dst, time_ns) * self.power.over_full(src, (dst,), time_ns)

    def csi(self, src: int, dst: int, time_ns: int) -> tuple[float, float]:
        """Channel state that a sender knows: SNR, linear, and the rate that it chooses [bit/s].

        Parameters
        ----------
        src, dst : int
        time_ns : int
        """
        snr = self.known_snr(src, dst, time_ns)
        return self._of_blocks(snr), self.rate_bps(snr)

    def mean_rate_bps(self, src: int, dst: int, time_ns: int) -> float:
        """Rate at the mean SNR of a link, without fading [bit/s]; 0 where nothing can be sent.

        Parameters
        ----------
        src, dst : int
        time_ns : int
        """
        snr = self._mean_snr.pair_snr(src, dst, time_ns)
        return float(self._radio.rate.bits_per_s(snr, self._radio.bandwidth_hz))

    def _gain_snr(self, src: int, dst: int, time_ns: int) -> Gain:
        return self._mean_snr.pair_snr(src, dst, time_ns) * self.gain(src, dst, time_ns)

    def _of_blocks(self, snr: Gain, rate_bps: float | None = None) -> float:
        """The one SNR that resource blocks amount to at a rate; a single SNR as it is."""
        of = self.resource_blocks
        return snr if of is None else float(of.snr(snr, rate_bps))  # type: ignore[return-value]

    def rate_bps(self, snr: Gain) -> float:
        """Rate [bit/s] that a sender chooses at an SNR (linear); 0 where nothing can be sent."""
        if self.resource_blocks is not None:
            return self.resource_blocks.rate_bps(snr)
        if self._fixed_bps is not None:
            return self._fixed_bps
        return float(self._radio.rate.bits_per_s(snr, self._radio.bandwidth_hz))

    def has_rate(self, src: int, dst: int, time_ns: int, power: float = 1.0) -> bool:
        """Return whether a link has a rate, interference aside.

        Parameters
        ----------
        src, dst : int
        time_ns : int
        power : float
            Transmit power over the sender's full one.
        """
        return self.rate_bps(self.measured_snr(src, dst, time_ns) * power) > 0.0

    def half_lost_snr(self, packet_bits: int, rate_bps: float) -> float:
        """The SNR, linear, at which half of the packets of a size and rate are lost."""
        low_db, high_db = -20.0, 60.0
        for _ in range(20):
            at_db = 0.5 * (low_db + high_db)
            lost = self.packet_error(db_to_linear(at_db), packet_bits, rate_bps) > 0.5
            low_db, high_db = (at_db, high_db) if lost else (low_db, at_db)
        return db_to_linear(high_db)

    def packet_error(self, snr: float, packet_bits: int, rate_bps: float | None = None) -> float:
        """Probability that an attempt at a packet fails.

        Parameters
        ----------
        snr : float
            Linear.
        packet_bits : int
            Header included.
        rate_bps : float or None
            The rate in use, on which some error models depend; None: they take the radio's
            threshold.

        Returns
        -------
        float
        """
        if self._step is not None:
            return 0.0 if snr >= self._step else 1.0
        rule, threshold = self._radio.packet_error, self._budget.threshold
        if self._by_rate:
            rule = rule.at_rate(self.rate_bps(snr) if rate_bps is None else rate_bps)
        if rule.per_rate and rate_bps is not None:
            own = self._radio.rate.needed_snr(rate_bps, self._radio.bandwidth_hz)
            threshold = threshold if own is None else own
        return float(rule.probability(snr, packet_bits, threshold))

    def attempt_ns(self, packet_bits: int, rate_bps: float, medium: Medium) -> float:
        """Duration of an attempt in ns; 0 where the rate is 0.

        Parameters
        ----------
        packet_bits : int
            Header included.
        rate_bps : float
        medium : Medium
            What other senders do to the attempt.

        Returns
        -------
        float
        """
        if rate_bps <= 0:
            return 0.0
        alone_ns = self.overhead_ns(packet_bits) + packet_bits / rate_bps * NS_PER_S
        return alone_ns * medium.slowdown + medium.wait_ns

    def heard_dbm(self, src: int, time_ns: int) -> NDArray[np.float64]:
        """Mean power that each node receives from one [dBm], fading aside; shape (N,)."""
        snr = self._mean_snr.snr(src, range(self._nodes), time_ns)
        return 10.0 * np.log10(np.maximum(snr, 1e-30)) + self._radio.noise_dbm

    def noise_rise(self, dst: int, interferers: Sequence[Interferer], time_ns: int) -> float:
        """Interference and noise over noise at a receiver.

        Parameters
        ----------
        dst : int
        interferers : sequence of Interferer
        time_ns : int

        Returns
        -------
        float
            Linear.
        """
        if not interferers:
            return 1.0
        return self._background(dst, interferers).rise(time_ns)

    def _background(self, dst: int, interferers: Sequence[Interferer]) -> Background:
        has_rate = self.has_rate if self.may_be_silent else None
        return Background(self._mean_snr, self._fading, dst, interferers, has_rate)

    def blocks(
        self,
        src: int,
        dst: int,
        time_ns: int,
        packet_bits: int,
        rate_bps: float | None = None,
        medium: Medium = ALONE,
        began_ns: int | None = None,
        interferers: Sequence[Interferer] = (),
        noise_rise: float = 1.0,
        power: float = 1.0,
        rates: Callable[[int], tuple[float, int]] | None = None,
    ) -> Iterator[ChannelBlock]:
        """The channel that a message meets, block by block.

        A block ends where the link or that of any interferer to the receiver may change; an attempt
        belongs to the block in which it begins.

        Parameters
        ----------
        src, dst : int
        time_ns : int
            When the first block begins.
        packet_bits : int
            Header included.
        rate_bps : float or None
            Fixed rate; None: each block's own, chosen by its SNR.
        medium : Medium
            What other senders do to each attempt, but for their power.
        began_ns : int or None
            When the message began, whose fading lasts under `hold = "exchange"`; None: at
            `time_ns`.
        interferers : sequence of Interferer
            Senders whose power is noise at `dst`.
        noise_rise : float
            Interference and noise over noise, linear, if that is known: without `interferers`.
        power : float
            Transmit power over the sender's full one.
        rates : callable or None
            Time [ns] -> rate [bit/s], and until when [ns]: takes the place of `rate_bps`.

        Returns
        -------
        iterator of ChannelBlock
            Without end where the channel changes in time; else of one block without end.
        """
        began_ns = time_ns if began_ns is None else began_ns
        background = None
        if interferers:
            background = self._background(dst, interferers)
        rise, flat = noise_rise, self.resource_blocks is None
        fades_alone = self._fades_alone and background is None
        while True:
            until_ns = self._fading.holds_until_ns(time_ns) if fades_alone else None
            fade = self._gain(src, dst, began_ns if self._fading.per_exchange else time_ns)
            if background is not None:
                rise = background.rise(time_ns)
            mean = self._mean_snr.pair_snr(src, dst, time_ns)
            found = mean * fade / rise * power
            share = WHOLE if medium.shares is None else medium.shares.at(time_ns)
            found = found if share is WHOLE else share.of(found)
            rate, rate_until_ns = (rate_bps, None) if rates is None else rates(time_ns)
            if rate is None:
                known = found
                if self._csi_delay_ns:
                    known = self.measured_snr(src, dst, time_ns) * power
                    seen_ns = max(0, time_ns - self._csi_delay_ns)
                    known /= rise if background is None else background.rise(seen_ns)
                    known = share.of(known)
                rate = self.rate_bps(known)
            snr: float = found if flat else self._of_blocks(found, rate)  # type: ignore[assignment]
            rate = rate if share.part else 0.0
            attempt_ns = self.attempt_ns(packet_bits, rate, medium)
            transmit_share = share.part if rate > 0 else 0.0
            if medium is not ALONE:
                transmit_share *= medium.transmit_share(attempt_ns)
            attempt_ns /= share.part or 1.0
            per = self._error(snr, packet_bits, rate) if rate > 0 else 1.0
            if snr * rise < self.sensitivity:
                per = 1.0
            each = medium.by_attempt
            if each is not None:
                each = tuple([per + loss * (1.0 - per) for loss in each])
            per += medium.collision * (1.0 - per)
            length_ns, attempts = None, None if rate > 0 else 0
            if not (self.constant or (fades_alone and mean)):
                until_ns = self._holds_until_ns(src, dst, time_ns, mean, background)
            if share.until_ns is not None:
                until_ns = min(share.until_ns, until_ns or share.until_ns)
            if rate_until_ns is not None:
                until_ns = min(rate_until_ns, until_ns or rate_until_ns)
            if rate > 0 and attempt_ns == 0.0:  # an infinite rate: it takes no time at all
                until_ns = None
            if until_ns is not None:
                length_ns, attempts = until_ns - time_ns, 0
                if rate > 0:  # an attempt belongs to the block in which it begins
                    attempts = math.ceil(length_ns / attempt_ns)
                    length_ns = math.ceil(attempts * attempt_ns)
            block = ChannelBlock(
                attempts, per, snr, attempt_ns, length_ns, medium.collision, noise_rise=rise
            )
            block.by_attempt, block.transmit_share = each, transmit_share
            if rates is not None:
                block.rate_bps = rate
            yield block
            if length_ns is None:
                return
            time_ns += length_ns

    def _holds_until_ns(
        self, src: int, dst: int, time_ns: int, mean: float, background: Background | None
    ) -> int | None:
        """Time [ns] at which SINR or rate of a pair may next change; None: never.

        `mean`: the pair's mean SNR at that instant.
        """
        until_ns = self._sinr_holds_until_ns(src, dst, time_ns, mean, background)
        if until_ns is None or not self._csi_delay_ns:
            return until_ns
        # The rate is chosen by the SINR of a while ago: a change then is a change now.
        seen_ns = max(0, time_ns - self._csi_delay_ns)
        seen = self._mean_snr.pair_snr(src, dst, seen_ns)
        seen_until_ns = self._sinr_holds_until_ns(src, dst, seen_ns, seen, background)
        if seen_until_ns is not None:
            until_ns = min(until_ns, seen_until_ns + self._csi_delay_ns)
        return until_ns

    def _sinr_holds_until_ns(
        self, src: int, dst: int, time_ns: int, mean: float, background: Background | None
    ) -> int | None:
        """Time [ns] at which the SINR of a pair may next change; None: never."""
        until_ns = None
        if self.moving:
            until_ns = self._mean_snr.holds_until_ns(src, dst, time_ns)
        if mean == 0.0:
            return until_ns  # a pair that is left out has neither fading nor interference
        if self._fading.in_time:
            block_ns = self._fading.holds_until_ns(time_ns)
            until_ns = block_ns if until_ns is None else min(block_ns, until_ns)
        if background is not None:
            others_ns = background.holds_until_ns(time_ns)
            if others_ns is not None:
                until_ns = others_ns if until_ns is None else min(others_ns, until_ns)
        return until_ns

    def step_ends_ns(self, time_ns: int) -> int | None:
        """Return the next time [ns] at which the mean SNR of any link may change; None: never."""
        return self._mean_snr.step_ends_ns(time_ns)

    def mean_snr(self, src: int, dst: int, time_ns: int) -> float:
        """SNR of a link without fading, linear; 0 for a pair that is left out.

        Parameters
        ----------
        src, dst : int
            Sender and receiver.
        time_ns : int
        """
        return self._mean_snr.pair_snr(src, dst, time_ns)

    def gain(self, src: int, dst: int, time_ns: int) -> Gain:
        """Power gain of a link's fading, the same both ways, linear; (K,) with resource blocks.

        Parameters
        ----------
        src, dst : int
            Sender and receiver.
        time_ns : int
        """
        return self._gain(src, dst, time_ns)

    # -- many pairs of a node --------------------------------------------------------------------

    def in_reach(self, src: int, others: Sequence[int], time_ns: int) -> list[int]:
        """Return the nodes in reach: those whose instantaneous SNR is at least the threshold.

        Parameters
        ----------
        src : int
        others : sequence of int
            Whom to consider.
        time_ns : int

        Returns
        -------
        list of int
            In O(neighbours within range).
        """
        return self._nodes_above(
            max(self._budget.threshold, self.sensitivity), src, others, time_ns
        )

    def noticing_nodes(
        self, src: int, others: Sequence[int], time_ns: int, power: float = 1.0
    ) -> list[int]:
        """Return the nodes that notice a sender: its SNR there is at least the sensitivity.

        Parameters
        ----------
        src : int
        others : sequence of int
            Whom to consider.
        time_ns : int
        power : float
            Transmit power over the sender's full one.

        Returns
        -------
        list of int
            Without a sensitivity, those in reach.
        """
        least = (self.sensitivity or self._budget.threshold) / power
        return self._nodes_above(least, src, others, time_ns)

    def _nodes_above(
        self, least: float, src: int, others: Sequence[int], time_ns: int
    ) -> list[int]:
        near = self._mean_snr.nodes_in_range(src, others, time_ns)
        if not near:
            return []
        means, of = self._mean_snr.snr(src, near, time_ns), self.resource_blocks
        gains = self._fading.gains_to(src, near, time_ns)
        snr = means * gains if of is None else of.snr(means[:, None] * gains)
        return [j for j, ok in zip(near, snr >= least, strict=True) if ok]
