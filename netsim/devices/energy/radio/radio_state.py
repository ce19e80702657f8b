"""Radios whose power depends on their state."""

from typing import Annotated, ClassVar, Literal

from netsim.devices.energy.radio import RadioEnergy
from netsim.registry import NonNegative, Plausible


class RadioState(RadioEnergy):
    """A power for each state of the radio.

    A node that is off draws nothing. A node that is awake receives during the airtime of every
    message to it, lost ones included. If all nodes share one channel (`mac` "shared", "csma",
    "aloha"), it also receives every message to others that it notices (`sensitivity_dbm`, else
    `threshold_db`); this energy is counted when that message has ended.

    Attributes
    ----------
    tx_w
        Power drawn while sending.
    rx_w
        Power drawn while receiving.
    idle_w
        Power drawn while awake without sending or receiving.
    sleep_w
        Power drawn while asleep.
    """

    kind: Literal["radio_state"] = "radio_state"
    needs_radio: ClassVar[bool] = True
    tx_w: Annotated[NonNegative, Plausible(most=1e4, why="it is in watt")]
    rx_w: Annotated[NonNegative, Plausible(most=1e4, why="it is in watt")]
    idle_w: Annotated[NonNegative, Plausible(most=1e4, why="it is in watt")]
    sleep_w: NonNegative = 0.0

    def standing_w(self) -> float:
        return self.idle_w

    def sleeping_w(self) -> float:
        return self.sleep_w

    def sending_w(self, radiated_w: float) -> float:
        return self.tx_w - self.idle_w

    def receiving_w(self) -> float:
        return self.rx_w - self.idle_w
