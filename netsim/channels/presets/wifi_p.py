"""Vehicles after IEEE 802.11p, as ITS-G5 and WAVE have it: OFDM in 10 MHz at 5.9 GHz.

IEEE 802.11-2020, 17.3 and 17.4, 10 MHz: all times of the frame twice those of 20 MHz, rates of 3
to 27 Mb/s, preamble 40 us, slot 13 us, gap before an acknowledgement 32 us. Outside a network (ETSI
EN 302 663, table B.3) an access category waits AIFS = 32 us + AIFSN 13 us and has windows from
CWmin + 1 to CWmax + 1 slots: voice 2, 3 to 7; video 3, 7 to 15; best effort 6, background 9, both
15 to 1023. An acknowledgement takes 88, 64 or 56 us at 3, 6 or 12 Mb/s.
"""

from typing import Any, Literal, NamedTuple, Self

from pydantic import model_validator

from netsim.channels.presets import Preset

RATES_MBPS = (3.0, 4.5, 6.0, 9.0, 12.0, 18.0, 24.0, 27.0)
SLOT_S, SIFS_S = 13e-6, 32e-6
ACK_S = ((12.0, 56e-6), (6.0, 64e-6), (3.0, 88e-6))
"""Rate from which on [Mbit/s] an acknowledgement takes so long."""


class _Category(NamedTuple):
    aifsn: int
    cw_min: int
    stages: int


CATEGORIES = {
    "voice": _Category(2, 4, 1),
    "video": _Category(3, 8, 1),
    "best_effort": _Category(6, 16, 6),
    "background": _Category(9, 16, 6),
}
"""AIFSN, first window and how many times it doubles."""


class WifiPPreset(Preset):
    """All vehicles in one channel and access category, at one rate.

    Attributes
    ----------
    access_category : {"voice", "video", "best_effort", "background"}
        AC_VO, AC_VI, AC_BE or AC_BK of EDCA.
    mbps : float
        3, 4.5, 6, 9, 12, 18, 24 or 27 Mbit/s.
    """

    kind: Literal["wifi_p"] = "wifi_p"
    access_category: Literal["voice", "video", "best_effort", "background"] = "best_effort"
    mbps: float = 6.0

    @model_validator(mode="after")
    def _is_a_rate(self) -> Self:
        if self.mbps not in RATES_MBPS:
            raise ValueError(f"mbps = {self.mbps:g}: 802.11p has 3, 4.5, 6, 9, 12, 18, 24 and 27")
        return self

    def radio(self) -> dict[str, Any]:
        category = CATEGORIES[self.access_category]
        return {
            "carrier_hz": 5.9e9,
            "bandwidth_hz": 10e6,
            "tx_power_dbm": 23.0,
            "noise_figure_db": 7.0,
            "threshold_db": 3.96,
            "packet_payload_bytes": 1500,
            "packet_header_bytes": 36,
            "attempt_overhead_s": 40e-6,
            "rate": {"kind": "fixed", "rate_bps": self.mbps * 1e6},
            "packet_error": {"kind": "ofdm_80211", "mbps": round(2 * self.mbps)},
            "arq": {"kind": "abort", "max_attempts": 7},
            "mac": {
                "kind": "csma",
                "slot_s": SLOT_S,
                "sifs_s": SIFS_S,
                "difs_s": round(SIFS_S + category.aifsn * SLOT_S, 9),
                "ack_s": next(ack_s for from_mbps, ack_s in ACK_S if self.mbps >= from_mbps),
                "cw_min": category.cw_min,
                "stages": category.stages,
            },
        }
