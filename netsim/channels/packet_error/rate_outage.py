"""Outage by rate: all or nothing at the SNR that the rate in use needs.

What a coded link does whose rate was chosen on an SNR that has since changed: the threshold is
that at which the rate model would choose this rate. Beside a rate without such an SNR (`fixed`)
it is the radio's threshold.
"""

from typing import ClassVar, Literal

from netsim.channels.packet_error import PacketError

_ROUNDING = 1.0 - 1e-9
"""The SNR on which a rate was chosen is enough for it, whatever log and exp round off."""


class RateOutagePacketError(PacketError):
    """Error-free at or over what the rate in use needs, hopeless below it."""

    kind: Literal["rate_outage"] = "rate_outage"
    per_rate: ClassVar[bool] = True

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        """0.0 at or over the threshold, else 1.0."""
        return 0.0 if snr >= threshold * _ROUNDING else 1.0
