"""LeNet-like CNN of pFedGraph and DPFL: 62,006 parameters for 3 x 32 x 32, 10 classes.

Source: the code of Ye et al., ICML 2023 (github MediaBrain-SJTU/pFedGraph) and of Kharrat, Canini,
Horvath, 2024 (github salmakh1/DPFL), after LeCun, Bottou, Bengio, Haffner, Proc. IEEE 1998.
DPFL's FEMNIST network is `channels = [4, 12]`, `hidden = [120, 100]`.
"""

from typing import Literal

from torch import nn

from netsim.models import ModelKind, Network, values_after_convolutions
from netsim.registry import Count


class LeNet(ModelKind):
    """Two 5x5 convolutions with ReLU and 2x2 pooling, three fully connected layers.

    Parameters
    ----------
    channels : (int, int)
        Channels of the two convolutions.
    hidden : (int, int)
        Widths of the hidden fully connected layers.
    """

    kind: Literal["lenet"] = "lenet"
    channels: tuple[Count, Count] = (6, 16)
    hidden: tuple[Count, Count] = (120, 84)

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class."""
        first, second = self.channels
        width = values_after_convolutions(input_shape, "lenet", second)
        features = nn.Sequential(
            nn.Conv2d(input_shape[0], first, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(first, second, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(width, self.hidden[0]),
            nn.ReLU(),
            nn.Linear(self.hidden[0], self.hidden[1]),
            nn.ReLU(),
        )
        return Network(features, nn.Linear(self.hidden[1], num_classes))
