"""Meta-L2C: mixing weights from an encoder of model changes that all nodes learn together.

Source: Li, Zhou, Tian, Tao, "Learning to collaborate in decentralized learning of personalized
models", CVPR 2022, Algorithm 1 (meta-L2C) and Eqs. (2), (5), (6).

Symbols: as in `l2c`; Delta^_j = theta_j^{t+1/2} - theta_j^0 the change since the start, E the
encoder with parameters phi, e_j = E(Delta^_j) its embedding of node j (E,).

Encoder: for each layer of the model a fully connected network of two layers (10, then 5 outputs)
that all filters of the layer go through; an embedding is what comes out of all of them. Biases and
normalisation are left out. It has 10 d + 65 parameters for a layer whose filters have d weights:
55,090 for the CIFAR CNN, 17,235 for the 4-layer CNN. As filters are shared, it fits models with
other numbers of classes or filters, and other nodes.

Readings and departures:
- Line 14 compares Delta^ themselves, Eq. (5) embeds them first. Taken: Eq. (5).
- ReLU between the encoder's layers (`activation`); inner products are not scaled, although large
  ones saturate the softmax (`normalise` divides embeddings by their length).
- Encoders start as torch.nn.Linear does, the same at all nodes.
- Eq. (6): every node takes an Adam step of its own (`mixing_steps`), then encoders are averaged
  (line 24, AllReduce); Adam's moments stay with the node.
- AllReduce is messages: under `rounds` a ring through all nodes in the order of their ids, 2 (K-1)
  phases with 1/K of the encoder each, 2 K (K-1) messages a round. It needs links that do not give
  up (unlimited ARQ); a node that misses a piece keeps its local encoder. Under other schedules a
  node averages its own and its neighbours' freshest encoders.
- Ranking after round T_0 is over the full set: a peer that was absent then by its last Delta^; one
  that was never heard comes last.
- Transfer: a run keeps its encoders in `kept/encoder.npz`; `encoder` names such a file, whose mean
  over nodes is where the encoder starts, and `learn_encoder = false` leaves it there.
- Common initial model, statistics, absent and late peers, rounds, stages: as in `l2c`.

Personalizes: the whole model.
Shares: updates, whole changes since the start, and an encoder.
Sends: `2 * b * theta` per collaborator (all neighbours until `prune_after`); round the ring `2 * (N
- 1) / N * b * E` to the next node, E the encoder's parameters.
Needs: equal architectures; validation samples; a common initial model.
Cost a round: `S` steps, `mixing_steps` gradients over the validation samples, as many steps of the
encoder, a mean.
Late or absent peers: as in `l2c`; a node that misses a part of the ring's sum keeps its own encoder
for the round. Without rounds nodes send whole encoders to their neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor
from torch.func import vjp

from netsim import api
from netsim.api import Message, Node, Process, Ref

from . import l2c
from ._encoder import (
    Form,
    drawn_encoder,
    embed_all,
    encoder_size,
    layers_of,
    saved_encoder,
    saved_mean,
)
from .l2c import MixingParams, logit_gradient, stepped, zeros_like_first


class Params(MixingParams):
    """Initial values of the encoder, and its way to compare.

    Attributes
    ----------
    activation
        Layer between the encoder's two layers.
    normalise
        Whether embeddings are divided by their length.
    encoder
        File of encoders that a run has kept (`kept/encoder.npz`): their mean over nodes is where
        the encoder starts. Absent: it starts at random.
    learn_encoder
        Whether the encoder is learned; false leaves it where it starts.
    """

    activation: Literal["relu", "none"] = "relu"
    normalise: bool = False
    encoder: str | None = None
    learn_encoder: bool = True


@dataclass(frozen=True)
class Update(l2c.Update):
    """Delta_j, and Delta^_j for the receiver's encoder."""

    change: Ref


@dataclass(frozen=True)
class Piece(Message):
    """A part of an encoder on its way round the ring."""

    values: Ref


@dataclass(frozen=True)
class Encoder(Message):
    """A whole encoder, for nodes without a ring."""

    phi: Ref


