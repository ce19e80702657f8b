"""Sign flip: malicious nodes send -theta.

Source: Ye et al. (pFedGraph, ICML 2023), Section 5, and their code.
"""

from typing import Literal

from torch import Tensor

from netsim.attacks import Attack, Forgery


class SignFlip(Attack):
    """The negative of the values sent."""

    kind: Literal["sign_flip"] = "sign_flip"

    def forgery(self) -> Forgery | None:
        """See the base class."""
        return negative


def negative(values: Tensor, seed: int, node: int, count: int) -> Tensor:
    """-values."""
    return -values
