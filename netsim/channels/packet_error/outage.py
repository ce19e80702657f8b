"""Outage: all or nothing at the radio's threshold."""

from typing import Literal

from netsim.channels.packet_error import PacketError


class OutagePacketError(PacketError):
    """What strong codes do: error-free at or over the threshold, hopeless below it."""

    kind: Literal["outage"] = "outage"

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        """0.0 at or over the threshold, else 1.0."""
        return 0.0 if snr >= threshold else 1.0
