"""Bluetooth Low Energy connections: data packets of up to 251 bytes, each acknowledged.

Bluetooth Core Specification 5.4, volume 6, part B, 2.1 and 2.2: a packet has a preamble of 8 bits
(2M: 16), an address of 32, a header of 16 and a checksum of 24; coded ones a preamble of 80 us,
address, coding indicator and termination of 296 us, and 3 more termination bits. 150 us after it an
empty packet acknowledges it, and 150 us after that the next one follows. Part A, 4.1: sensitivity;
the noise figure puts the threshold of 2M at -90 dBm.
"""

from typing import Any, Literal, NamedTuple

from netsim.channels.presets import Preset

GAP_S = 150e-6
"""T_IFS between two packets of a connection event."""


class _Phy(NamedTuple):
    rate_bps: float
    bandwidth_hz: float
    before_s: float
    header_bytes: int
    sensitivity_dbm: float


PHYS = {
    "1M": _Phy(1e6, 1e6, 0.0, 10, -70.0),
    "2M": _Phy(2e6, 2e6, 0.0, 11, -70.0),
    "coded_s2": _Phy(500e3, 1e6, 382e-6, 5, -75.0),
    "coded_s8": _Phy(125e3, 1e6, 400e-6, 5, -82.0),
}
"""By PHY: rate, bandwidth, time of what is sent at another rate, other headers, least power that
the specification demands to be received."""


class BlePreset(Preset):
    """Pairs in connections: each hops over channels of its own, so that none disturbs another.

    Attributes
    ----------
    phy : {"1M", "2M", "coded_s2", "coded_s8"}
        The physical layer.
    """

    kind: Literal["ble"] = "ble"
    phy: Literal["1M", "2M", "coded_s2", "coded_s8"] = "1M"

    def packet_s(self, payload_bytes: int) -> float:
        """Time on the air of a packet [s]."""
        phy = PHYS[self.phy]
        return phy.before_s + 8 * (phy.header_bytes + payload_bytes) / phy.rate_bps

    def radio(self) -> dict[str, Any]:
        phy = PHYS[self.phy]
        return {
            "carrier_hz": 2.44e9,
            "bandwidth_hz": phy.bandwidth_hz,
            "tx_power_dbm": 0.0,
            "noise_figure_db": 10.0,
            "threshold_db": 10.0,
            "sensitivity_dbm": phy.sensitivity_dbm,
            "packet_payload_bytes": 251,
            "packet_header_bytes": phy.header_bytes,
            "attempt_overhead_s": phy.before_s + 2 * GAP_S + self.packet_s(0),
            "rate": {"kind": "fixed", "rate_bps": phy.rate_bps},
            "packet_error": {"kind": "outage"},
            "arq": {"kind": "abort", "max_attempts": 8},
            "mac": {"kind": "orthogonal"},
        }
