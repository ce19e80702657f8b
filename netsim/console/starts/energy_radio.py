"""A radio that costs the same energy for every bit that it sends or receives."""

from typing import Literal

from netsim.devices.energy.radio import RadioEnergy
from netsim.registry import NonNegative


class Starting(RadioEnergy):
    """Energy by the bit; what a model does not define costs nothing.

    Attributes
    ----------
    j_per_bit : float
        At either end [J].
    """

    kind: Literal["starting"] = "starting"
    j_per_bit: NonNegative = 50e-9

    def sent_j(self, bits: int, distance_m: float) -> float:
        """Energy [J] of sending so many bits to the farthest receiver."""
        return bits * self.j_per_bit

    def received_j(self, bits: int) -> float:
        """Energy [J] of receiving so many bits."""
        return bits * self.j_per_bit
