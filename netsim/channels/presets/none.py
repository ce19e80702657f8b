"""No preset: the defaults of `[radio]`."""

from typing import Any, Literal

from netsim.channels.presets import Preset


class NoPreset(Preset):
    """No preset: what the scenario does not say is as by default."""

    kind: Literal["none"] = "none"

    def radio(self) -> dict[str, Any]:
        return {}
