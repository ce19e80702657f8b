"""Shannon's rate at an SNR reduced by a gap: R = B log2(1 + snr / gap).

The gap -ln(5 BER) / 1.5 is that of uncoded adaptive M-QAM (Goldsmith and Chua, IEEE Trans.
Commun. 1997); the default of 7.4 dB is a bit error rate of 5e-5. A gap of 0 dB is capacity.
"""

import math
from typing import Literal

from netsim.channels.rate._adaptive import AdaptiveRate
from netsim.registry import BitRate, Loss
from netsim.units import db_to_linear


class ShannonGap(AdaptiveRate):
    """A rate that follows the channel.

    Attributes
    ----------
    gap_db : float
        Gap between the SNR and the one that the Shannon capacity needs for the same rate [dB].
    min_rate_bps : float
        Least rate [bit/s]: below it the link is not used. It has no default and must not be 0,
        because without a least rate the mean time of a message under Rayleigh fading is infinite.
    """

    kind: Literal["shannon_gap"] = "shannon_gap"
    gap_db: Loss = 7.4
    min_rate_bps: BitRate

    def bits_per_s(self, snr: float, bandwidth_hz: float) -> float:
        """Rate [bit/s] at a linear SNR; 0.0 below `min_rate_bps`."""
        rate_bps = bandwidth_hz * math.log1p(snr / db_to_linear(self.gap_db)) / math.log(2.0)
        return rate_bps if rate_bps >= self.min_rate_bps else 0.0

    def slowest_bps(self, bandwidth_hz: float) -> float:
        """`min_rate_bps`."""
        return self.min_rate_bps

    def needed_snr(self, rate_bps: float, bandwidth_hz: float) -> float:
        """Gap (2^(rate / B) - 1)."""
        spent = rate_bps / bandwidth_hz * math.log(2.0)
        return db_to_linear(self.gap_db) * (math.expm1(spent) if spent < 700.0 else math.inf)
