"""Frames of an exchange: data, its announcement, the answers to both, and their lengths."""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import NDArray

from netsim.channels.mac.csma import ACK_BITS, PREAMBLE_S, Csma, basic_rate_bps
from netsim.links.radio.mac.flight import Flight, Reception
from netsim.links.radio.mac.frame_level.hearing import Heard
from netsim.links.radio.table import Radio
from netsim.units import to_ns

DATA = "data"
ACK = "ack"
RTS = "rts"
CTS = "cts"

DECODED = "decoded"
SPOILT = "spoilt"
"""Results at a receiver; `SPOILT`: it would have been decoded but for other frames."""

SYMBOL_S, SERVICE_AND_TAIL_BITS = 4e-6, 22
"""An OFDM symbol, and the bits beside a frame's own."""

RTS_BITS = 8 * 20
"""Length of an RTS; a CTS is as long as an acknowledgement."""


class Timing:
    """Durations of frames and gaps [ns].

    Parameters
    ----------
    radio : Radio
    mac : Csma

    Attributes
    ----------
    slot_ns, sifs_ns, difs_ns, eifs_ns : int
        Idle slot and gaps between frames.
    rts_ns, cts_ns : int
        Control frames.
    propagation_ns : int
        From any station to any other.
    detection_ns : int
        From the beginning of a frame until stations react to it.
    answer_ns : int
        How long after its frame a sender waits for the beginning of an answer.
    """

    def __init__(self, radio: Radio, mac: Csma) -> None:
        self._overhead_s, self._ack_s = radio.attempt_overhead_s, mac.ack_s
        self.slot_ns, self.sifs_ns = to_ns(mac.slot_s), to_ns(mac.sifs_s)
        self.difs_ns = to_ns(mac.difs_s)
        self.eifs_ns = self.difs_ns if mac.eifs_s is None else to_ns(mac.eifs_s)
        self.rts_ns, self.cts_ns = to_ns(mac.rts_s), to_ns(mac.cts_s)
        self.propagation_ns = to_ns(mac.propagation_s)
        # Two stations whose slots are aligned never notice each other's frame within its slot.
        self.detection_ns = min(to_ns(mac.detection_s), self.slot_ns // 2)
        self.answer_ns = self.sifs_ns + self.slot_ns + to_ns(PREAMBLE_S) + 2 * self.propagation_ns

    def data_ns(self, bits: int, rate_bps: float) -> int:
        """Duration of a data frame of some bits, header included [ns]."""
        return to_ns(self._overhead_s + bits / rate_bps)

    def ack_ns(self, rate_bps: float) -> int:
        """Duration of the acknowledgement of a frame of some rate [ns]."""
        if self._ack_s is not None:
            return to_ns(self._ack_s)
        per_symbol = basic_rate_bps(rate_bps) * SYMBOL_S
        symbols = ceil((ACK_BITS + SERVICE_AND_TAIL_BITS) / per_symbol - 1e-9)
        return to_ns(PREAMBLE_S + symbols * SYMBOL_S)


class Frame:
    """One frame, sent once.

    Parameters
    ----------
    kind : str
        `DATA`, `ACK`, `RTS` or `CTS`.
    src : int
    dst : int or None
        Whom it is addressed to; None: to all receivers of its flight.
    flight : Flight
        Whose data it carries, announces or acknowledges.
    duration_ns : int
    rate_bps : float
        What it is sent at, which says what SNR it needs.
    bits : int
        Its length, header included.
    nav_ns : int
        For how long after its end stations that it is not addressed to hold back.
    answers : Frame or None
        The frame that it answers.
    packet : int
        Which packet of its flight is in it or was.

    Attributes
    ----------
    announces : Frame or None
        The data frame that an RTS announces.
    announced : bool
        Whether an RTS came before it.
    number : int
        Which of its sender's frames it is; keys the random draws of its decoding.
    begins_ns : int
        When it was sent.
    arrives_ns : int or None
        When its beginning arrived elsewhere; None: not yet.
    heard : Heard
        How loud it is everywhere; set when it is sent, as is `noticed`.
    noticed : (nodes,) bool array
        Who can find its preamble.
    listeners : list of int
        Nodes that have locked to it.
    results : dict of int to str
        By addressee, what became of it; without an entry it was too weak, or not listened to.
    sinr : dict of int to float
        By addressee that locked to it, the worst SINR that it met, linear.
    over, cut : bool
        Whether it has ended, and whether its sender broke it off.
    """

    __slots__ = (
        "announced", "announces", "answers", "arrives_ns", "begins_ns", "bits", "cut", "dst",
        "duration_ns", "flight", "heard", "kind", "listeners", "nav_ns", "noticed", "number",
        "over", "packet", "rate_bps", "results", "sinr", "src",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        src: int,
        dst: int | None,
        flight: Flight,
        duration_ns: int,
        rate_bps: float,
        bits: int,
        nav_ns: int = 0,
        answers: Frame | None = None,
        packet: int = 0,
    ) -> None:
        self.kind, self.src, self.dst, self.flight = kind, src, dst, flight
        self.duration_ns, self.rate_bps, self.bits = duration_ns, rate_bps, bits
        self.nav_ns, self.answers, self.packet = nav_ns, answers, packet
        self.announces: Frame | None = None
        self.announced = False
        self.number, self.begins_ns = 0, 0
        self.heard: Heard
        self.noticed: NDArray[np.bool_]
        self.listeners: list[int] = []
        self.results: dict[int, str] = {}
        self.sinr: dict[int, float] = {}
        self.arrives_ns: int | None = None
        self.over = self.cut = False

    def is_for(self, node: int) -> bool:
        """Return whether a node is a receiver of it."""
        if self.dst is not None:
            return self.dst == node
        return self.reception_at(node) is not None

    def reception_at(self, node: int) -> Reception | None:
        """The reception of its flight at a node; None: there is none."""
        return next((r for r in self.flight.receptions if r.tx.dst == node), None)


def data_frame(
    timing: Timing, flight: Flight, packet: int, rate_bps: float, acknowledged: bool
) -> Frame:
    """A data frame.

    Parameters
    ----------
    timing : Timing
    flight : Flight
    packet : int
        Which of its packets.
    rate_bps : float
    acknowledged : bool
        Whether unicasts are.

    Returns
    -------
    Frame
        With a reservation for its acknowledgement, if it will have one.
    """
    bits, dst, nav_ns = flight.packet_bits, None, 0
    if not flight.broadcast:
        dst = flight.receptions[0].tx.dst
        nav_ns = timing.sifs_ns + timing.ack_ns(rate_bps) if acknowledged else 0
    duration_ns = timing.data_ns(bits, rate_bps)
    return Frame(DATA, flight.src, dst, flight, duration_ns, rate_bps, bits, nav_ns, packet=packet)


def rts_frame(timing: Timing, data: Frame) -> Frame:
    """The announcement of a data frame; it reserves the medium to the end of the exchange."""
    nav_ns = 2 * timing.sifs_ns + timing.cts_ns + data.duration_ns + data.nav_ns
    rate_bps, packet = min(basic_rate_bps(0.0), data.rate_bps), data.packet
    lasts_ns = timing.rts_ns
    frame = Frame(
        RTS, data.src, data.dst, data.flight, lasts_ns, rate_bps, RTS_BITS, nav_ns, packet=packet
    )
    frame.announces, data.announced = data, True
    return frame


def answer_frame(timing: Timing, kind: str, node: int, frame: Frame) -> Frame:
    """The answer to a frame, with the rest of its reservation.

    Parameters
    ----------
    timing : Timing
    kind : str
        `ACK` or `CTS`.
    node : int
        Who answers.
    frame : Frame

    Returns
    -------
    Frame
    """
    duration_ns = timing.cts_ns if kind == CTS else timing.ack_ns(frame.rate_bps)
    nav_ns = frame.nav_ns - timing.sifs_ns - duration_ns
    # A rate below all basic ones has an answer of its own.
    rate_bps = min(basic_rate_bps(frame.rate_bps), frame.rate_bps)
    return Frame(
        kind, node, frame.src, frame.flight, duration_ns, rate_bps, ACK_BITS, nav_ns, frame
    )
