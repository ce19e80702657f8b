"""A rate that does not follow the channel."""

from typing import Literal

from netsim.channels.rate import Rate
from netsim.registry import BitRate


class FixedRate(Rate):
    """One rate for every link, whatever its SNR; packet errors say what arrives.

    Attributes
    ----------
    rate_bps : float
        Rate of every link.
    """

    kind: Literal["fixed"] = "fixed"
    rate_bps: BitRate

    def bits_per_s(self, snr: float, bandwidth_hz: float) -> float:
        """`rate_bps`, whatever the channel."""
        return self.rate_bps
