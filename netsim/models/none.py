"""No model, for methods with code of their own for learning."""

import math
from typing import Literal

from torch import nn

from netsim.models import ModelKind, Network


class NoModel(ModelKind):
    """A single layer that nobody trains.

    The default where every method brings its own learning (`@netsim.api.algorithm(learns=False)`).
    """

    kind: Literal["none"] = "none"

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the layer; see the base class."""
        return Network(nn.Flatten(), nn.Linear(math.prod(input_shape), num_classes))
