"""The first-order radio model: electronics at both ends, an amplifier that pays for distance.

Source: Heinzelman, Chandrakasan, Balakrishnan, HICSS 2000, eqs. (1) and (2).
"""

from typing import ClassVar, Literal

from netsim.devices.energy.radio import RadioEnergy
from netsim.registry import NonNegative


class FirstOrder(RadioEnergy):
    """k bits over d metres cost the sender k (E_elec + eps d^2), each receiver k E_elec.

    Bits are those on the air: headers and repetitions count. A broadcast pays for its farthest
    receiver, once. A receiver that goes off, or loses contact, before the end pays for the bits
    until then. Bits are paid for when their message has ended: one that empties a battery is sent
    to its end.

    Attributes
    ----------
    electronics_j_per_bit
        E_elec, energy of the electronics at either end for each bit. Source: Heinzelman et al.,
        HICSS 2000, table 1.
    amplifier_j_per_bit_m2
        eps, energy of the amplifier for each bit and square metre. Source: Heinzelman et al., HICSS
        2000, table 1.
    """

    kind: Literal["first_order"] = "first_order"
    needs_radio: ClassVar[bool] = True
    needs_places: ClassVar[bool] = True
    electronics_j_per_bit: NonNegative = 50e-9
    amplifier_j_per_bit_m2: NonNegative = 100e-12

    def sent_j(self, bits: int, distance_m: float) -> float:
        return bits * (self.electronics_j_per_bit + self.amplifier_j_per_bit_m2 * distance_m**2)

    def received_j(self, bits: int) -> float:
        return bits * self.electronics_j_per_bit
