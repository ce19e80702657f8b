"""MAPL's network: a backbone, a projection for the contrastive losses, a classifier.

Source: Mukherjee, Simonetto, Jamali-Rad 2024 and its code (github SayakMukherjee/MAPL): the
backbone ends in a latent vector; the projection latent-4096-BN-ReLU-latent takes it as it is, the
classifier through a ReLU. With 512 numbers and 10 classes the projection has 4,207,104 parameters,
the classifier 5,130. The learnable prototypes belong to the algorithm, which sends them.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, SerializeAsAny
from torch import Tensor, nn

from netsim.errors import ScenarioError
from netsim.models import ModelKind, Network
from netsim.models.resnet18 import ResNet18
from netsim.registry import Count, did_you_mean, family


def _named_model(value: Any) -> Any:
    """The model that a scenario names, alone or with its keys."""
    if isinstance(value, ModelKind):
        return value
    keys = {"kind": value} if isinstance(value, str) else value
    if not isinstance(keys, Mapping) or not isinstance(keys.get("kind"), str):
        raise ValueError('must be a model\'s name or its table, such as { kind = "mlp" }')
    known = {name: kind for name, kind in family("netsim.models").items() if name != "mapl"}
    if keys["kind"] not in known:
        raise ValueError(
            f'"{keys["kind"]}" is no model that can be a backbone'
            f"{did_you_mean(keys['kind'], known)}"
        )
    return known[keys["kind"]].model_validate(keys)


class ProjectedNetwork(Network):
    """A classifier with a projection beside its head.

    Parameters
    ----------
    features : torch.nn.Sequential
        With submodules `backbone`, (B, *input_shape) to (B, D), and `activation`.
    projection : torch.nn.Module
        (B, D) to (B, D), of what leaves the backbone.
    head : torch.nn.Module
        (B, D) to logits (B, C).
    """

    def __init__(self, features: nn.Sequential, projection: nn.Module, head: nn.Module) -> None:
        super().__init__(features, head)
        self.projection = projection

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Projections (B, D) and logits (B, C) of inputs (B, *input_shape), from one pass."""
        backbone, activation = self.features.children()
        latent = backbone(x)
        return self.projection(latent), self.head(activation(latent))


class Mapl(ModelKind):
    """Any other model of the project, its last activation apart, with a projection.

    Parameters
    ----------
    backbone : str or table
        The model, such as `"resnet18"` or `{ kind = "mlp", hidden = [64] }`.
    projection : int
        Hidden width of the projection.
    """

    kind: Literal["mapl"] = "mapl"
    backbone: Annotated[SerializeAsAny[ModelKind], BeforeValidator(_named_model)] = ResNet18()
    projection: Count = 4096

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class.

        Raises
        ------
        ScenarioError
            If the backbone can't take such inputs, or its features do not end in an activation.
        """
        network = self.backbone.build(input_shape, num_classes)
        whole = network.features
        if not isinstance(whole, nn.Sequential) or not isinstance(whole[-1], nn.ReLU):
            raise ScenarioError(
                f'[model] kind = "mapl": the features of {type(self.backbone).__name__} do not end '
                "in a ReLU that could be taken apart from them; give it a hidden layer"
            )
        assert isinstance(network.head, nn.Linear)
        latent = network.head.in_features
        norm = nn.BatchNorm1d(self.projection)
        norm.register_buffer("num_batches_tracked", None)
        projection = nn.Sequential(
            nn.Linear(latent, self.projection),
            norm,
            nn.ReLU(),
            nn.Linear(self.projection, latent),
        )
        features = nn.Sequential(OrderedDict(backbone=whole[:-1], activation=whole[-1]))
        return ProjectedNetwork(features, projection, network.head)
