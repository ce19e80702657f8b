"""Half precision: entries as IEEE 754 binary16, or as bfloat16 (8 bits of mantissa less)."""

from typing import Literal

import torch
from torch import Tensor

from netsim.learning.functions import batched
from netsim.learning.refs import Ref
from netsim.messaging.message import Encoded
from netsim.node.node import Node
from netsim.protocols.compression import Compressor


class Half(Compressor):
    """16 bits an entry.

    Attributes
    ----------
    format
        Format of an entry: `float16` is infinite beyond 65,504, `bfloat16` has float32's range and
        three bits of precision less.
    """

    kind: Literal["half"] = "half"
    format: Literal["float16", "bfloat16"] = "float16"

    def compress(self, node: Node, value: Ref) -> Encoded:
        """See the base class."""
        rounded = node.compute(halved, value, self.format, like=value)
        return Encoded(rounded, packed_bits=16 * value.num_values)


@batched
def halved(value: Tensor, form: str) -> Tensor:
    """Entries rounded to the nearest of half precision, in the type that they had."""
    return value.to(getattr(torch, form)).to(value.dtype)
