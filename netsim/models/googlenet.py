"""GoogLeNet to a latent vector: 6,124,704 parameters to 512 for 3 channels, 6,118,432 for 1.

Source: Szegedy et al., CVPR 2015, table 1, in the form that MAPL's code uses (torchvision's): batch
normalisation after every convolution, 3x3 convolutions in place of 5x5 ones, convolutions drawn
from a normal distribution of deviation 0.01 cut at +-2. A linear layer 1024 to `latent` takes the
classifier's place. Departure: the two auxiliary classifiers, which MAPL's code builds and never
trains, are left out.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from netsim.models import ModelKind, Network
from netsim.models._images import Dropout, channels, conv_norm, latent_network
from netsim.registry import Count

EPSILON = 1e-3
"""Of the batch normalisations."""

POOL = None
"""In `INCEPTIONS`: max pooling that halves the image."""

INCEPTIONS = (
    (192, 64, 96, 128, 16, 32, 32),
    (256, 128, 128, 192, 32, 96, 64),
    POOL,
    (480, 192, 96, 208, 16, 48, 64),
    (512, 160, 112, 224, 24, 64, 64),
    (512, 128, 128, 256, 24, 64, 64),
    (512, 112, 144, 288, 32, 64, 64),
    (528, 256, 160, 320, 32, 128, 128),
    POOL,
    (832, 256, 160, 320, 32, 128, 128),
    (832, 384, 192, 384, 48, 128, 128),
)
"""Table 1: inputs, #1x1, #3x3 reduce, #3x3, #5x5 reduce, #5x5, pool proj."""


def conv(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """`conv_norm` with the network's epsilon.

    Parameters
    ----------
    inputs, outputs : int
        Channels.
    kernel : int
        Height and width of the kernel, odd.
    stride : int
    """
    return conv_norm(inputs, outputs, kernel, stride, epsilon=EPSILON)


class Inception(nn.Module):
    """Four branches side by side; arguments as in a row of `INCEPTIONS`."""

    def __init__(
        self,
        inputs: int,
        single: int,
        reduce3: int,
        triple: int,
        reduce5: int,
        quintuple: int,
        pooled: int,
    ) -> None:
        super().__init__()
        self.branches = nn.ModuleList(
            [
                conv(inputs, single, 1),
                nn.Sequential(conv(inputs, reduce3, 1), conv(reduce3, triple, 3)),
                nn.Sequential(conv(inputs, reduce5, 1), conv(reduce5, quintuple, 3)),
                nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), conv(inputs, pooled, 1)),
            ]
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, H, W) to (B, single + triple + quintuple + pooled, H, W)."""
        return torch.cat([branch(x) for branch in self.branches], dim=1)


class GoogLeNet(ModelKind):
    """Stem, nine inception modules, mean over the image, dropout, Linear, ReLU; Linear head.

    Parameters
    ----------
    latent : int
        Numbers that leave the backbone.
    dropout : float
        Probability of dropout before the linear layer.
    """

    kind: Literal["googlenet"] = "googlenet"
    latent: Count = 512
    dropout: Dropout = 0.2

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class."""
        layers: list[nn.Module] = [
            conv(channels(input_shape, "googlenet", 15), 64, 7, stride=2),
            nn.MaxPool2d(3, stride=2, ceil_mode=True),
            conv(64, 64, 1),
            conv(64, 192, 3),
            nn.MaxPool2d(3, stride=2, ceil_mode=True),
        ]
        pools = iter((3, 2))  # torchvision's second pooling between the modules is 2x2
        for row in INCEPTIONS:
            if row is POOL:
                layers.append(nn.MaxPool2d(next(pools), stride=2, ceil_mode=True))
            else:
                layers.append(Inception(*row))
        for module in nn.ModuleList(layers).modules():
            if isinstance(module, nn.Conv2d):
                nn.init.trunc_normal_(module.weight, std=0.01)
        backbone = nn.Sequential(
            *layers,
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Dropout(self.dropout),
            nn.Linear(1024, self.latent),
        )
        return latent_network(backbone, self.latent, num_classes)
