"""DisPFL: sparse personal models, mixed where masks meet, whose masks are pruned and regrown.

Source: Dai, Shen, He, Tian and Tao, "DisPFL: Towards Communication-Efficient Personalized Federated
Learning via Decentralized Sparse Training", ICML 2022, arXiv:2206.00187, Algorithms 1 and 2. Node i
has a mask m_i and a model w_i that is 0 outside of it. In round t

    w_i <- (sum_j w_j / sum_j m_j) m_i  over those heard and i itself, entry by entry
    w_i <- K steps of SGD, w_i - eta m_i g
    m_i: in each layer the share alpha_t of its entries with the smallest |w_i| is pruned,
         and as many of those outside with the largest |g| grow, g the gradient at w_i on a
         minibatch; they begin at 0
    alpha_t = alpha_0 / 2 (1 + cos(pi t / T))

Symbols: K is `local_steps` or `local_epochs`, T `anneal_rounds`.
Readings: masks are of parameters of two or more dimensions, all others are kept whole. Their
densities are those of Erdos-Renyi-Kernel (Evci et al. 2020): in proportion to the sum of a shape
over its product, none above 1, `density` of all of them together. Masks are drawn by each node.
An entry that has just been pruned does not grow at once. A message has the entries of the mask, and
a bit for each entry that masks are of. The gradient that chooses what grows takes no virtual time,
nor does mixing. Running statistics stay with the node.
Departures: none known.

Personalizes: the mask, and with it the model.
Shares: the model inside of the mask, and the mask.
Sends: `b * kept + masked` per neighbour, *kept* entries of the mask out of *masked*, and all
others.
Needs: equal architectures.
Cost a round: `S` steps, a mean, a gradient.
Late or absent peers: the mean is over the models that came; with `absent`, a peer's last model
replaces a missing one.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from netsim import api
from netsim.api import Batch, Encoded, Message, Node, Process, Ref


class Params(api.PlainTraining, api.AbsenceParams):
    """Density of models, change of masks, and local training.

    Attributes
    ----------
    density
        Share of the entries of weight matrices and kernels that a mask keeps. Source: Dai et al.
        2022; 0.5 there.
    prune
        alpha_0, share of a layer's kept entries that the first round replaces. Source: Dai et al.
        2022; 0.5 there.
    anneal_rounds
        T, rounds of a node until masks stay as they are. Source: Dai et al. 2022; all 500 rounds
        there.
    absent
        Substitute for a peer whose message did not come or is too old: nothing, so that the mean is
        over the others; or its last known message ("last").
    """

    density: api.Fraction = 0.5
    prune: api.Fraction = 0.5
    anneal_rounds: api.Count = 500
    absent: Literal["renormalise", "last"] = "renormalise"

    @api.model_validator(mode="after")
    def _keeps_some(self) -> "Params":
        if not self.density:
            raise ValueError("density = 0 keeps no weight; it is at most 1, and above 0")
        return self

    def alpha(self, t: int) -> float:
        """alpha_t."""
        return (
            self.prune
            / 2
            * (1 + math.cos(math.pi * min(t, self.anneal_rounds) / self.anneal_rounds))
        )


class Layer(NamedTuple):
    """Entries [start, stop) of the parameters that have a mask, and how many it keeps."""

    start: int
    stop: int
    kept: int


@dataclass(frozen=True)
class Sparse(Message):
    """w_j (P,), of which the entries of the mask are sent, and m_j (P,), a bit an entry."""

    w: Encoded
    m: Encoded


@api.algorithm(knows_servers=False, mixes_to_one=True, tasks=("any",), common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1, and what listens for late models."""
    inbox = api.Inbox(node, Sparse, params)
    return [on_round(node, params, inbox), *inbox.listeners()]


