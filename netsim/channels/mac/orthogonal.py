"""A channel of its own for every pair: nobody hears anybody else."""

from typing import ClassVar, Literal

from netsim.channels.mac import ALONE, Mac, Medium


class Orthogonal(Mac):
    """Half-duplex radios are all that is scarce: a message takes both ends' until it has ended."""

    kind: Literal["orthogonal"] = "orthogonal"
    exclusive: ClassVar[bool] = True

    def medium(self, contenders: int, nodes: int) -> Medium:
        """No effect."""
        return ALONE
