"""Wi-Fi after IEEE 802.11a and 802.11g: OFDM in 20 MHz under the DCF.

IEEE 802.11-2020, 17.4 and 18.5: slot 9 us, a gap of 16 us before an acknowledgement, 34 us before
a backoff; preamble 20 us; windows from 16 slots to 1024. 802.11g alone in its channel has the same
times: its gaps are 6 us shorter, and each frame has 6 us of silence at its end. Headers: 24 bytes
of MAC, 4 of checksum, 8 of LLC. At most 7 attempts.
"""

from typing import Any, Literal

from netsim.channels.presets import Preset


class WifiPreset(Preset):
    """All nodes in one channel, each sending at the fastest rate that its link allows.

    Attributes
    ----------
    standard : {"a", "g"}
        802.11a at 5.18 GHz, or 802.11g at 2.437 GHz.
    """

    kind: Literal["wifi"] = "wifi"
    standard: Literal["a", "g"] = "a"

    def radio(self) -> dict[str, Any]:
        return {
            "carrier_hz": 5.18e9 if self.standard == "a" else 2.437e9,
            "bandwidth_hz": 20e6,
            "tx_power_dbm": 16.0,
            "noise_figure_db": 7.0,
            "threshold_db": 3.96,
            "packet_payload_bytes": 1500,
            "packet_header_bytes": 36,
            "attempt_overhead_s": 20e-6,
            "rate": {"kind": "ofdm_80211"},
            "packet_error": {"kind": "ofdm_80211"},
            "arq": {"kind": "abort", "max_attempts": 7},
            "mac": {"kind": "csma", "slot_s": 9e-6, "sifs_s": 16e-6, "difs_s": 34e-6},
        }
