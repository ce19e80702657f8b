"""Dec-LoRA: a frozen base at every node, and low-rank factors that are trained and mixed.

Source: Ghiasvand, Alizadeh and Pedarsani, "Decentralized Low-Rank Fine-Tuning of Large Language
Models", 2025, arXiv:2501.15361, Algorithm 1, with LoRA of Hu et al. 2022, arXiv:2106.09685. Each
weight matrix is W_0 + (alpha / r) B A with W_0 fixed; in a round node i takes K steps of SGD on its
A_i and B_i, and

    A_i <- sum_j W_ij A_j,  B_i <- sum_j W_ij B_j

Symbols: r is `rank`, alpha `alpha`, K `local_steps` or `local_epochs`; W as `dpsgd` says.
Readings: W_0 is the initial model, which all have in common: a model file (`[model]`) makes it a
trained one. Every parameter of two or more dimensions is adapted, a convolution's as a matrix of a
row for each output, with at most as high a rank as it can have; biases and normalisation stay as
they are, running statistics stay with the node. B_i = 0 at first; A_i is drawn once for all nodes,
uniform with variance 1 / (3 n) for n inputs, as a linear layer's weights.
Departures: none known.

Personalizes: nothing: neighbours' factors agree in the end.
Shares: the factors.
Sends: `b * factors + 32` per neighbour, *factors* being the entries of all A and B.
Needs: equal architectures and initial models.
Cost a round: `S` steps, a mean of factors.
Late or absent peers: the own factors take an absent neighbour's weight; with `absent`, the
neighbour's last ones replace them. Factors of earlier wake-ups count like others.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from netsim import api
from netsim.api import Batch, Node, Process, Ref

from .dpsgd import GossipParams, Model, mixing_weights


class Params(GossipParams):
    """r and alpha, and local training.

    Attributes
    ----------
    rank
        r, rank of the factors. Source: Hu et al. 2022.
    alpha
        alpha: the product of the factors is scaled by alpha / r. Source: Hu et al. 2022.
    """

    rank: api.Count = 4
    alpha: api.Positive = 4.0


@dataclass(frozen=True)
class Factors(Model):
    """A_j and B_j of all layers in one row `x`, and how many neighbours j has."""


class Layer(NamedTuple):
    """One weight matrix: where it lies among the parameters, and its factors' sizes."""

    start: int
    outputs: int
    inputs: int
    rank: int


def layers_of(theta: Ref, rank: int) -> tuple[Layer, ...]:
    """The weight matrices of a model, in the order of its parameters."""
    assert theta.architecture is not None
    end, found = theta.architecture.num_parameters, []
    for s in theta.architecture.slices:
        if s.stop <= end and len(s.shape) > 1:
            outputs, inputs = s.shape[0], (s.stop - s.start) // s.shape[0]
            found.append(Layer(s.start, outputs, inputs, min(rank, outputs, inputs)))
    return tuple(found)


@api.algorithm(knows_servers=False, mixes_to_one=True, tasks=("any",), common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1, and what listens for late factors."""
    inbox = api.Inbox(node, Factors, params)
    return [on_round(node, params, inbox), *inbox.listeners()]


def on_round(node: Node, params: Params, inbox: api.Inbox) -> Process:
    """Algorithm 1 for one node: `theta` has W_0, and the running statistics of the node."""
    theta = node.initial()
    w_0, layers = theta.part("parameters"), layers_of(theta, params.rank)
    seed = int(node.uniform("factors", 1, common=True)[0] * 2**31)
    factors = node.compute(first_factors, w_0, layers, seed, like=(num_factors(layers),))
    loss = augmented_adapted_loss if params.augment else adapted_loss
    how: dict[str, Any] = {**params.amount(), "loss": loss, "given": (w_0, layers, params.alpha)}
    while True:
        yield node.wakeup()
        trained = yield node.train(theta, **how, learn={"factors": factors})
        factors, theta = trained.learned["factors"], api.with_statistics_of(trained.theta, theta)
        node.publish(merged(node, params, theta, w_0, factors, layers), "trained")
        heard = yield from inbox.exchange(Factors(factors, len(node.neighbours)))
        ids, w = mixing_weights(node, params, factors, heard)
        factors = node.mix([factors, *(heard[j].x for j in ids[1:])], w)
        node.publish(merged(node, params, theta, w_0, factors, layers), "mixed")


def merged(
    node: Node, params: Params, theta: Ref, w_0: Ref, factors: Ref, layers: tuple[Layer, ...]
) -> Ref:
    """The whole model with the factors in it."""
    adapted_row = node.compute(adapted, w_0, factors, layers, params.alpha, like=w_0)
    return theta.with_part("parameters", adapted_row)


def num_factors(layers: tuple[Layer, ...]) -> int:
    """Entries of all A and B."""
    return sum(layer.rank * (layer.inputs + layer.outputs) for layer in layers)


def first_factors(w_0: Tensor, layers: tuple[Layer, ...], seed: int) -> Tensor:
    """The A of all layers as drawn by a seed, each before its B, which is 0."""
    generator, rows = torch.Generator().manual_seed(seed), []
    for _, outputs, inputs, rank in layers:
        bound = inputs**-0.5
        drawn = torch.rand(rank * inputs, generator=generator, dtype=torch.float64)
        rows += [bound * (2 * drawn - 1), torch.zeros(outputs * rank, dtype=torch.float64)]
    return torch.cat(rows).to(w_0)


def adapted(w_0: Tensor, factors: Tensor, layers: tuple[Layer, ...], alpha: float) -> Tensor:
    """The parameters W_0 + (alpha / r) B A as one row (P,)."""
    pieces, at, done = [], 0, 0
    for start, outputs, inputs, rank in layers:
        a = factors[at : at + rank * inputs].view(rank, inputs)
        at += rank * inputs
        b = factors[at : at + outputs * rank].view(outputs, rank)
        at += outputs * rank
        stop = start + outputs * inputs
        change = (alpha / rank) * (b @ a).reshape(-1)
        pieces += [w_0[done:start], w_0[start:stop] + change]
        done = stop
    return torch.cat([*pieces, w_0[done:]])


def adapted_loss(
    model: Any,
    batch: Batch,
    learned: dict[str, Tensor],
    w_0: Tensor,
    layers: tuple[Layer, ...],
    alpha: float,
) -> Tensor:
    """F_i(W_0 + (alpha / r) B A)."""
    return batch.loss(api.call_at(model, adapted(w_0, learned["factors"], layers, alpha), batch.x))


@api.loss(uniforms=api.CROP_FLIP_DRAWS)
def augmented_adapted_loss(model: Any, batch: Batch, *rest: Any) -> Tensor:
    """The same on cropped and mirrored images."""
    return adapted_loss(model, replace(batch, x=api.crop_and_flip(batch)), *rest)
