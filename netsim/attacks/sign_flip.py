"""Sign flip: malicious nodes send -theta.

Source: Ye et al. (pFedGraph, ICML 2023), Section 5, and their code.

As in that code, a malicious node trains from the answer that it gets. pFedGraph isolates malicious
nodes, so this answer is a mean of their own -theta; trained and flipped again, it is near an honest
model. Once the training of a round moves theta little, the graph therefore accepts every other
message of such nodes. With `runs_algorithm = false` they do not start from answers.
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
