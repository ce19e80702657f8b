"""The k entries of the largest absolute value; the others are 0 at the receiver.

Source: Stich, Cordonnier and Jaggi 2018, "Sparsified SGD with Memory", Definition 2.1. Of entries
of equal absolute value those of lower index are sent.
"""

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from netsim.learning.functions import batched
from netsim.learning.refs import Ref
from netsim.messaging.message import Encoded
from netsim.node.node import Node
from netsim.protocols.compression import Compressor, index_bits


class TopK(Compressor):
    """A real number and an index of ceil(log2 d) bits for each of k entries.

    Attributes
    ----------
    fraction
        Part of the entries that is sent: k of d, rounded to a whole number, at least 1.
    """

    kind: Literal["top_k"] = "top_k"
    fraction: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.01

    def compress(self, node: Node, value: Ref) -> Encoded:
        """See the base class."""
        size = value.num_values
        k = max(1, round(self.fraction * size))
        sparse = node.compute(largest, value, k, like=value)
        return Encoded(sparse, packed_bits=k * index_bits(size), reals=k)


@batched
def largest(value: Tensor, k: int) -> Tensor:
    """The k largest entries by absolute value where they were, 0 elsewhere."""
    flat = value.reshape(-1)
    where = torch.sort(flat.abs(), descending=True, stable=True).indices[:k]
    return torch.zeros_like(flat).scatter(0, where, flat.gather(0, where)).reshape(value.shape)
