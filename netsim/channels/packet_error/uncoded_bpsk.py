"""Uncoded BPSK: 1 - (1 - Q(sqrt(2 snr)))^bits (Proakis, Digital Communications, 2001, 5.2).

One bit a second and hertz, so that the SNR over the bandwidth is the SNR of a bit.
"""

import math
from typing import Literal

from netsim.channels.packet_error import PacketError, of_packet


class BpskPacketError(PacketError):
    """A packet is lost if any of its bits is wrong; the threshold is not used."""

    kind: Literal["uncoded_bpsk"] = "uncoded_bpsk"

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        return of_packet(0.5 * math.erfc(math.sqrt(snr)), packet_bits)
