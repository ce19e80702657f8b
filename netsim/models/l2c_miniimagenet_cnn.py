"""The CNN that L2C trains on MiniImageNet: 108,996 parameters for 3 x 84 x 84, 100 classes.

Source: Li, Zhou, Tian, Tao, CVPR 2022, who take the network of Finn, Abbeel, Levine, ICML 2017
(MAML): four 3x3 convolutions with 32 channels, each with normalisation, ReLU and 2x2 pooling. L2C
replaces batch by group normalisation and does not give the number of groups. Reading: 8.
"""

from typing import Literal, Self

from pydantic import model_validator
from torch import nn

from netsim.errors import ScenarioError
from netsim.models import ModelKind, Network
from netsim.registry import Count

_BLOCKS = 4


class L2cMiniimagenetCnn(ModelKind):
    """Four times conv, GroupNorm, ReLU, pool; then Linear.

    Parameters
    ----------
    filters : int
        Channels of every convolution; MAML has 64 on other data.
    groups : int
        Groups of the normalisation; divides `filters`.
    """

    kind: Literal["l2c_miniimagenet_cnn"] = "l2c_miniimagenet_cnn"
    filters: Count = 32
    groups: Count = 8

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.filters % self.groups:
            raise ValueError(f"groups = {self.groups} does not divide filters = {self.filters}")
        return self

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class."""
        if len(input_shape) != 3:
            raise ScenarioError(
                f'[model] kind = "{self.kind}": needs images (channels, height, width), the data '
                f'has inputs of shape {input_shape}; choose "mlp" or another data set'
            )
        channels, height, width = input_shape
        if min(height, width) < 2**_BLOCKS:
            raise ScenarioError(
                f'[model] kind = "{self.kind}": needs images of at least 16 x 16 pixels, the data '
                f'has {height} x {width}; choose "mlp" or another data set'
            )
        layers: list[nn.Module] = []
        for _ in range(_BLOCKS):
            layers += [
                nn.Conv2d(channels, self.filters, 3, padding=1),
                nn.GroupNorm(self.groups, self.filters),
                nn.ReLU(),
                nn.MaxPool2d(2),
            ]
            channels, height, width = self.filters, height // 2, width // 2
        features = nn.Sequential(*layers, nn.Flatten())
        return Network(features, nn.Linear(channels * height * width, num_classes))
