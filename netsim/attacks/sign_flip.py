"""Sign flip: malicious nodes send -theta.

Source: Ye et al. (pFedGraph, ICML 2023), Section 5, and their code.

As there, a malicious node trains from whatever it was answered. Where that is a mean of models
which malicious nodes sent (pFedGraph isolates them, so they are left with each other), its next
-theta has its sign turned twice and is near an honest model: once a round's training moves theta
little, the graph takes every other message of such nodes back in. With `runs_algorithm = false`
they never start from such an answer.
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
    """Negated values.

    Parameters
    ----------
    values : torch.Tensor
        What the algorithm sends, of any shape.
    seed, node, count : int
        See `netsim.attacks.Forgery`.
    """
    return -values
