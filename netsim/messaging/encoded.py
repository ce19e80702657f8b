"""Values that are sent in fewer bits than their entries would take as real numbers."""

from typing import NamedTuple

from netsim.learning.refs import Ref


class Encoded(NamedTuple):
    """A value in a message, with its size on the air.

    Attributes
    ----------
    value : Ref
        Inputs of the receiver: the value as it is after encoding and decoding.
    packed_bits : int
        Bits of it that do not depend on how real numbers are sent: indices, signs, integers.
    reals : int
        Real numbers among it, of `[training] parameter_bits` each.

    Examples
    --------
    >>> mask = node.compute(chosen, theta)  # entries 0 and 1
    >>> node.send(3, Choice(Encoded(mask, packed_bits=mask.num_values)))
    """

    value: Ref
    packed_bits: int
    reals: int = 0

    def size_bits(self, parameter_bits: int) -> int:
        """Size on the air [bit], at so many bits a real number."""
        return self.packed_bits + self.reals * parameter_bits
