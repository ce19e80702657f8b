"""Compressed values: what is sent of a value, and in how many bits. One kind a file.

A compressor is a component, so a method's Params take one (`compression: api.Compression`) and a
scenario chooses it: `compression = { kind = "top_k", fraction = 0.01 }`. What it gives is a field
of a message, whose receiver reads the value as it came through; the log counts the bits that were
sent. Values stay lazy.

Compress changes of parameters rather than models: a variance of a running statistic does not bear
rounding to 0. What a biased compressor (`top_k`, `sign`) leaves out is sent later by
`netsim.protocols.error_feedback`.
"""

from netsim.learning.refs import Ref
from netsim.messaging.message import Encoded
from netsim.node.node import Node
from netsim.registry import Component


class Compressor(Component):
    """Base of the compressors."""

    def compress(self, node: Node, value: Ref) -> Encoded:
        """Encode a value for sending.

        Parameters
        ----------
        node : Node
            Its owner.
        value : Ref
            Of any shape.

        Returns
        -------
        Encoded
            A field of a message.
        """
        raise NotImplementedError


def index_bits(num_values: int) -> int:
    """Bits of the index of one of so many entries."""
    return (num_values - 1).bit_length()


def draws_key(node: Node, purpose: str) -> int:
    """A seed for the draws of one compression, new at every call."""
    (u,) = node.uniform(f"compression/{purpose}", 1)
    return int(u * 2**53)
