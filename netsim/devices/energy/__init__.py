"""The `[energy]` table: energy of sending, receiving, waiting and computing, and batteries.

`netsim.devices.energy.meter` counts the energy that nodes draw.
"""

from typing import Annotated

from netsim.registry import Joules, Plausible, Table, choice


class Energy(Table):
    """Models of the energy that radio and processor draw, and the battery of each node.

    Attributes
    ----------
    radio
        Energy of sending and receiving.
    compute
        Energy of local steps.
    harvest
        Energy that nodes take from their surroundings.
    battery_j
        Energy that the battery of each node holds when full, as it is at the start unless
        `harvest.start_level` says otherwise. A node whose battery is empty goes off: for good where
        nothing is harvested, else until its battery has filled again. Absent: energy is only
        counted.
    """

    radio: choice("netsim.devices.energy.radio") = {"kind": "transmit"}  # type: ignore[valid-type]
    compute: choice("netsim.devices.energy.compute") = {"kind": "per_step"}  # type: ignore[valid-type]
    harvest: choice("netsim.devices.energy.harvest") = {"kind": "none"}  # type: ignore[valid-type]
    battery_j: Annotated[Joules | None, Plausible(most=1e9, why="a car has 3e8 J")] = None
