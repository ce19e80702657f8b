"""LTE in a cell: the resource blocks of its channel, shared by proportional fairness.

3GPP TS 36.101, table 5.6-1: 15 to 100 blocks of 180 kHz in channels of 3 to 20 MHz; power class 3,
23 dBm; a base station's noise figure of 5 dB (TR 36.942). Rates by TS 36.213, table 7.2.3-1, of one
layer, whose control signals are not taken off: 5.5547 bit/s/Hz at most, 50 Mb/s in 10 MHz. Up to
four attempts.
"""

from typing import Any, Literal

from netsim.channels.presets import Preset

BLOCKS = {3: 15, 5: 25, 10: 50, 15: 75, 20: 100}
"""Resource blocks by channel [MHz]."""


class LtePreset(Preset):
    """A carrier of 2 GHz in a city; nodes of role `server` are its base stations.

    Attributes
    ----------
    channel_mhz : {3, 5, 10, 15, 20}
        Bandwidth of the channel, guard bands included.
    """

    kind: Literal["lte"] = "lte"
    channel_mhz: Literal[3, 5, 10, 15, 20] = 10

    def radio(self) -> dict[str, Any]:
        blocks = BLOCKS[self.channel_mhz]
        return {
            "carrier_hz": 2e9,
            "bandwidth_hz": 180e3 * blocks,
            "tx_power_dbm": 23.0,
            "noise_figure_db": 5.0,
            "threshold_db": -6.7,
            "path_loss": {"kind": "uma"},
            "rate": {"kind": "lte_cqi"},
            "packet_error": {"kind": "outage"},
            "arq": {"kind": "abort", "max_attempts": 4},
            "mac": {"kind": "ofdma", "subchannels": blocks, "scheduler": "proportional_fair"},
        }
