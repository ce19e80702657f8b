"""A rate that does not follow the channel."""

from typing import Annotated, Literal

from netsim.channels.rate import Rate
from netsim.registry import BitRate, Plausible


class FixedRate(Rate):
    """One rate for every link, whatever its SNR; packet errors say what arrives.

    Attributes
    ----------
    rate_bps : float
        Rate of every link.
    """

    kind: Literal["fixed"] = "fixed"
    rate_bps: Annotated[BitRate, Plausible(100.0, 1e13, "radios are from 100 bit/s to Tbit/s")]

    def bits_per_s(self, snr: float, bandwidth_hz: float) -> float:
        """`rate_bps`, whatever the channel."""
        return self.rate_bps
