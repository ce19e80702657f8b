"""Uniform quantisation: entries rounded to equal steps between the least and the greatest.

With x_0 the least entry, x_1 the greatest and L = 2^b - 1: x -> x_0 + step round((x - x_0) / step),
step = (x_1 - x_0) / L; 8 bits are what int8 takes. Halves round to even.
"""

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from netsim.learning.functions import batched
from netsim.learning.refs import Ref
from netsim.messaging.message import Encoded
from netsim.node.node import Node
from netsim.protocols.compression import Compressor


class Uniform(Compressor):
    """Whole numbers for entries, and two real numbers: least entry and step.

    Attributes
    ----------
    bits
        Bits of an entry; 8 are what int8 takes.
    """

    kind: Literal["uniform"] = "uniform"
    bits: Annotated[int, Field(ge=1, le=24)] = 8

    def compress(self, node: Node, value: Ref) -> Encoded:
        """See the base class."""
        rounded = node.compute(rounded_to_steps, value, 2**self.bits - 1, like=value)
        return Encoded(rounded, packed_bits=self.bits * value.num_values, reals=2)


@batched
def rounded_to_steps(value: Tensor, steps: int) -> Tensor:
    """Entries rounded to the nearest of `steps` + 1 values from the least to the greatest."""
    least = value.min()
    step = (value.max() - least) / steps
    numbers = torch.round((value - least) / torch.where(step > 0, step, torch.ones_like(step)))
    return least + step * numbers
