"""Shuffle: malicious nodes send their parameters in a random order.

Source: Ye et al. (pFedGraph, ICML 2023), Section 5; the permutation is of the whole flat vector,
as in their code (github MediaBrain-SJTU/pFedGraph), drawn anew for every model.
"""

from typing import Literal

import torch
from torch import Tensor

from netsim.attacks import Attack, Forgery
from netsim.rng import Streams


class Shuffle(Attack):
    """A random permutation of the values sent."""

    kind: Literal["shuffle"] = "shuffle"

    def forgery(self) -> Forgery | None:
        """See the base class."""
        return shuffled


def shuffled(values: Tensor, seed: int, node: int, count: int) -> Tensor:
    """The same values in a random order.

    Parameters
    ----------
    values : torch.Tensor
        What the algorithm sends, of any shape.
    seed, node, count : int
        See `netsim.attacks.Forgery`.
    """
    order = Streams(seed).permutation("attack/shuffle", node, count, n=values.numel())
    index = torch.from_numpy(order).to(values.device)
    return values.reshape(-1)[index].view_as(values)
