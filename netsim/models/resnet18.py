"""ResNet-18 to a latent vector: 11,439,168 parameters to 512 for 3 channels, 11,432,896 for 1.

Source: He, Zhang, Ren, Sun, CVPR 2016, table 1, with the initial values of the authors (He et al.,
ICCV 2015, mode fan-out), the 7x7 stem of stride 2 and the max pooling made for large images. As in
MAPL's code (github SayakMukherjee/MAPL) a linear layer 512 to `latent` takes the classifier's
place, on 32 x 32 images too.
"""

from typing import Literal

from torch import Tensor, nn

from netsim.models import ModelKind, Network
from netsim.models._images import channels, conv_norm, latent_network
from netsim.registry import Count


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut; the shortcut is a 1x1 convolution where sizes change.

    Parameters
    ----------
    inputs, outputs : int
        Channels.
    stride : int
        Of the first convolution.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            conv_norm(inputs, outputs, 3, stride), conv_norm(outputs, outputs, 3, relu=False)
        )
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else conv_norm(inputs, outputs, 1, stride, relu=False)
        self.activation = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, H, W) to (B, outputs, H / stride, W / stride)."""
        result: Tensor = self.activation(self.residual(x) + self.shortcut(x))
        return result


class ResNet18(ModelKind):
    """Stem, four stages of two residual blocks, mean over the image, Linear, ReLU; Linear head.

    Parameters
    ----------
    latent : int
        Numbers that leave the backbone.
    """

    kind: Literal["resnet18"] = "resnet18"
    latent: Count = 512

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class."""
        layers: list[nn.Module] = [
            conv_norm(channels(input_shape, "resnet18"), 64, 7, stride=2),
            nn.MaxPool2d(3, stride=2, padding=1),
        ]
        width = 64
        for outputs in (64, 128, 256, 512):
            layers += [Block(width, outputs, outputs // width), Block(outputs, outputs, 1)]
            width = outputs
        backbone = nn.Sequential(
            *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, self.latent)
        )
        for module in backbone.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        return latent_network(backbone, self.latent, num_classes)
