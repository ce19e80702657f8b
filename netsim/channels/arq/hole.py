"""Limited retransmission that goes on: a packet that fails too often leaves a hole."""

from typing import Literal

from netsim.channels.arq._limited import Limited


class Hole(Limited):
    """The message loses the packets that fail `max_attempts` times, and keeps the others.

    Attributes
    ----------
    max_attempts : int
        Attempts at one packet, the first included (802.11: 7); `unlimited` sets no limit.
    """

    kind: Literal["hole"] = "hole"
