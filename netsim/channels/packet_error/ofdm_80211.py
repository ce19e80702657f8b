"""IEEE 802.11a/g OFDM: the union bound of its convolutional codes, as ns-3's NIST model has it.

G. Pei and T. Henderson, "Validation of OFDM error rate model in ns-3", 2010: with p the bit error
rate of the constellation (Gray-coded, nearest neighbours), the K = 7 code (133, 171) with hard
decisions and punctured to b/(b+1) leaves a bit wrong with probability

Pe = sum over d of c_d D^d / (2 b), D = sqrt(4 p (1 - p)),

and a packet of L bits is lost with probability 1 - (1 - Pe)^L. The weights c_d are those of
Frenger et al., "Multi-rate convolutional codes", 1998. Where the bound exceeds 1, every packet is
lost. The packet's preamble is taken to be found.
"""

import math
from functools import lru_cache
from typing import ClassVar, Literal

from netsim.channels.packet_error import PacketError, of_packet
from netsim.channels.rate.ofdm_80211 import MBPS_AT_20_MHZ
from netsim.units import db_to_linear

_HALF = (1, 10, 2, (36, 211, 1404, 11633, 77433, 502690, 3322763, 21292910, 134365911))
_TWO_THIRDS = (2, 6, 1, (3, 70, 285, 1276, 6160, 27128, 117019, 498860, 2103891, 8784123))
_THREE_QUARTERS = (
    3, 5, 1, (42, 201, 1492, 10469, 62935, 379644, 2253373, 13073811, 75152755, 428005675),
)  # fmt: skip
"""b; the least d, the step to the next one; c_d."""

_BPSK, _QPSK, _QAM16, _QAM64 = (0.5, 1.0), (0.5, 2.0), (3 / 8, 10.0), (7 / 24, 42.0)
"""p = a erfc(sqrt(snr / b)): a, b."""

_MODES = {
    6: (_BPSK, _HALF),
    9: (_BPSK, _THREE_QUARTERS),
    12: (_QPSK, _HALF),
    18: (_QPSK, _THREE_QUARTERS),
    24: (_QAM16, _HALF),
    36: (_QAM16, _THREE_QUARTERS),
    48: (_QAM64, _TWO_THIRDS),
    54: (_QAM64, _THREE_QUARTERS),
}
"""Modulation and code by the rate in 20 MHz [Mbit/s]."""


class Ofdm80211PacketError(PacketError):
    """Beside `rate.kind = "ofdm_80211"` the rate in use says which modulation and code it is.

    Attributes
    ----------
    mbps : int or None
        Rate in 20 MHz whose modulation and code all packets have. Absent: those of the
        rate in use.
    """

    kind: Literal["ofdm_80211"] = "ofdm_80211"
    mbps: Literal[6, 9, 12, 18, 24, 36, 48, 54] | None = None
    per_rate: ClassVar[bool] = True

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        mbps = _of_threshold(threshold) if self.mbps is None else self.mbps
        return of_packet(bit_error(mbps, snr), packet_bits)


def bit_error(mbps: int, snr: float) -> float:
    """Probability that the decoder leaves a bit wrong, by its union bound; at most 1.

    Parameters
    ----------
    mbps : int
        A rate of 802.11a [Mbit/s].
    snr : float
        Linear, over the bandwidth.

    Returns
    -------
    float
    """
    (share, symbol_snr), (b, least, step, weights) = _MODES[mbps]
    p = share * math.erfc(math.sqrt(max(0.0, snr) / symbol_snr))
    distance = math.sqrt(4.0 * p * (1.0 - p))
    growth, found = distance**step, 0.0
    for weight in reversed(weights):
        found = found * growth + weight
    return min(1.0, found * distance**least / (2.0 * b))


@lru_cache
def _of_threshold(threshold: float) -> int:
    """The rate [Mbit/s] that is chosen from an SNR, linear, on; of others the one that is next."""

    def log_distance(entry: tuple[int, float]) -> float:
        return abs(math.log(threshold / db_to_linear(entry[1])))

    return min(MBPS_AT_20_MHZ, key=log_distance)[0]
