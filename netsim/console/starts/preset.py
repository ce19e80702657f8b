"""A radio by name: keys of `[radio]` with the values of a data sheet."""

from typing import Any, Literal

from netsim.channels.presets import Preset
from netsim.registry import Positive


class Starting(Preset):
    """A slow radio in the band of 2.4 GHz.

    Attributes
    ----------
    kbps : float
        Its rate [kbit/s].
    """

    kind: Literal["starting"] = "starting"
    kbps: Positive = 250.0

    def radio(self) -> dict[str, Any]:
        """The keys of `[radio]` that it sets, as a scenario states them."""
        return {
            "carrier_hz": 2.405e9,
            "bandwidth_hz": 2e6,
            "tx_power_dbm": 0.0,
            "packet_payload_bytes": 116,
            "rate": {"kind": "fixed", "rate_bps": 1e3 * self.kbps},
        }
