"""Signs, scaled by the mean absolute entry: x -> (||x||_1 / d) sign(x).

Source: Karimireddy, Rebjock, Stich and Jaggi 2019, "Error Feedback Fixes SignSGD and other Gradient
Compression Schemes", Algorithm 1 (EF-signSGD); signs alone: Bernstein et al. 2018. The sign of 0 is
+1, so that one bit is enough.
"""

from typing import Literal

import torch
from torch import Tensor

from netsim.learning.functions import batched
from netsim.learning.refs import Ref
from netsim.messaging.message import Encoded
from netsim.node.node import Node
from netsim.protocols.compression import Compressor


class Sign(Compressor):
    """One bit an entry, and one real number."""

    kind: Literal["sign"] = "sign"

    def compress(self, node: Node, value: Ref) -> Encoded:
        """See the base class."""
        signs = node.compute(scaled_signs, value, like=value)
        return Encoded(signs, packed_bits=value.num_values, reals=1)


@batched
def scaled_signs(value: Tensor) -> Tensor:
    """The mean absolute entry with the sign of each."""
    size = value.abs().mean()
    return torch.where(value < 0, -size, size)
