"""A coded link: bits whose loss is logistic in dB, around the SNR that the rate in use needs.

A packet of `reference_bits` is lost with probability `loss_at_threshold` at that SNR. The loss of
other packets follows from their number of bits, since a packet is lost if any of its bits is. So a
packet's loss rises from little as exp(-slope dB), and what gets through where most is lost falls
far faster, as exp(-exp(-slope dB)): a decoder's errors are short events, of which one is enough. Of
a whole packet the logistic curve would let 10 to 17 % through where a union bound lets 1 % through.

The default slope fits the rates of 802.11: the exponents of their union bounds (packet_error
`ofdm_80211`) change by a factor exp(3.0) (54 Mb/s) to exp(3.6) (6 Mb/s) a dB between 1 and 90 % of
loss.
"""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from netsim.channels.packet_error import PacketError, of_packet
from netsim.registry import Count, Positive
from netsim.units import linear_to_db


class LogisticPacketError(PacketError):
    """1 / (1 + exp(slope (snr_db - middle_db))) for each bit of a packet.

    Attributes
    ----------
    slope_per_db : float
        Steepness of the curve: decrease of the log-odds of a loss per dB of SNR.
    loss_at_threshold : float
        Loss of a packet of `reference_bits` at the rate's threshold.
    reference_bits : int
        Packet size to which the threshold belongs [bit]: 1500 bytes.
    """

    kind: Literal["logistic"] = "logistic"
    slope_per_db: Positive = 3.2
    loss_at_threshold: Annotated[float, Field(ge=1e-12, lt=1, allow_inf_nan=False)] = 0.1
    reference_bits: Count = 12_000
    per_rate: ClassVar[bool] = True

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        if snr <= 0.0 or math.isinf(snr):
            return 1.0 if snr <= 0.0 else 0.0
        over_db = linear_to_db(snr) - linear_to_db(threshold)
        at_threshold = -math.expm1(math.log1p(-self.loss_at_threshold) / self.reference_bits)
        even = math.log1p(-at_threshold) - math.log(at_threshold)
        x = self.slope_per_db * over_db + even
        # the loss of a bit is 1 / (1 + e^x): of two forms the one that can't overflow
        tail = math.exp(-abs(x))
        loss = tail / (1.0 + tail) if x > 0.0 else 1.0 / (1.0 + tail)
        return of_packet(loss, packet_bits)
