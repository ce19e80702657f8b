"""CSMA/CA: listen before talk with exponential backoff, as the DCF of IEEE 802.11 (basic access).

G. Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function", IEEE JSAC
2000. n senders always have a packet; one begins in a slot with probability tau and collides with
probability p, eqs. (7) and (9):

tau = 2 (1-2p) / ((1-2p)(W+1) + p W (1 - (2p)^m)),  p = 1 - (1-tau)^(n-1)

A sender's share is S(n)/n, eq. (13): `medium` and `throughput`, with packets of one length, no
limit of attempts and everybody in range. With `anomalous_slots = false` this is all that contenders
do to each other; by default what happens between one exchange and the next is counted as the
standard has it (`netsim/channels/mac/_dcf/fixed_point.py`).

On the air, all senders that are active together, of whatever packets, are solved together
(equations and sources in the same file): Bianchi's windows, which double for whatever reason a
packet failed; contenders that do not all hear each other; and senders that are
hidden from each other and spoil packets at each other's receivers, wherever the SINR is too low or
the receiver has locked to the other packet. An attempt is one transmission, so that the limit of
`[radio.arq]` counts every one of them, as the retry limit of 802.11 does, and saturated hidden
senders lose packets. What is not acknowledged (broadcasts, `arq = "none"`) is sent once, with the
first window.

`docs/fidelity.md` compares it with ns-3: throughput is within 1 % with up to 20 saturated senders
in range of each other, and 3 to 6 % too low with two saturated hidden senders; with four hidden
senders that just fill their receiver a fifth too few packets arrive. Mean delays in networks with
many hidden senders are within 4 % on average, in single networks within 12 %.

I. Tinnirello, G. Bianchi, Y. Xiao, "Refinements on IEEE 802.11 Distributed Coordination Function
Modeling Approaches", IEEE Trans. Veh. Technol. 2010: the slot after a success can be used by its
sender alone, which does so with probability 1/W. ns-3 checks its 802.11 against their form.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, ClassVar, Literal, Self, cast

import scipy
from pydantic import Field, model_validator

from netsim.channels.mac import Mac, Medium
from netsim.channels.mac._dcf.contention_problem import (
    PREAMBLE_S,
    Access,
    ContentionProblem,
    Hidden,
    Sender,
    Timing,
    exchange_s,
)
from netsim.channels.mac._dcf.fixed_point import solve
from netsim.registry import Count, Index, OffClock, Positive, Span
from netsim.units import NS_PER_S, db_to_linear

__all__ = ["PREAMBLE_S", "Access", "ContentionProblem", "Csma", "Hidden", "Sender"]

ACK_S = ((0.0, 44e-6), (12e6, 32e-6), (24e6, 28e-6))
"""(data rate from which on [bit/s], time of an acknowledgement [s]) of IEEE 802.11a."""
ACK_BITS = 8 * 14
BASIC_RATES_BPS = (24e6, 12e6, 6e6)
"""Rates at which control frames are sent."""

DETECTION_S = 4e-6
"""Time within which a receiver finds a preamble and reports a busy medium (aCCATime of OFDM)."""

PREAMBLE_SNR = db_to_linear(4.0)
"""SINR, linear, from which on a receiver finds a preamble and locks to its packet: what ns-3's
`ThresholdPreambleDetectionModel` takes."""


def basic_rate_bps(rate_bps: float) -> float:
    """The highest basic rate that is not above a rate, at which it is answered [bit/s]."""
    return next((basic for basic in BASIC_RATES_BPS if basic <= rate_bps), BASIC_RATES_BPS[-1])


class Csma(Mac):
    """Contention packet by packet: a message occupies no radio, so no receiver is busy.

    `[radio] attempt_overhead_s` is the time of preambles; those of the acknowledgement and the
    gaps are here. The defaults are those of IEEE 802.11a.

    Attributes
    ----------
    slot_s : float
        Length of an idle slot of the backoff.
    sifs_s : float
        Gap between a packet and its acknowledgement.
    difs_s : float
        Gap after which a sender may take a free channel.
    ack_s : float or None
        Time of an acknowledgement. Absent: at the highest basic rate of 802.11a (6, 12 or 24 Mb/s)
        that is not above the data rate.
    eifs_s : float or None
        Gap in place of DIFS after a frame that a station senses but cannot decode. Absent:
        `difs_s`.
    rts_threshold_bits : int or None
        Size of packets above which RTS and CTS come before them. Absent: never.
    rts_s : float
        Time of an RTS frame at the basic rate.
    cts_s : float
        Time of a CTS frame at the basic rate.
    capture : bool
        Whether the SINR decides about a packet that overlaps others at its receiver; otherwise it
        is lost.
    propagation_s : float
        One-way delay on the air, which counts once for a packet and once for its acknowledgement.
        Together with the time to notice a frame (4 us) it should be shorter than `slot_s`;
        otherwise packets that begin a slot apart also collide, which only the frame level plays.
    cw_min : int
        W: a first backoff is uniform on 0 .. W-1 slots. Source: Bianchi, IEEE JSAC 2000.
    stages : int
        m, number of times that the window doubles. Source: Bianchi, IEEE JSAC 2000.
    anomalous_slots : bool
        Whether the model includes the slot after an exchange, which only its senders can use, and
        the wait for an answer that does not come; false: Bianchi's model as published, at message
        level only. Source: Tinnirello, Bianchi and Xiao, IEEE Trans. Veh. Technol. 2010.
    carrier_sense_m : float or None
        Distance within which senders contend, when the later one starts; others are hidden from
        each other. Absent: all contend.
    """

    kind: Literal["csma"] = "csma"
    exclusive: ClassVar[bool] = False
    senses: ClassVar[bool] = True
    contends: ClassVar[bool] = True
    interferes: ClassVar[bool] = True
    slot_s: Annotated[Positive, Field(le=1e6)] = 9e-6
    sifs_s: Span = 16e-6
    difs_s: Span = 34e-6
    ack_s: Span | None = None
    eifs_s: Span | None = None
    rts_threshold_bits: Index | None = None
    rts_s: Annotated[Positive, Field(le=1e6)] = 52e-6
    cts_s: Annotated[Positive, Field(le=1e6)] = 44e-6
    capture: bool = False
    propagation_s: Annotated[Span, OffClock()] = 0.0
    cw_min: Count = 16
    stages: Annotated[int, Field(ge=0, le=30)] = 6
    anomalous_slots: bool = True
    carrier_sense_m: Positive | None = None

    def unread_keys(self) -> Mapping[str, str]:
        if self.rts_threshold_bits is not None:
            return {}
        return dict.fromkeys(("rts_s", "cts_s"), "RTS and CTS are sent with rts_threshold_bits")

    @model_validator(mode="after")
    def _collisions_end(self) -> Self:
        if self.cw_min == 1 and self.stages == 0:
            raise ValueError(
                "cw_min = 1 and stages = 0: no sender waits, and two senders collide for ever; "
                "set cw_min to at least 2"
            )
        return self

    @property
    def range_m(self) -> float | None:
        return self.carrier_sense_m

    @property
    def detection_s(self) -> float:
        """Time from the beginning of a frame's arrival until stations react to it [s]."""
        return min(DETECTION_S, 0.5 * self.slot_s)

    @property
    def noticed_in_time(self) -> bool:
        return self.propagation_s + self.detection_s < self.slot_s

    @property
    def of_means(self) -> str:
        return "" if self.anomalous_slots else "anomalous_slots = false"

    def medium(self, contenders: int, nodes: int) -> Medium:
        """Factor and wait that stretch an attempt to the time from one success to the next."""
        return _medium(self, contenders)

    def sender(
        self,
        frame_s: float,
        rate_bps: float,
        bits: int,
        limit: int | None,
        error: float,
        heard: bool = True,
    ) -> Sender:
        """A sender whose packets are acknowledged.

        Parameters
        ----------
        frame_s : float
            Time of a packet, headers included [s].
        rate_bps : float
            Its data rate [bit/s].
        bits : int
            Its size, headers included.
        limit : int or None
            Attempts at a packet; None: any number.
        error : float
            Probability that an attempt is lost without other senders.
        heard : bool
            Whether its receiver listens; if not, every attempt is lost, with RTS that of the RTS.
        """
        rts = self.rts_threshold_bits is not None and bits > self.rts_threshold_bits
        if rts and not heard:
            return Sender(self.rts_s, self.cts_s, False, limit, 1.0, frame_s)
        ack_s = self.acknowledgement_s(rate_bps)
        return Sender(frame_s, ack_s, rts, limit, error if heard else 1.0)

    def exchange_s(self, sender: Sender) -> float:
        """Time of an exchange that succeeds, without the gap and the backoff before it [s]."""
        return exchange_s(cast(Timing, self), sender)

    def still_silent_s(self, since_s: float) -> float:
        """Mean time for which a sender is still silent after its last exchange [s].

        It draws a backoff after each one, also where it has no more to send (IEEE 802.11-2020,
        10.3.4.3).

        Parameters
        ----------
        since_s : float
            How long ago that exchange ended; the medium has been idle since then.
        """
        widest_s, left_s = self.slot_s * (self.cw_min - 1), since_s - self.difs_s
        if left_s <= 0.0:
            return 0.5 * widest_s - left_s
        return max(0.0, widest_s - left_s) ** 2 / (2.0 * widest_s) if widest_s else 0.0

    def acknowledgement_s(self, rate_bps: float) -> float:
        """Time of the acknowledgement of a packet at a data rate [s]."""
        if self.ack_s is not None:
            return self.ack_s
        return [time_s for from_bps, time_s in ACK_S if from_bps <= rate_bps][-1]

    def access(self, problem: ContentionProblem) -> tuple[Access, ...]:
        """Return the effect of senders active together on each other's attempts, one a sender."""
        return solve(self, problem)

    def attempt_probability(self, contenders: int) -> float:
        """Probability tau that one of so many senders begins in a slot."""
        w, m = self.cw_min, self.stages

        def tau_of(p: float) -> float:
            doublings = sum((2.0 * p) ** k for k in range(m))  # (1 - (2p)^m) / (1 - 2p)
            return 2.0 / (w + 1.0 + p * w * doublings)

        if contenders == 1:
            return tau_of(0.0)
        p = scipy.optimize.brentq(
            lambda p: 1.0 - (1.0 - tau_of(p)) ** (contenders - 1) - p, 0.0, 1.0, xtol=1e-14
        )
        return tau_of(float(p))

    def throughput(self, contenders: int, packet_s: float, payload_s: float) -> float:
        """S(n), Bianchi's eq. (13): share of time in which payload gets through.

        Parameters
        ----------
        contenders : int
            n.
        packet_s, payload_s : float
            Time of a packet with all headers, and of its payload alone [s].

        Returns
        -------
        float
            In [0, 1], of all senders together.
        """
        medium = self.medium(contenders, contenders)
        return contenders * payload_s / (packet_s * medium.slowdown + medium.wait_ns / NS_PER_S)


