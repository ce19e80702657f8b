"""The CNN that L2C trains on CIFAR: 2,156,490 parameters for 3 x 32 x 32, 10 classes.

Source: Li, Zhou, Tian, Tao, CVPR 2022, who take the network of McMahan et al., AISTATS 2017: two
5x5 convolutions with 32 and 64 channels, each with 2x2 pooling, 512 hidden units. Readings:
convolutions keep the size of the image (`padding = true`), as in McMahan's code; without, it has
878,538 parameters. Pooling takes the maximum; ReLU follows convolutions and hidden layer.
"""

from typing import Literal

from torch import nn

from netsim.models import ModelKind, Network, values_after_convolutions
from netsim.registry import Count


class L2cCifarCnn(ModelKind):
    """Conv 32, pool, conv 64, pool, Linear, ReLU, Linear.

    Parameters
    ----------
    padding : bool
        Whether convolutions keep the size of the image.
    hidden : int
        Width of the hidden layer.
    """

    kind: Literal["l2c_cifar_cnn"] = "l2c_cifar_cnn"
    padding: bool = True
    hidden: Count = 512

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class."""
        width = values_after_convolutions(input_shape, "l2c_cifar_cnn", 64)
        if self.padding:
            width = 64 * (input_shape[1] // 4) * (input_shape[2] // 4)
        margin = 2 if self.padding else 0
        features = nn.Sequential(
            nn.Conv2d(input_shape[0], 32, 5, padding=margin),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 5, padding=margin),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(width, self.hidden),
            nn.ReLU(),
        )
        return Network(features, nn.Linear(self.hidden, num_classes))
