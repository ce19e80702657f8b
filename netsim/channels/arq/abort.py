"""Limited retransmission that gives up: the first packet that fails too often ends the message."""

from typing import ClassVar, Literal

from netsim.channels.arq._limited import Limited


class Abort(Limited):
    """A message of M packets arrives with probability (1 - per^max_attempts)^M.

    Attributes
    ----------
    max_attempts : int
        Attempts at one packet, the first included (802.11: 7); `unlimited` sets no limit.
    """

    kind: Literal["abort"] = "abort"
    gives_up: ClassVar[bool] = True
