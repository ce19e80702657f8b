"""Energy of radios; one model a file, its name is its `kind`.

A model charges the time for which a radio is busy, or the bits that it sends and receives, or both.
What a model does not define costs nothing.
"""

from typing import ClassVar

from netsim.registry import Component

LISTED_AS = "energy.radio"
"""Name of this family in `netsim list`: the scenario table that chooses from it."""


class RadioEnergy(Component):
    """Base of the models.

    Attributes
    ----------
    needs_radio, needs_places : bool
        Whether a scenario must have a `[radio]`, and nodes with places.
    """

    needs_radio: ClassVar[bool] = False
    needs_places: ClassVar[bool] = False

    def standing_w(self) -> float:
        """Power [W] drawn all the time for which a node is on."""
        return 0.0

    def sleeping_w(self) -> float:
        """Power [W] drawn instead of `standing_w` while its radio sleeps."""
        return self.standing_w()

    def sending_w(self, radiated_w: float) -> float:
        """Power [W] drawn in addition while it sends, from its transmit power [W]."""
        return 0.0

    def receiving_w(self) -> float:
        """Power [W] drawn in addition while it receives."""
        return 0.0

    def sent_j(self, bits: int, distance_m: float) -> float:
        """Energy [J] of sending so many bits, repetitions included, to the farthest receiver."""
        return 0.0

    def received_j(self, bits: int) -> float:
        """Energy [J] of receiving so many bits."""
        return 0.0
