"""Gossip: mixing models with neighbours by a symmetric, doubly stochastic matrix.

W_ij = 1 / (1 + max(d_i, d_j)) for neighbours i and j of degrees d_i and d_j, W_ii = 1 - sum of the
others (Metropolis-Hastings weights, Xiao and Boyd 2004): 1/N over a complete topology. Degrees
travel with the models. What an absent neighbour would get stays with the node's own model (`self`),
or its last model stands in (`last`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from algorithms._rounds import AbsenceParams, PlainTraining
from netsim.api import Message, Node, Ref


class GossipParams(PlainTraining, AbsenceParams):
    """Local training, and what an absent neighbour means."""

    absent: Literal["self", "last"] = "self"


@dataclass(frozen=True)
class Model(Message):
    """x_j, and how many neighbours j has."""

    x: Ref
    degree: int


def mixing_weights(node: Node, heard: Mapping[int, Model]) -> tuple[list[int], list[float]]:
    """Ids, the node's own first, and their W_ij; logged."""
    degree = len(node.peers)
    ids = sorted(heard)
    others = [1.0 / (1 + max(degree, heard[j].degree)) for j in ids]
    w = [1.0 - sum(others), *others]
    node.log_weights([node.id, *ids], w)
    return [node.id, *ids], w
