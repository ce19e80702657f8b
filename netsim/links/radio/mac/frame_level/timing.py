"""Lengths of frames and gaps, from the tables `[radio]` and `[radio.mac]`."""

from __future__ import annotations

from math import ceil

from netsim.channels.mac.csma import ACK_BITS, Csma, basic_rate_bps
from netsim.links.radio.table import Radio
from netsim.units import to_ns

DETECTION_S = 4e-6
"""Time within which a receiver finds a preamble and reports a busy medium (aCCATime of OFDM)."""
PREAMBLE_S = 20e-6
"""Preamble and header of an OFDM frame: a receiver knows by then that a frame has begun."""
SYMBOL_S, SERVICE_AND_TAIL_BITS = 4e-6, 22
"""An OFDM symbol, and the bits beside a frame's own."""

RTS_BITS = 8 * 20
"""Length of an RTS; a CTS is as long as an acknowledgement."""


class Timing:
    """Durations in ns.

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
        self.detection_ns = min(to_ns(DETECTION_S), self.slot_ns // 2)
        self.answer_ns = self.sifs_ns + self.slot_ns + to_ns(PREAMBLE_S) + 2 * self.propagation_ns

    def data_ns(self, bits: int, rate_bps: float) -> int:
        """A data frame of some bits, header included."""
        return to_ns(self._overhead_s + bits / rate_bps)

    def ack_ns(self, rate_bps: float) -> int:
        """The acknowledgement of a frame that was sent at some rate."""
        if self._ack_s is not None:
            return to_ns(self._ack_s)
        per_symbol = basic_rate_bps(rate_bps) * SYMBOL_S
        symbols = ceil((ACK_BITS + SERVICE_AND_TAIL_BITS) / per_symbol - 1e-9)
        return to_ns(PREAMBLE_S + symbols * SYMBOL_S)