def on_round(node: Node, params: Params, inbox: api.Inbox) -> Process:
    """Algorithm 1 for one node."""
    theta, t = node.initial(), 0
    layers = layers_of(theta, params.density)
    w = theta.part("parameters")
    masked = sum(layer.stop - layer.start for layer in layers)
    kept = sum(layer.kept for layer in layers) + w.num_values - masked
    seed = int(node.uniform("mask", 1)[0] * 2**31)
    m = node.compute(first_mask, w, layers, seed, like=w)
    w = node.compute(inside, w, m, like=w)
    loss = augmented_masked_loss if params.augment else masked_loss
    while True:
        yield node.wakeup()
        mine = Sparse(Encoded(w, 0, reals=kept), Encoded(m, packed_bits=masked))
        heard = yield from inbox.exchange(mine)
        models = (w, *(one.w.value for one in heard.values()))
        masks = (m, *(one.m.value for one in heard.values()))
        shares = api.discounted(node, params, models, [1.0 / len(models)] * len(models))
        node.log_weights([node.id, *heard], shares)
        w = node.compute(mean_where_masks_meet, models, masks, tuple(shares), like=w)
        theta = theta.with_part("parameters", w)
        node.publish(theta, "mixed")
        how: dict[str, Any] = {**params.amount(), "loss": loss, "given": (m,)}
        trained = yield node.train(theta, **how)
        theta, w = trained.theta, trained.theta.part("parameters")
        node.publish(theta, "trained")
        g = node.gradient(theta, node.batch())
        m = node.compute(pruned_and_grown, m, w, g, layers, params.alpha(t), like=m)
        w = node.compute(inside, w, m, like=w)
        t += 1


def layers_of(theta: Ref, density: float) -> tuple[Layer, ...]:
    """The entries that masks are of, with Erdos-Renyi-Kernel densities."""
    assert theta.architecture is not None
    end = theta.architecture.num_parameters
    slices = [s for s in theta.architecture.slices if s.stop <= end and len(s.shape) > 1]
    sizes = [s.stop - s.start for s in slices]
    raw = [sum(s.shape) / size for s, size in zip(slices, sizes, strict=True)]
    full: set[int] = set()
    while True:  # layers whose density would be above 1 are dense; the others share what is left
        others = [k for k in range(len(slices)) if k not in full]
        left = density * sum(sizes) - sum(sizes[k] for k in full)
        scale = left / sum(raw[k] * sizes[k] for k in others) if others else 0.0
        above = {k for k in others if scale * raw[k] > 1.0}
        if not above:
            break
        full |= above
    return tuple(
        Layer(s.start, s.stop, size if k in full else max(1, round(scale * raw[k] * size)))
        for k, (s, size) in enumerate(zip(slices, sizes, strict=True))
    )


def first_mask(w: Tensor, layers: tuple[Layer, ...], seed: int) -> Tensor:
    """m_i (P,) as drawn by a seed: in each layer so many entries at random."""
    generator, m = torch.Generator().manual_seed(seed), torch.ones_like(w)
    for start, stop, kept in layers:
        order = torch.randperm(stop - start, generator=generator).to(w.device)
        m[start:stop] = 0.0
        m[start + order[:kept]] = 1.0
    return m


def inside(w: Tensor, m: Tensor) -> Tensor:
    """W inside of the mask, 0 outside."""
    return torch.where(m > 0, w, 0.0)


def mean_where_masks_meet(
    w: tuple[Tensor, ...], m: tuple[Tensor, ...], shares: tuple[float, ...]
) -> Tensor:
    """(sum_j p_j w_j / sum_j p_j m_j) m_i, the node's own first; p all equal but for their age."""
    p = w[0].new_tensor(shares)
    total, count = p @ torch.stack(w), p @ torch.stack(m)
    return torch.where(m[0] > 0, total / count, 0.0)


def pruned_and_grown(
    m: Tensor, w: Tensor, g: Tensor, layers: tuple[Layer, ...], alpha: float
) -> Tensor:
    """The next mask: Algorithm 2."""
    after = m.clone()
    for start, stop, kept in layers:
        some = slice(start, stop)
        is_in = m[some] > 0
        moved = min(int(alpha * kept), stop - start - kept)
        weakest = torch.where(is_in, w[some].abs(), torch.inf).argsort(stable=True)[:moved]
        strongest = torch.where(is_in, -1.0, g[some].abs()).argsort(descending=True, stable=True)
        after[start + weakest] = 0.0
        after[start + strongest[:moved]] = 1.0
    return after


def masked_loss(model: Any, batch: Batch, learned: dict[str, Tensor], m: Tensor) -> Tensor:
    """F_i(w m), whose gradient by w is m g."""
    return batch.loss(api.call_at(model, api.parameters_of(model) * m, batch.x))


@api.loss(uniforms=api.CROP_FLIP_DRAWS)
def augmented_masked_loss(model: Any, batch: Batch, *rest: Any) -> Tensor:
    """The same on cropped and mirrored images."""
    return masked_loss(model, replace(batch, x=api.crop_and_flip(batch)), *rest)
