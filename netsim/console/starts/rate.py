"""A part of Shannon's capacity, in whole steps."""

import math
from typing import Literal

from netsim.channels.rate import Rate
from netsim.registry import BitRate, Positive


class Starting(Rate):
    """The largest multiple of a step below a part of the capacity.

    Attributes
    ----------
    part : float
        Of B log2(1 + SNR).
    step_bps : float
        In bit/s.
    """

    kind: Literal["starting"] = "starting"
    part: Positive = 0.75
    step_bps: BitRate = 1e6

    def bits_per_s(self, snr: float, bandwidth_hz: float) -> float:
        """Rate [bit/s] at a linear SNR; 0.0 where the link cannot be used."""
        capacity_bps = bandwidth_hz * math.log2(1.0 + snr)
        return math.floor(self.part * capacity_bps / self.step_bps) * self.step_bps

    def needed_snr(self, rate_bps: float, bandwidth_hz: float) -> float:
        """Least linear SNR at which a rate [bit/s] is chosen."""
        return math.expm1(math.log(2.0) * rate_bps / (self.part * bandwidth_hz))