@api.algorithm(
    knows_servers=False, mixes_to_one=True, needs_validation=True, common_parts=("parameters",)
)
def processes(node: Node, params: Params) -> list[Process]:
    """The round, and who listens for what comes beside it."""
    if params.encoder is not None and not Path(params.encoder).is_file():
        raise api.UnsuitableError(
            f"[algorithm] encoder = {params.encoder!r}: there is no such file"
        )
    collaborators = api.Collaborators(node, Update, params)
    return [
        on_round(node, params, collaborators),
        *collaborators.listeners(),
        api.drop_late(node, Piece),
    ]


def on_round(node: Node, params: Params, collaborators: api.Collaborators) -> Process:
    """Algorithm 1 for one node, with E in place of the logits."""
    theta = first = node.initial()
    form = Form(layers_of(first), params.activation, params.normalise)
    phi = first_encoder(node, params, form, first)
    adam = node.compute(zeros_like_first, first, 3, phi.num_values)
    while True:
        yield node.wakeup()
        half = (yield node.train(theta, epochs=params.local_epochs)).theta  # S local steps
        node.publish(half, "trained")
        update = Update(node.mix([theta, half], [1.0, -1.0]), node.mix([half, first], [1.0, -1.0]))
        heard = known_of((yield from collaborators.exchange(update)), collaborators)
        known = (node.id, *(j for j in collaborators.members if j in collaborators.latest))
        weights = attend(node, phi, form, changes_of(known, update, collaborators))
        node.log_weights(known, weights, what="learned")
        changes = changes_of(heard.ids, update, collaborators)
        theta, phi, adam = mix_and_learn(
            node, params, form, heard, changes, theta, half, phi, adam,
            weights if heard.ids == known else None,
        )  # fmt: skip
        node.publish(theta, "mixed")
        if params.learn_encoder:
            phi = yield from all_reduce(node, params, phi)  # line 24, Eq. (6)
        node.keep("encoder", phi)
        if collaborators.is_to_shrink():  # the end of round T_0
            found = yield node.value(weights, default=[0.0] * len(known))
            ranking = dict(zip(known, found, strict=True))
            collaborators.shrink([ranking.get(j, -1.0) for j in collaborators.members])


def mix_and_learn(
    node: Node,
    params: Params,
    form: Form,
    heard: api.UpdatesToMix,
    changes: list[Ref],
    theta: Ref,
    half: Ref,
    phi: Ref,
    adam: Ref,
    w: Ref | None,
) -> tuple[Ref, Ref, Ref]:
    """theta^{t+1}, and the encoder with Adam's state after its steps; `w` if it is known."""
    deltas = [update.delta for update in heard.updates]
    results: list[Ref] = []
    for _ in range(params.mixing_steps):
        w = w or attend(node, phi, form, changes)
        applied = api.discounted(node, params, deltas, w)
        mixed = stepped(node, theta, half, deltas, applied)  # line 16, Eq. (2)
        if not results:
            l2c.log_applied(node, heard, applied)
        results.append(mixed)
        if not params.learn_encoder:
            break
        g = node.gradient(mixed, "validation")
        phi, adam = node.compute(
            encoder_step, phi, adam, w, g, l2c.by_logits(node, params, deltas), changes,
            heard.learns, form, params.mixing_learning_rate, params.mixing_weight_decay,
            like=(phi, adam),
        )  # fmt: skip
        w = None
    return results[0], phi, adam


def attend(node: Node, phi: Ref, form: Form, changes: list[Ref]) -> Ref:
    """w_i over the nodes whose changes these are, its own first (line 14, Eq. (5))."""
    w: Ref = node.compute(weights_of, phi, changes, form, like=(len(changes),))
    return w


def known_of(heard: api.UpdatesToMix, collaborators: api.Collaborators) -> api.UpdatesToMix:
    """Without peers of whom nothing has ever come: they have no embedding."""
    keep = [k for k, j in enumerate(heard.ids) if k == 0 or j in collaborators.latest]
    return api.UpdatesToMix(
        tuple(heard.ids[k] for k in keep),
        tuple(heard.updates[k] for k in keep),
        tuple(heard.learns[k] for k in keep),
    )


