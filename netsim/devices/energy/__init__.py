"""The `[energy]` table: what sending, receiving, waiting and computing cost, and how much there is.

`netsim.devices.energy.meter` counts it.
"""

from netsim.registry import Positive, Table, choice


class Energy(Table):
    """Models of what the radio and the processor draw, and every node's battery.

    A node whose battery is empty goes off for good. Without `battery_j` energy is only counted.
    """

    radio: choice("netsim.devices.energy.radio") = {"kind": "transmit"}  # type: ignore[valid-type]
    compute: choice("netsim.devices.energy.compute") = {"kind": "per_step"}  # type: ignore[valid-type]
    battery_j: Positive | None = None
