"""Malicious nodes send their values scaled."""

from typing import Literal

from torch import Tensor

from netsim.attacks import Attack, Forgery


class Starting(Attack):
    """Ten times what they should send."""

    kind: Literal["starting"] = "starting"

    def forgery(self) -> Forgery | None:
        """Return a function that forges every value that a malicious node sends; None: nothing."""
        return scaled


def scaled(values: Tensor, seed: int, node: int, count: int) -> Tensor:
    """Ten times the values.

    Parameters
    ----------
    values : torch.Tensor
        What the algorithm sends, of any shape.
    seed, node, count : int
        Key random draws, if there are any; `count` numbers what the node has forged.
    """
    return 10.0 * values
