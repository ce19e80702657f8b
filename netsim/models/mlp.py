"""Multilayer perceptron with ReLU; without hidden layers, logistic regression."""

import math
from typing import Annotated, Literal

from pydantic import Field
from torch import nn

from netsim.models import ModelKind, Network
from netsim.registry import Count


class Mlp(ModelKind):
    """Fully connected layers on the flattened input.

    Parameters
    ----------
    hidden : tuple of int
        Widths of the hidden layers.
    """

    kind: Literal["mlp"] = "mlp"
    hidden: Annotated[tuple[Count, ...], Field(max_length=100)] = (64,)

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class."""
        layers: list[nn.Module] = [nn.Flatten()]
        width = math.prod(input_shape)
        for hidden in self.hidden:
            layers += [nn.Linear(width, hidden), nn.ReLU()]
            width = hidden
        return Network(nn.Sequential(*layers), nn.Linear(width, num_classes))
