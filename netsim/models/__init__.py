"""Models; one a file, its name is its `kind` in a scenario."""

from abc import abstractmethod
from typing import Any

from numpy.typing import NDArray
from torch import Tensor, nn

from netsim.errors import ScenarioError
from netsim.registry import Component


class Network(nn.Module):
    """A classifier in two parts, so that algorithms can address its head.

    Parameters
    ----------
    features : torch.nn.Module
        (B, *input_shape) to (B, F): all but the last layer, its activation included.
    head : torch.nn.Module
        (B, F) to logits (B, C): the last layer.
    """

    def __init__(self, features: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.features = features
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, C) of inputs (B, *input_shape)."""
        logits: Tensor = self.head(self.features(x))
        return logits


class ModelKind(Component):
    """Base of the models. A subclass states `kind` and builds its network."""

    @abstractmethod
    def build(self, input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
        """Build the network.

        Parameters
        ----------
        input_shape : tuple of int
            Of one input, (F,) or (C, H, W).
        num_classes : int

        Returns
        -------
        torch.nn.Module
            A `Network`, or another module, which methods that treat its head apart refuse unless it
            has `features` and `head`. With PyTorch's default initial values, drawn from the global
            generator: whoever builds it for a run sets the values from its own stream.

        Raises
        ------
        ScenarioError
            If the model can't take such inputs.
        """

    def require_inputs(self, x: NDArray[Any], num_outputs: int) -> None:
        """Raise ScenarioError if the data has inputs for which the model has no entry.

        Parameters
        ----------
        x : (n, *input_shape) array
            All inputs of the data set.
        num_outputs : int
        """


def require_below(x: NDArray[Any], limit: int, model: str, key: str, of: str) -> None:
    """Raise ScenarioError unless numbers are below a limit that a key of a model states.

    Parameters
    ----------
    x : array
    limit : int
        Value of the key.
    model, key : str
    of : str
        Such as "users".
    """
    if x.size and not (x.min() >= 0 and x.max() < limit):
        raise ScenarioError(
            f'[model] kind = "{model}": {key} = {limit}, and the data has {of} from {x.min():g} to '
            f"{x.max():g}; set {key} = {int(x.max()) + 1}"
        )


def values_after_convolutions(input_shape: tuple[int, ...], model: str, channels: int) -> int:
    """Values that leave two rounds of 5x5 convolution (no padding) and 2x2 pooling.

    Parameters
    ----------
    input_shape : (C, H, W)
    model : str
        For the message.
    channels : int
        Of the second convolution.

    Raises
    ------
    ScenarioError
        If the input is not an image or nothing would be left of it.
    """
    if len(input_shape) != 3:
        raise ScenarioError(
            f'[model] kind = "{model}": needs images (channels, height, width), the data has '
            f'inputs of shape {input_shape}; choose "mlp" or another data set'
        )
    height, width = (((side - 4) // 2 - 4) // 2 for side in input_shape[1:])
    if height < 1 or width < 1:
        raise ScenarioError(
            f'[model] kind = "{model}": needs images of at least 16 x 16 pixels, the data has '
            f'{input_shape[1]} x {input_shape[2]}; choose "mlp" or another data set'
        )
    return channels * height * width
