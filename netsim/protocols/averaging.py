"""Averages of nodes: whole models or one part of them, with weights by their samples."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from torch import Tensor

from netsim.learning.functions import batched
from netsim.learning.refs import Ref
from netsim.node.node import Node, Process
from netsim.node.training_verbs import Trained
from netsim.protocols.discounts import discounted
from netsim.protocols.local_training import LocalTraining, PlainTraining
from netsim.protocols.messages import Mean, Share


def weighted_mean(node: Node, params: Any, shares: Mapping[int, Share]) -> Mean:
    """sum_j p_j theta_j with p_j = n_j / sum of n, or equal, discounted by age; logs the p_j.

    Parameters
    ----------
    node : Node
    params : Params
        Has `weights` and `staleness`, as `RoundParams` does.
    shares : mapping of int to Share
        By node id.

    Returns
    -------
    Mean
    """
    ids = sorted(shares)
    sizes = [shares[j].size if params.weights == "sizes" else 1 for j in ids]
    thetas, own = [shares[j].theta for j in ids], ids.index(node.id) if node.id in shares else None
    p = discounted(node, params, thetas, [size / sum(sizes) for size in sizes], own)
    of = dict.fromkeys(ids, 0.0)
    mine = shares.get(node.id)
    for j, weight in zip(ids, p, strict=True):  # what stands in for a peer as a copy is the own
        of[node.id if shares[j] is mine else j] += weight
    applied = {j: weight for j, weight in of.items() if weight > 0 or shares[j] is not mine}
    for i in node.neighbours if node.role == "server" else (node.id,):
        node.log_weights(list(applied), list(applied.values()), node=i)
    return Mean(node.mix(thetas, p))


@batched
def copies_as_own(shares: Tensor, copies: tuple[int, ...]) -> Tensor:
    """Shares (K,), a node's own first, with those of copies of its own model counted as its own.

    Parameters
    ----------
    shares : torch.Tensor
        (K,)
    copies : tuple of int
        Places of what stands in for absent peers as a copy of the own model.
    """
    counted = shares.clone()
    counted[list(copies)] = 0.0
    counted[0] += shares[list(copies)].sum()
    return counted


def trained_share(node: Node, trained: Trained | None) -> Share | None:
    """Publish a trained model and make it a message; None if an arrival has taken its place."""
    if trained is None:
        return None
    node.publish(trained.theta, "trained")
    return Share(trained.theta, node.train_size)


Plain = TypeVar("Plain", bound=PlainTraining)
Local = TypeVar("Local", bound=LocalTraining)


class AveragedModel(Generic[Plain]):
    """FedAvg's participant: train the whole model, adopt the mean of all.

    Attributes
    ----------
    node : Node
    params : PlainTraining
    model : Held
        Model from which the node goes on.
    """

    def __init__(self, node: Node, params: Plain) -> None:
        self.node, self.params = node, params
        self.model = node.hold(node.initial())

    def how(self) -> dict[str, Any]:
        """Keywords of `node.train` for the round that begins."""
        return self.params.how()

    def train(self) -> Process:
        """Train the model; its `Share`."""
        return trained_share(self.node, (yield self.model.train(**self.how())))

    def adopt(self, common: Mean) -> None:
        """Go on from the mean of all models."""
        self.model.replace(common.theta)
        self.node.publish(common.theta, "mixed")


class AveragedPart(Generic[Local]):
    """A participant whose model has one part that is averaged; the rest stays with its node.

    Attributes
    ----------
    node : Node
    params : LocalTraining
    part : str
        The name of the part, `"head"` for example.
    theta : Ref
        The model, with the newest mean of the part.
    """

    def __init__(self, node: Node, params: Local, part: str) -> None:
        self.node, self.params, self.part = node, params, part
        self.theta = node.initial()
        self._mean: Ref | None = None

    def how(self) -> dict[str, Any]:
        """Keywords of `node.train` for the round that begins."""
        return self.params.how()

    def fit(self) -> Process:
        """A round's training; the whole model that comes of it."""
        return (yield self.node.train(self.theta, **self.how())).theta

    def show(self, stage: str) -> None:
        """Publish the model."""
        self.node.publish(self.theta, stage)

    def train(self) -> Process:
        """Train by `fit`; the `Share` of the part."""
        self._mean = None
        trained = self.theta = yield from self.fit()
        if self._mean is None:
            self.show("trained")
        else:  # a mean that came meanwhile is newer than what was trained of the part
            self.theta = trained.with_part(self.part, self._mean)
            self.show("mixed")
        return Share(trained.part(self.part), self.node.train_size)

    def adopt(self, common: Mean) -> None:
        """The mean of all nodes' parts takes the place of the own one."""
        self._mean = common.theta
        self.theta = self.theta.with_part(self.part, common.theta)
        self.show("mixed")
