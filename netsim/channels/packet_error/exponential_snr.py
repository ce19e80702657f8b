"""Packet error 1 - exp(-m / snr), the customary curve of federated learning over wireless.

Used with m = 0.023 by Chen et al., "A Joint Learning and Communications Framework for Federated
Learning over Wireless Networks", IEEE Trans. Wireless Commun. 2021 (arXiv:1909.07972), whatever
the packet's size. Xi et al. ("A General Upper Bound to Evaluate Packet Error Rate over
Quasi-Static Fading Channels", IEEE Trans. Wireless Commun. 2011) derive the same form with the
*mean* SNR, as a bound on the error already averaged over Rayleigh fading: beside
`fading.kind = "none"` it stands for such an average.
"""

import math
from typing import Literal

from netsim.channels.packet_error import PacketError
from netsim.registry import Positive


class ExponentialPacketError(PacketError):
    """A soft threshold at SNR m: 1 - exp(-m / snr), whatever the packet size and the threshold.

    Attributes
    ----------
    m : float
        Waterfall threshold, a linear SNR. Source: Chen et al., IEEE Trans. Wireless Commun. 2021.
    """

    kind: Literal["exponential_snr"] = "exponential_snr"
    m: Positive = 0.023

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        return -math.expm1(-self.m / snr) if snr > 0.0 else 1.0