def changes_of(ids: Sequence[int], own: Update, collaborators: api.Collaborators) -> list[Ref]:
    """Delta^ of the node itself, the first of `ids`, and the last known ones of its peers."""
    return [own.change, *(collaborators.latest[j].msg.change for j in ids[1:])]


def all_reduce(node: Node, params: Params, phi: Ref) -> Process:
    """The mean of all encoders, or of the neighbours' where there are no rounds."""
    if node.schedule == "rounds":
        return (yield from ring_mean(node, phi))
    received = yield node.exchange(Encoder(phi))
    phis = [phi, *(r.msg.phi for r in received.values())]
    return node.mix(phis, api.discounted(node, params, phis, [1.0 / len(phis)] * len(phis)))


def ring_mean(node: Node, phi: Ref) -> Process:
    """AllReduce over the ring 0, 1, ..., K-1, 0: pieces are summed up, then handed round.

    In phase q node i sends piece i - q to its right and gets piece i - q - 1 from its left (modulo
    K). After K - 1 phases each node has one piece that all have added to, after 2 (K - 1) all.
    """
    i, count = node.id, node.num_nodes
    left, right = (i - 1) % count, (i + 1) % count
    pieces = list(node.compute(split, phi, count))
    for phase in range(2 * (count - 1)):
        outgoing = {right: Piece(pieces[(i - phase) % count])}
        received = yield node.exchange(outgoing, expect=[left], phase=phase)
        if left not in received:
            return phi
        values, which = received[left].msg.values, (i - phase - 1) % count
        if phase < count - 1:
            values = node.mix([pieces[which], values], [1.0, 1.0])
        pieces[which] = values
    return node.compute(joined_mean, pieces)


def split(phi: Tensor, count: int) -> tuple[Tensor, ...]:
    """`count` pieces whose sizes differ by one at most."""
    return tuple(torch.tensor_split(phi, count))


def joined_mean(pieces: Sequence[Tensor]) -> Tensor:
    """The pieces, sums over all nodes, put together and divided by their number."""
    return torch.cat(list(pieces)) / len(pieces)


def first_encoder(node: Node, params: Params, form: Form, theta: Ref) -> Ref:
    """The encoder that all nodes start with: drawn, or the mean of those of an earlier run."""
    size = encoder_size(form.layers)
    if params.encoder is None:
        (u,) = node.uniform("encoder", 1, common=True)
        drawn: Ref = node.compute(drawn_encoder, theta, form, int(u * 2**53), like=(size,))
        return drawn
    found = len(saved_mean(params.encoder))
    if found != size:
        raise api.UnsuitableError(
            f"[algorithm] encoder = {params.encoder!r}: has {found} parameters, but the filters of "
            f"this model need {size}"
        )
    saved: Ref = node.compute(saved_encoder, theta, params.encoder, like=(size,))
    return saved


def attention_weights(embeddings: Tensor) -> Tensor:
    """w_ij = softmax over j of <e_i, e_j>, Eq. (5).

    Parameters
    ----------
    embeddings : torch.Tensor
        (K, E)

    Returns
    -------
    torch.Tensor
        (K, K), row i for node i; rows sum to 1.
    """
    return torch.softmax(embeddings @ embeddings.T, dim=1)


def weights_of(phi: Tensor, changes: Sequence[Tensor], form: Form) -> Tensor:
    """w_i of the node whose change comes first: (K,)."""
    return attention_weights(embed_all(phi, changes, form))[0]


def encoder_step(
    phi: Tensor,
    adam: Tensor,
    w: Tensor,
    grad_theta: Tensor,
    deltas: Sequence[Tensor],
    changes: Sequence[Tensor],
    learns: tuple[bool, ...],
    form: Form,
    learning_rate: float,
    weight_decay: float,
) -> tuple[Tensor, Tensor]:
    """One Adam step on phi: from the logits' gradient back through inner products and E."""

    def logits(parameters: Tensor) -> Tensor:
        e = embed_all(parameters, changes, form)
        return e @ e[0]

    own = torch.tensor(learns, dtype=w.dtype, device=w.device)
    back = vjp(logits, phi)[1]
    (g,) = back(logit_gradient(w, grad_theta, deltas) * own)
    return api.adam_step(phi, g, adam, learning_rate, weight_decay)
