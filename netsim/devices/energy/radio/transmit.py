"""The radiated energy alone."""

from typing import Literal

from netsim.devices.energy.radio import RadioEnergy


class Transmit(RadioEnergy):
    """Transmit power times airtime; 0 over wires."""

    kind: Literal["transmit"] = "transmit"

    def sending_w(self, radiated_w: float) -> float:
        return radiated_w
