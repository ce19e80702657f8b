"""The CNN that KD-PDFL trains on EMNIST: 970,847 parameters for 1 x 28 x 28, 47 classes.

Source: Jeong and Kountouris, ICC 2023, section V, which gives two 5x5 convolutions with 32 and 64
channels, each with 2x2 pooling, two fully connected layers, and the number of parameters. Reading:
the hidden width of 857 is the only one that gives that number; convolutions are followed by ReLU.
"""

from typing import Literal

from torch import nn

from netsim.models import ModelKind, Network, values_after_convolutions
from netsim.registry import Count


class EmnistCnn(ModelKind):
    """Conv 32, pool, conv 64, pool, Linear, ReLU, Linear.

    Parameters
    ----------
    hidden : int
        Width of the hidden layer.
    """

    kind: Literal["emnist_cnn"] = "emnist_cnn"
    hidden: Count = 857

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class."""
        width = values_after_convolutions(input_shape, "emnist_cnn", 64)
        features = nn.Sequential(
            nn.Conv2d(input_shape[0], 32, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(width, self.hidden),
            nn.ReLU(),
        )
        return Network(features, nn.Linear(self.hidden, num_classes))
