"""Services of image networks: checks of inputs, common layers, a backbone to a latent vector."""

from collections import OrderedDict
from typing import Annotated

from pydantic import Field
from torch import nn

from netsim.errors import ScenarioError
from netsim.models import Network

Dropout = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
"""Probability with which a value is set to 0 in training."""


def channels(input_shape: tuple[int, ...], model: str, smallest: int = 1) -> int:
    """Channels of the images that a network is to take.

    Parameters
    ----------
    input_shape : (C, H, W)
    model : str
        For the message.
    smallest : int
        Least height and width.

    Raises
    ------
    ScenarioError
        If the inputs are no images, or smaller ones.
    """
    if len(input_shape) != 3:
        raise ScenarioError(
            f'[model] kind = "{model}": needs images (channels, height, width), the data has '
            f'inputs of shape {input_shape}; choose "mlp" or another data set'
        )
    if min(input_shape[1:]) < smallest:
        raise ScenarioError(
            f'[model] kind = "{model}": needs images of at least {smallest} x {smallest} pixels, '
            f'the data has {input_shape[1]} x {input_shape[2]}; choose "mlp" or another data set'
        )
    return input_shape[0]


def latent_network(backbone: nn.Module, latent: int, num_classes: int) -> Network:
    """A backbone that ends in `latent` numbers, then ReLU and a linear head.

    Parameters
    ----------
    backbone : torch.nn.Module
        (B, C, H, W) to (B, latent), its last layer linear.
    """
    features = nn.Sequential(OrderedDict(backbone=backbone, activation=nn.ReLU()))
    return Network(features, nn.Linear(latent, num_classes))


def batch_norm(width: int, epsilon: float = 1e-5) -> nn.BatchNorm2d:
    """Batch normalisation without the counter of batches, so that the whole state is real."""
    norm = nn.BatchNorm2d(width, eps=epsilon)
    norm.register_buffer("num_batches_tracked", None)
    return norm


def conv_norm(
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int = 1,
    groups: int = 1,
    relu: bool = True,
    epsilon: float = 1e-5,
) -> nn.Sequential:
    """Convolution without bias that keeps the size at stride 1, batch normalisation, ReLU.

    Parameters
    ----------
    inputs, outputs : int
        Channels.
    kernel : int
        Height and width of the kernel, odd.
    stride : int
    groups : int
        Of the convolution.
    relu : bool
        Whether a ReLU follows.
    epsilon : float
        Added to the variance.

    Returns
    -------
    torch.nn.Sequential
        (B, inputs, H, W) to (B, outputs, H / stride, W / stride), rounded up.
    """
    layers: list[nn.Module] = [
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        batch_norm(outputs, epsilon),
    ]
    return nn.Sequential(*layers, nn.ReLU()) if relu else nn.Sequential(*layers)
