"""k entries at random places; the others are 0 at the receiver.

Source: Stich, Cordonnier and Jaggi 2018, "Sparsified SGD with Memory", Definition 2.1; scaled by
d / k it is unbiased (Wangni et al. 2018). Places are drawn uniformly without repetition.
"""

from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from netsim.learning.refs import Ref
from netsim.messaging.message import Encoded
from netsim.node.node import Node
from netsim.protocols.compression import Compressor, draws_key
from netsim.rng import Streams

SEED_BITS = 64


class RandomK(Compressor):
    """A real number for each of k entries, and a seed of 64 bits for their places.

    The receiver draws the places from the seed.

    Attributes
    ----------
    fraction
        Part of the entries that is sent: k of d, rounded to a whole number, at least 1.
    unbiased
        Whether entries are scaled by d / k, which error feedback does without. Source: Wangni et
        al., NeurIPS 2018.
    """

    kind: Literal["random_k"] = "random_k"
    fraction: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.01
    unbiased: bool = False

    def compress(self, node: Node, value: Ref) -> Encoded:
        """See the base class."""
        size = value.num_values
        k = max(1, round(self.fraction * size))
        scale = size / k if self.unbiased else 1.0
        seed = draws_key(node, "random_k")
        sparse = node.compute(at_random_places, value, k, scale, seed, like=value)
        return Encoded(sparse, packed_bits=SEED_BITS, reals=k)


def at_random_places(value: Tensor, k: int, scale: float, seed: int) -> Tensor:
    """Some entries times `scale` where they were, 0 elsewhere.

    Parameters
    ----------
    value : torch.Tensor
    k : int
        How many.
    scale : float
    seed : int
        Of the places.

    Returns
    -------
    torch.Tensor
        Like `value`.
    """
    flat = value.reshape(-1)
    draws = Streams(seed).uniforms("random_k", counters=np.arange(flat.numel()))
    where = torch.from_numpy(np.argsort(draws, kind="stable")[:k]).to(flat.device)
    sparse = torch.zeros_like(flat)
    sparse[where] = flat[where] * scale
    return sparse.reshape(value.shape)
