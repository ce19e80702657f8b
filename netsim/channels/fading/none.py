"""No fading: the received power is its mean."""

from collections.abc import Mapping
from typing import Literal

from netsim.channels import Real
from netsim.channels.fading import Fading


class NoFading(Fading):
    """A constant gain of 1."""

    kind: Literal["none"] = "none"

    def unread_keys(self) -> Mapping[str, str]:
        why = dict.fromkeys(("hold", "process", "tones"), "the gain is always 1")
        return {**super().unread_keys(), **why}

    def power_gain(self, u: Real) -> Real:
        """Ones, shaped as `u`."""
        return 0.0 * u + 1.0
