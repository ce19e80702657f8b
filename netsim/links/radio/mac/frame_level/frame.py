"""A frame on the air."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netsim.links.radio.mac.flight import Flight, Reception
from netsim.links.radio.mac.frame_level.hearing import Heard

DATA = "data"
ACK = "ack"
RTS = "rts"
CTS = "cts"

DECODED = "decoded"
SPOILT = "spoilt"
"""Results at a receiver; `SPOILT`: it would have been decoded but for other frames."""


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
        "answers", "arrives_ns", "begins_ns", "bits", "cut", "dst", "duration_ns", "flight",
        "heard", "kind", "listeners", "nav_ns", "noticed", "number", "over", "packet", "rate_bps",
        "results", "sinr", "src",
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
        self.number, self.begins_ns = 0, 0
        self.heard: Heard
        self.noticed: NDArray[np.bool_]
        self.listeners: list[int] = []
        self.results: dict[int, str] = {}
        self.sinr: dict[int, float] = {}
        self.arrives_ns: int | None = None
        self.over = self.cut = False

    def is_for(self, node: int) -> bool:
        """Return whether a node is to receive it."""
        if self.dst is not None:
            return self.dst == node
        return self.reception_at(node) is not None

    def reception_at(self, node: int) -> Reception | None:
        """The reception of its flight at a node; None: there is none."""
        return next((r for r in self.flight.receptions if r.tx.dst == node), None)
