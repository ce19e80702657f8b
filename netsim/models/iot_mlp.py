"""The MLP that KD-PDFL trains on the IoT table: 39,769 parameters for 296 features, 9 classes.

Source: Jeong and Kountouris, ICC 2023, section V: batch normalisation of the inputs, one hidden
layer of 128. 2 x 296 + (296 + 1) x 128 + (128 + 1) x 9 = 39,769.
"""

import math
from typing import Literal

from torch import nn

from netsim.models import ModelKind, Network
from netsim.registry import Count


class IotMlp(ModelKind):
    """BatchNorm, Linear, ReLU, Linear on the flattened input.

    Parameters
    ----------
    hidden : int
        Width of the hidden layer.

    Notes
    -----
    The running mean and variance are buffers, not among the counted parameters. The counter of
    batches is left out: it has no effect at a fixed momentum, and without it every value of the
    state is real, so models can be stacked and averaged. In training mode a batch needs two rows.
    """

    kind: Literal["iot_mlp"] = "iot_mlp"
    hidden: Count = 128

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class."""
        width = math.prod(input_shape)
        norm = nn.BatchNorm1d(width)
        norm.register_buffer("num_batches_tracked", None)
        features = nn.Sequential(nn.Flatten(), norm, nn.Linear(width, self.hidden), nn.ReLU())
        return Network(features, nn.Linear(self.hidden, num_classes))
