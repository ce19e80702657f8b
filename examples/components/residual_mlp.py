"""A multilayer perceptron whose layers add to what they take (He et al., CVPR 2016)."""

import math
from typing import Literal

from torch import Tensor, nn

from netsim.models import ModelKind, Network
from netsim.registry import Count


class Block(nn.Module):
    """x + W2 relu(W1 x)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x: Tensor) -> Tensor:
        """Of (B, width), the same shape."""
        added: Tensor = x + self.inner(x)
        return added


class ResidualMlp(ModelKind):
    """A linear layer, blocks with a way around them, and a linear head.

    Attributes
    ----------
    width, blocks : int
    """

    kind: Literal["residual_mlp"] = "residual_mlp"
    width: Count = 32
    blocks: Count = 2

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """The network for inputs of this shape."""
        first = [nn.Flatten(), nn.Linear(math.prod(input_shape), self.width)]
        blocks = [Block(self.width) for _ in range(self.blocks)]
        return Network(nn.Sequential(*first, *blocks), nn.Linear(self.width, num_classes))
