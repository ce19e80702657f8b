"""One channel, no coordination: the power of all who send at the same time is interference.

SINR(t) = S(t) / (1 + sum over k of I_k(t)), S and I_k received powers over noise: those of all who
send, as they move and fade. An attempt that begins at t is decoded at the lowest SINR that those
leave who send together at any time while it lasts, each at its power at t.
Where that leaves a message no rate at all and nothing fades or moves, the message fails at once: it
does not wait for an interferer to stop.
"""

from typing import ClassVar, Literal

from netsim.channels.mac import ALONE, Mac, Medium


class Shared(Mac):
    """A message takes both ends' half-duplex radios, as with `orthogonal`."""

    kind: Literal["shared"] = "shared"
    exclusive: ClassVar[bool] = True
    interferes: ClassVar[bool] = True

    def medium(self, contenders: int, nodes: int) -> Medium:
        """No effect but interference, which `netsim.links.radio.mac.interference` keeps."""
        return ALONE
