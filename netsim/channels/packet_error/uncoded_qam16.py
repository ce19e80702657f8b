"""Uncoded 16-QAM: bit error 3/8 erfc(sqrt(snr / 10)) (Proakis, Digital Communications, 2001).

Gray-coded, nearest neighbours only: four bits a second and hertz, so that the SNR over the
bandwidth is that of a symbol.
"""

import math
from typing import Literal

from netsim.channels.packet_error import PacketError, of_packet


class Qam16PacketError(PacketError):
    """A packet is lost if any of its bits is wrong; the threshold is not used."""

    kind: Literal["uncoded_qam16"] = "uncoded_qam16"

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        return of_packet(0.375 * math.erfc(math.sqrt(snr / 10.0)), packet_bits)