@lru_cache(maxsize=4096)
def _medium(mac: Csma, n: int) -> Medium:
    ack_s = ACK_S[0][1] if mac.ack_s is None else mac.ack_s
    if mac.anomalous_slots:
        heard = tuple([tuple([j for j in range(n) if j != i]) for i in range(n)])
        packets = [Sender(frame_s, ack_s, False, None, 0.0) for frame_s in (0.0, 1.0)]
        found = [
            mac.access(ContentionProblem((one,) * n, heard, (), (((),),) * n))[0] for one in packets
        ]
        empty_s, second_s = (one.attempt_s / (1.0 - one.losses[0]) for one in found)
        sent = 1.0 / (1.0 - found[0].losses[0])
        return Medium(second_s - empty_s, empty_s * NS_PER_S, transmissions=sent)
    tau = mac.attempt_probability(n)
    idle = (1.0 - tau) ** n
    one = n * tau * (1.0 - tau) ** (n - 1)
    several = max(0.0, 1.0 - idle - one)
    success_s = mac.sifs_s + ack_s + mac.difs_s + 2.0 * mac.propagation_s
    collision_s = mac.difs_s + mac.propagation_s
    # A cycle is idle slots, collisions and one success, which is the sender's in one of n.
    wait_s = n * (success_s + (idle * mac.slot_s + several * collision_s) / one)
    return Medium(
        slowdown=n * (1.0 + several / one),
        wait_ns=wait_s * NS_PER_S,
        transmissions=(1.0 - tau) ** (1 - n),
    )
