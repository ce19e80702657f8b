"""A small AlexNet to a latent vector: 1,813,632 parameters to 512 for 3 channels, 1,812,480 for 1.

Source: the code of MAPL (github SayakMukherjee/MAPL), after Krizhevsky, Sutskever, Hinton, NeurIPS
2012: three 3x3 convolutions of 64, 128 and 256 channels, 2304-512-512.
"""

from typing import Literal

from torch import nn

from netsim.models import ModelKind, Network
from netsim.models._images import Dropout, channels, latent_network
from netsim.registry import Count


class AlexNetSmall(ModelKind):
    """Three convolutions, mean over a 3x3 grid, dropout, Linear, ReLU, Linear, ReLU; Linear head.

    Parameters
    ----------
    latent : int
        Numbers that leave the backbone.
    dropout : float
        Probability of dropout before the first linear layer.
    """

    kind: Literal["alexnet_small"] = "alexnet_small"
    latent: Count = 512
    dropout: Dropout = 0.5

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class."""
        backbone = nn.Sequential(
            nn.Conv2d(channels(input_shape, "alexnet_small"), 64, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2, stride=1, padding=1),
            nn.Conv2d(64, 128, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2, padding=1),
            nn.Conv2d(128, 256, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(3),
            nn.Flatten(),
            nn.Dropout(self.dropout),
            nn.Linear(256 * 3 * 3, 512),
            nn.ReLU(),
            nn.Linear(512, self.latent),
        )
        return latent_network(backbone, self.latent, num_classes)
