"""No compression: every entry is a real number."""

from typing import Literal

from netsim.learning.refs import Ref
from netsim.messaging.message import Encoded
from netsim.node.node import Node
from netsim.protocols.compression import Compressor


class NoCompression(Compressor):
    """Values as they are."""

    kind: Literal["none"] = "none"

    def compress(self, node: Node, value: Ref) -> Encoded:
        """See the base class."""
        return Encoded(value, packed_bits=0, reals=value.num_values)
