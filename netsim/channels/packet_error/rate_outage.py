"""Outage by rate: all or nothing at the SNR that the rate in use needs.

For a coded link whose rate was chosen on an SNR that has since changed: the threshold is the SNR
from which the rate model would choose this rate. Beside a rate without such an SNR (`fixed`)
it is the radio's threshold.
"""

from typing import ClassVar, Literal

from netsim.channels.packet_error import PacketError

_ROUNDING = 1.0 - 1e-9
"""Tolerance: the SNR on which a rate was chosen is enough for it in spite of rounding."""


class RateOutagePacketError(PacketError):
    """No packet is lost at or over the SNR that the rate in use needs, every packet below it."""

    kind: Literal["rate_outage"] = "rate_outage"
    per_rate: ClassVar[bool] = True

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        return 0.0 if snr >= threshold * _ROUNDING else 1.0
