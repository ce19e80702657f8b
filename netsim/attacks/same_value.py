"""Same value: malicious nodes send models all of whose parameters are 1.

Source: Ye et al. (pFedGraph, ICML 2023), Section 5, and their code.
"""

from typing import Literal

import torch
from torch import Tensor

from netsim.attacks import Attack, Forgery


class SameValue(Attack):
    """Ones in place of the values sent."""

    kind: Literal["same_value"] = "same_value"

    def forgery(self) -> Forgery | None:
        """See the base class."""
        return ones


def ones(values: Tensor, seed: int, node: int, count: int) -> Tensor:
    """All ones.

    Parameters
    ----------
    values : torch.Tensor
        What the algorithm sends, of any shape.
    seed, node, count : int
        See `netsim.attacks.Forgery`.
    """
    return torch.ones_like(values)
