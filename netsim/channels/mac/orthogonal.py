"""A channel of its own for every pair: no pair disturbs another."""

from typing import ClassVar, Literal

from netsim.channels.mac import ALONE, Mac, Medium


class Orthogonal(Mac):
    """Only half-duplex radios are scarce: a message occupies those of both ends until it ends."""

    kind: Literal["orthogonal"] = "orthogonal"
    exclusive: ClassVar[bool] = True

    def medium(self, contenders: int, nodes: int) -> Medium:
        """No effect."""
        return ALONE
