"""No preset: the keys of `[radio]` and their defaults."""

from typing import Any, Literal

from netsim.channels.presets import Preset


class NoPreset(Preset):
    """Keys that the scenario does not state have the defaults of `[radio]`."""

    kind: Literal["none"] = "none"

    def radio(self) -> dict[str, Any]:
        return {}
