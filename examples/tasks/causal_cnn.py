"""A causal convolutional network over tokens: what comes next, from the last few.

Source: dilated causal convolutions as in van den Oord et al., "WaveNet", arXiv:1609.03499, 2016.
"""

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from netsim.models import ModelKind, Network
from netsim.registry import Count


class CausalCnn(ModelKind):
    """Tokens, layers of convolutions that see twice as far each, and a linear head.

    Attributes
    ----------
    width
        Numbers a position.
    layers
        Convolutions; a position sees 2 ** layers tokens.
    """

    kind: Literal["causal_cnn"] = "causal_cnn"
    width: Count = 32
    layers: Count = 3

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """The network for sequences of tokens."""
        blocks = [Convolution(self.width, 2**depth) for depth in range(self.layers)]
        features = nn.Sequential(nn.Embedding(num_classes, self.width), *blocks)
        return Network(features, nn.Linear(self.width, num_classes))


class Convolution(nn.Module):
    """x + relu of a convolution of a position and the one `step` before it."""

    def __init__(self, width: int, step: int) -> None:
        super().__init__()
        self.step = step
        self.convolution = nn.Conv1d(width, width, 2, dilation=step)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, width) to the same."""
        earlier = F.pad(x.transpose(1, 2), (self.step, 0))
        return x + F.relu(self.convolution(earlier)).transpose(1, 2)
