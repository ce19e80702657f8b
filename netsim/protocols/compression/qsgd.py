"""QSGD: entries rounded at random to s levels of their norm, without bias.

Source: Alistarh, Grubic, Li, Tomioka and Vojnovic 2017, "QSGD: Communication-Efficient SGD via
Gradient Quantization and Encoding", Section 3.1: Q_s(v_i) = ||v||_2 sign(v_i) xi_i, where xi_i is
(l + 1) / s with probability |v_i| s / ||v||_2 - l and l / s else, 0 <= l < s the level below.
Departure: entries have a fixed length (a sign, ceil(log2(s + 1)) bits) instead of Elias codes,
whose length depends on the values.
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
from netsim.registry import Count
from netsim.rng import Streams


class Qsgd(Compressor):
    """1 + ceil(log2(`levels` + 1)) bits an entry, and a norm for every `bucket` entries.

    Attributes
    ----------
    levels
        s, levels that an entry's size is rounded to.
    bucket
        Entries that share a norm; the paper takes 512 for deep networks. Absent: all entries.
    """

    kind: Literal["qsgd"] = "qsgd"
    levels: Annotated[int, Field(ge=1, le=2**16)] = 4
    bucket: Count | None = None

    def compress(self, node: Node, value: Ref) -> Encoded:
        """See the base class."""
        size = value.num_values
        bucket = min(self.bucket or size, size)
        seed = draws_key(node, "qsgd")
        rounded = node.compute(rounded_at_random, value, self.levels, bucket, seed, like=value)
        each = 1 + self.levels.bit_length()  # ceil(log2(s + 1)) for whole s
        return Encoded(rounded, packed_bits=size * each, reals=-(-size // bucket))


def rounded_at_random(value: Tensor, levels: int, bucket: int, seed: int) -> Tensor:
    """Q_s of every bucket.

    Parameters
    ----------
    value : torch.Tensor
    levels : int
        s
    bucket : int
        Entries that share a norm; the last ones may be fewer.
    seed : int
        Of the draws.

    Returns
    -------
    torch.Tensor
        Like `value`.
    """
    flat = value.reshape(-1)
    count = -(-flat.numel() // bucket)
    rows = flat.new_zeros(count * bucket)
    rows[: flat.numel()] = flat
    rows = rows.view(count, bucket)
    norms = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    scaled = rows.abs() * levels / torch.where(norms > 0, norms, torch.ones_like(norms))
    below = scaled.floor().clamp(max=levels - 1)
    draws = Streams(seed).uniforms("qsgd", counters=np.arange(rows.numel()))
    up = torch.from_numpy(draws).to(rows).view_as(rows) < scaled - below
    rounded: Tensor = norms * rows.sign() * ((below + up) / levels)
    return rounded.view(-1)[: flat.numel()].reshape(value.shape)
