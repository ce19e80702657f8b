"""ShuffleNet V2 1x to a latent vector: 1,778,404 parameters to 512 for 3 channels, 1,777,972 for 1.

Source: Ma, Zhang, Zheng, Sun, ECCV 2018, table 5 (1x) and figure 3 (c, d). As in MAPL's code
(github SayakMukherjee/MAPL) a linear layer 1024 to `latent` takes the classifier's place.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from netsim.models import ModelKind, Network
from netsim.models._images import channels, conv_norm, latent_network
from netsim.registry import Count

STAGES = ((116, 4), (232, 8), (464, 4))
"""(channels, units) of stages 2, 3 and 4."""


class Unit(nn.Module):
    """A unit of the network, figure 3: half the channels come from each of two branches.

    Parameters
    ----------
    inputs, outputs : int
        Channels. Where they are equal the unit keeps half of its input as it is; otherwise both
        branches halve the image.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        half = outputs // 2
        self.halves = inputs != outputs
        stride = 2 if self.halves else 1
        self.shortcut = nn.Sequential()
        if self.halves:
            self.shortcut = nn.Sequential(
                conv_norm(inputs, inputs, 3, stride, groups=inputs, relu=False),
                conv_norm(inputs, half, 1),
            )
        self.branch = nn.Sequential(
            conv_norm(inputs if self.halves else half, half, 1),
            conv_norm(half, half, 3, stride, groups=half, relu=False),
            conv_norm(half, half, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, H, W) to (B, outputs, H / stride, W / stride)."""
        kept, worked = (x, x) if self.halves else x.chunk(2, dim=1)
        both = torch.stack([self.shortcut(kept), self.branch(worked)], dim=2)
        return both.flatten(1, 2)  # channel shuffle in two groups: one of each in turn


class ShuffleNetV2(ModelKind):
    """Stem, three stages of units, 1x1 convolution, mean over the image, Linear, ReLU; Linear head.

    Parameters
    ----------
    latent : int
        Numbers that leave the backbone.
    """

    kind: Literal["shufflenet_v2"] = "shufflenet_v2"
    latent: Count = 512

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class."""
        width = 24
        layers: list[nn.Module] = [
            conv_norm(channels(input_shape, "shufflenet_v2"), width, 3, stride=2),
            nn.MaxPool2d(3, stride=2, padding=1),
        ]
        for outputs, units in STAGES:
            layers += [Unit(width if k == 0 else outputs, outputs) for k in range(units)]
            width = outputs
        backbone = nn.Sequential(
            *layers,
            conv_norm(width, 1024, 1),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(1024, self.latent),
        )
        return latent_network(backbone, self.latent, num_classes)
