"""A multilayer perceptron with one hidden layer."""

import math
from typing import Literal

from torch import nn

from netsim.models import ModelKind, Network
from netsim.registry import Count


class Starting(ModelKind):
    """One hidden layer on the flattened input.

    Attributes
    ----------
    width : int
        Of the hidden layer.
    """

    kind: Literal["starting"] = "starting"
    width: Count = 32

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """The network for inputs of this shape: all but the last layer, and the last layer."""
        inputs = math.prod(input_shape)
        features = nn.Sequential(nn.Flatten(), nn.Linear(inputs, self.width), nn.ReLU())
        return Network(features, nn.Linear(self.width, num_classes))
