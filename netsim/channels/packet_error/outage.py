"""Outage: all or nothing at the radio's threshold."""

from typing import Literal

from netsim.channels.packet_error import PacketError


class OutagePacketError(PacketError):
    """A strong code: no packet is lost at or over the threshold, every packet below it."""

    kind: Literal["outage"] = "outage"

    def probability(self, snr: float, packet_bits: int, threshold: float) -> float:
        return 0.0 if snr >= threshold else 1.0
