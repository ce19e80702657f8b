"""A bit error rate that falls exponentially with the SNR."""

import math
from typing import Literal

from netsim.channels.packet_error import PacketError, of_packet
from netsim.registry import Positive


class StartingPacketError(PacketError):
    """Bits are wrong with probability exp(-slope SNR) / 2, independently.

    Attributes
    ----------
    slope : float
        1 is non-coherent DBPSK.
    """

    kind: Literal["starting"] = "starting"
    slope: Positive = 1.0

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        """Probability in [0, 1] that a packet is lost at a linear SNR."""
        return of_packet(0.5 * math.exp(-self.slope * snr), packet_bits)
