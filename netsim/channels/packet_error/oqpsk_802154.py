"""IEEE 802.15.4 at 2.4 GHz: O-QPSK with 16 quasi-orthogonal chip sequences.

Bit error 8/15 1/16 sum_{k=2}^{16} (-1)^k C(16, k) exp(20 snr (1/k - 1)) (IEEE 802.15.4-2006,
E.4.1.8); the SNR is that over the 2 MHz of a channel, the rate 250 kb/s.
"""

import math
from typing import Literal

from netsim.channels.packet_error import PacketError, of_packet

_TERMS = tuple(((-1) ** k * math.comb(16, k), 20.0 * (1.0 / k - 1.0)) for k in range(2, 17))


class Oqpsk802154PacketError(PacketError):
    """A packet is lost if any of its bits is wrong; the threshold is not used."""

    kind: Literal["oqpsk_802154"] = "oqpsk_802154"

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        total = math.fsum(sign * math.exp(slope * snr) for sign, slope in _TERMS)
        return of_packet(total / 30.0, packet_bits)
