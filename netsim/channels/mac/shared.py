"""One channel, no coordination: the power of all who send at the same time is interference.

SINR = S / (N + sum of I), re-evaluated whenever somebody starts or stops to send; an attempt is
decoded at the lowest SINR that it meets. An interferer's fading is that of the moment at which
it, or the message that it disturbs, started. Where it leaves a message no rate at all and nothing
fades, the message fails at once: it does not wait for an interferer to stop.
"""

from typing import ClassVar, Literal

from netsim.channels.mac import ALONE, Mac, Medium


class Shared(Mac):
    """A message takes both ends' half-duplex radios, as with `orthogonal`."""

    kind: Literal["shared"] = "shared"
    exclusive: ClassVar[bool] = True
    interferes: ClassVar[bool] = True

    def medium(self, contenders: int, nodes: int) -> Medium:
        """No effect but interference, which `netsim.links.radio.interference` adds."""
        return ALONE
