"""A coded link: a logistic waterfall in dB around the SNR that the rate in use needs.

A packet of `reference_bits` is lost with probability `loss_at_threshold` at that SNR. The default
slope fits the rates of 802.11 (`ofdm_80211`): their union bounds fall from 50 to 10 % over 0.54
(6 Mb/s) to 0.63 dB (54 Mb/s) and from 10 to 1 % over 0.63 to 0.73 dB, which are 3.3 to 4.1 a dB.
Longer and shorter packets are lost as if pieces of them were lost independently.
"""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from netsim.channels.packet_error import PacketError, of_packet
from netsim.registry import Count, Positive
from netsim.units import linear_to_db


class LogisticPacketError(PacketError):
    """1 / (1 + exp(slope (snr_db - middle_db))) for a packet of `reference_bits`.

    Attributes
    ----------
    slope_per_db : float
        Steepness [1/dB].
    loss_at_threshold : float
        Loss of a packet of `reference_bits` at the rate's threshold.
    reference_bits : int
        Packet size that the threshold is stated for [bit]: 1500 bytes.
    """

    kind: Literal["logistic"] = "logistic"
    slope_per_db: Positive = 3.7
    loss_at_threshold: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = 0.1
    reference_bits: Count = 12_000
    per_rate: ClassVar[bool] = True

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        if snr <= 0.0 or math.isinf(snr):
            return 1.0 if snr <= 0.0 else 0.0
        over_db = linear_to_db(snr) - linear_to_db(threshold)
        even = math.log1p(-self.loss_at_threshold) - math.log(self.loss_at_threshold)
        x = self.slope_per_db * over_db + even
        # the loss is 1 / (1 + e^x): of two forms the one that can't overflow
        tail = math.exp(-abs(x))
        loss = tail / (1.0 + tail) if x > 0.0 else 1.0 / (1.0 + tail)
        return of_packet(loss, packet_bits / self.reference_bits)
