"""A fixed loss probability, for links that are described by their loss alone."""

from typing import ClassVar, Literal

from netsim.channels.packet_error import PacketError
from netsim.registry import Fraction


class FixedPacketError(PacketError):
    """Independent losses that ignore the channel.

    Attributes
    ----------
    loss : float
        Probability of losing a packet in one attempt.
    """

    kind: Literal["fixed"] = "fixed"
    loss: Fraction
    by_snr: ClassVar[bool] = False

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        return self.loss
