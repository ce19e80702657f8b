"""Gauss: malicious nodes send standard normal noise.

Source: Ye et al. (pFedGraph, ICML 2023), Section 5. Departure: the text samples from "U(0,1)",
the code, followed here, from N(0,1).
"""

from typing import Literal

import torch
from torch import Tensor

from netsim.attacks import Attack, Forgery
from netsim.rng import Streams


class Gauss(Attack):
    """N(0,1) draws in place of the values sent."""

    kind: Literal["gauss"] = "gauss"

    def forgery(self) -> Forgery | None:
        """See the base class."""
        return noise


def noise(values: Tensor, seed: int, node: int, count: int) -> Tensor:
    """Independent N(0,1) draws, new ones for every model.

    Parameters
    ----------
    values : torch.Tensor
        What the algorithm sends, of any shape.
    seed, node, count : int
        See `netsim.attacks.Forgery`.
    """
    rng = Streams(seed).generator("attack/gauss", node, count)
    return torch.from_numpy(rng.standard_normal(tuple(values.shape))).to(values)
