"""L2C, learning to collaborate: mixing weights learned by the gradient of the validation loss.

Source: Li, Zhou, Tian, Tao, "Learning to collaborate in decentralized learning of personalized
models", CVPR 2022, Algorithm 1 and Eq. (2).

Symbols: theta_i model (P,), Delta_j = theta_j^t - theta_j^{t+1/2} the update of node j by its local
steps, N(i) neighbours, alpha_i mixing logits, one a member of {i} u N(i), w_i = softmax(alpha_i),
K nodes, T_0 the round after which K_0 neighbours are removed.

Readings and departures:
- Eq. (2) has the own update in full in its first line, weighted by w_ii in its second; they agree
  only if w_ii = 1. Line 16 sums over N(i) alone. Taken: sum and softmax over {i} u N(i).
- The letter alpha also names a learning rate there; here `mixing_learning_rate`.
- alpha_i starts at zero (uniform weights). One Adam step a round on the whole validation set;
  `mixing_steps` takes more, each at the model that the weights of that moment would have given.
- Rounds are counted from 1, a node's own where nodes wake by themselves. N(i) is ranked by w_i as
  it was in round T_0, over the full set: a peer that was absent then by the logit it has. The
  paper's K_0 = 90 of 99 leaves `kept_peers` = 9. Logits and Adam's moments of the others stay.
- A node that joins after others have had their T_0 rounds is ranked by the logit that it began
  with: whoever has dropped it never takes its updates again, and warns of it; those that kept it
  do. It counts its own T_0 rounds from when it joins.
- Logged as learned are weights over the full set; as applied those of the updates that are mixed.
- A common initial model (averaging needs it). The model of a node is theta^{t+1}, stage `mixed`.
- Running statistics of a model stay with its node.
- Absent and late peers: see `Collaborators`.

Personalizes: the whole model.
Shares: updates, weighted by what lowers the validation loss.
Sends: `b * theta` per collaborator (all neighbours until `prune_after`), and a message without
values to those dropped.
Needs: equal architectures; validation samples; a common initial model.
Cost a round: `S` steps, `mixing_steps` gradients over the validation samples, a mean.
Late or absent peers: an update counts once, and the weight of a peer without a new one does not
change by learning; with `absent`, its weight goes to the others or to the own update, or its last
update counts again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from netsim import api
from netsim.api import Message, Node, Process, Ref


class MixingParams(api.CollaboratorParams):
    """Keys that L2C and meta-L2C share; the defaults are the paper's.

    Attributes
    ----------
    local_epochs
        Passes over the training samples in a round. Source: Li et al. 2022, section 5.
    mixing_learning_rate
        Learning rate of the mixing weights (Adam). Source: Li et al. 2022, section 5.
    mixing_weight_decay
        Weight decay of the mixing weights. Source: Li et al. 2022, section 5.
    mixing_steps
        Steps on the mixing weights in a round, each over all validation samples.
    """

    local_epochs: api.Count = 5
    mixing_learning_rate: api.Positive = 0.1
    mixing_weight_decay: api.NonNegative = 0.01
    mixing_steps: api.Count = 1


class Params(MixingParams):
    """Initial values of mixing weights.

    Attributes
    ----------
    first_logit
        Initial value of alpha; without weight decay it changes nothing.
    """

    first_logit: api.Finite = 0.0


@dataclass(frozen=True)
class Update(Message):
    """Delta_j."""

    delta: Ref


@api.algorithm(
    knows_servers=False, mixes_to_one=True, needs_validation=True, common_parts=("parameters",)
)
def processes(node: Node, params: Params) -> list[Process]:
    """The round, and who listens for what comes beside it."""
    collaborators = api.Collaborators(node, Update, params)
    return [on_round(node, params, collaborators), *collaborators.listeners()]


def on_round(node: Node, params: Params, collaborators: api.Collaborators) -> Process:
    """Algorithm 1 for one node."""
    theta = node.initial()
    everyone = [node.id, *collaborators.members]  # whose logits alpha holds, the node itself first
    alpha = node.compute(first_logits, theta, len(everyone), params.first_logit)
    adam = node.compute(zeros_like_first, theta, 3, len(everyone))
    while True:
        yield node.wakeup()
        half = (yield node.train(theta, epochs=params.local_epochs)).theta  # S local steps
        node.publish(half, "trained")
        delta = node.mix([theta, half], [1.0, -1.0])
        heard = yield from collaborators.exchange(Update(delta))
        weights = node.compute(mixing_weights, alpha)  # over the full set, who was heard or not
        node.log_weights(everyone, weights, what="learned")
        theta, alpha, adam = mix_and_learn(node, params, heard, everyone, theta, half, alpha, adam)
        node.publish(theta, "mixed")
        if collaborators.is_to_shrink():  # the end of round T_0
            ranking = yield node.value(weights, default=[0.0] * len(everyone))
            collaborators.shrink(ranking[1:])
            places = tuple(everyone.index(j) for j in (node.id, *collaborators.members))
            alpha, adam = node.compute(only, alpha, adam, places)
            everyone = [node.id, *collaborators.members]


def mix_and_learn(
    node: Node,
    params: Params,
    heard: api.UpdatesToMix,
    everyone: list[int],
    theta: Ref,
    half: Ref,
    alpha: Ref,
    adam: Ref,
) -> tuple[Ref, Ref, Ref]:
    """theta^{t+1}, and alpha with Adam's state after its steps."""
    places = tuple(everyone.index(j) for j in heard.ids)
    deltas = [update.delta for update in heard.updates]
    results: list[Ref] = []
    for _ in range(params.mixing_steps):
        w = node.compute(weights_of, alpha, places)
        applied = api.discounted(node, params, deltas, w)
        mixed = stepped(node, theta, half, deltas, applied)  # line 16, Eq. (2)
        if not results:
            log_applied(node, heard, applied)
        results.append(mixed)
        g = node.gradient(mixed, "validation")
        alpha, adam = node.compute(
            logit_step, alpha, adam, w, g, by_logits(node, params, deltas), places, heard.learns,
            params.mixing_learning_rate, params.mixing_weight_decay, like=(alpha, adam),
        )  # fmt: skip
    return results[0], alpha, adam


def by_logits(node: Node, params: MixingParams, deltas: Sequence[Ref]) -> list[Ref]:
    """The updates that the weights w mix: s_j delta_j + (1 - s_j) delta_i, s_j by age.

    The same mixture as that of delta_j by discounted weights; its gradient by w is what logits
    learn from.
    """
    own = deltas[0]
    return [
        delta if s == 1.0 else node.mix([delta, own], [s, 1.0 - s])
        for delta, s in zip(deltas, api.staleness_factors(node, params, deltas), strict=True)
    ]


def stepped(node: Node, theta: Ref, half: Ref, deltas: Sequence[Ref], w: Ref) -> Ref:
    """`aggregate` of lazy values, with running statistics of the own `half`.

    Parameters
    ----------
    node : Node
    theta, half : Ref
        theta_i^t and theta_i^{t+1/2}.
    deltas : sequence of Ref
        K updates, the node's own first.
    w : Ref
        (K,)

    Returns
    -------
    Ref
        theta_i^{t+1}.
    """
    return api.with_statistics_of(half, node.mix([theta, *deltas], node.compute(step_shares, w)))


def log_applied(node: Node, heard: api.UpdatesToMix, w: Ref) -> None:
    """Log the weights (K,) that a round mixes with; a stand-in's is the node's own."""
    copies = heard.copies
    applied = node.compute(api.copies_as_own, w, copies) if copies else w
    node.log_weights(heard.ids, applied)


def first_logits(theta: Tensor, count: int, value: float) -> Tensor:
    """Alpha at the start: (count,), in the models' precision."""
    return theta.new_full((count,), value)


@api.batched
def mixing_weights(logits: Tensor) -> Tensor:
    """w_i = softmax(alpha_i): (K,) -> (K,), the node itself first."""
    return torch.softmax(logits, dim=0)


@api.batched
def weights_of(alpha: Tensor, places: tuple[int, ...]) -> Tensor:
    """w_i over the members that are mixed in this round."""
    return mixing_weights(alpha[list(places)])


def aggregate(theta: Tensor, deltas: Tensor, w: Tensor) -> Tensor:
    """theta_i^{t+1} = theta_i^t - sum_{j in {i} u N(i)} w_ij Delta_j, Eq. (2).

    Parameters
    ----------
    theta : torch.Tensor
        (P,)
    deltas : torch.Tensor
        (K, P), the node's own first.
    w : torch.Tensor
        (K,)

    Returns
    -------
    torch.Tensor
        (P,)
    """
    shares = step_shares(w)
    return shares[0] * theta + shares[1:] @ deltas


def step_shares(w: Tensor) -> Tensor:
    """(1, -w): what theta and each Delta_j count in Eq. (2). w (K,) -> (1 + K,)."""
    return torch.cat([torch.ones_like(w[:1]), -w])


def logit_gradient(w: Tensor, grad_theta: Tensor, deltas: Tensor | Sequence[Tensor]) -> Tensor:
    """Gradient of the validation loss in alpha_i, through softmax and Eq. (2).

    dL/dw_j = -<g, Delta_j> = q_j with g = dL/dtheta at theta_i^{t+1}, and dw_j/dalpha_m =
    w_j (1[j = m] - w_m), so dL/dalpha_m = w_m (q_m - sum_j w_j q_j).

    Parameters
    ----------
    w : torch.Tensor
        (K,)
    grad_theta : torch.Tensor
        (P,) g.
    deltas : torch.Tensor
        (K, P), or K rows (P,).

    Returns
    -------
    torch.Tensor
        (K,)
    """
    q = torch.stack([-torch.dot(grad_theta, delta) for delta in deltas])
    return w * (q - torch.dot(w, q))


def logit_step(
    alpha: Tensor,
    adam: Tensor,
    w: Tensor,
    grad_theta: Tensor,
    deltas: Sequence[Tensor],
    places: tuple[int, ...],
    learns: tuple[bool, ...],
    learning_rate: float,
    weight_decay: float,
) -> tuple[Tensor, Tensor]:
    """One Adam step on the logits of those who sent an update; all others stay as they are.

    Parameters
    ----------
    alpha : torch.Tensor
        (K,) logits.
    adam : torch.Tensor
        (3, K), the state of `api.adam_step`.
    w, grad_theta, deltas
        Of the m members mixed in this round, as `logit_gradient` takes them.
    places : tuple of int
        Where in alpha these members are.
    learns : tuple of bool
        Which of them sent an update of their own.
    learning_rate, weight_decay : float

    Returns
    -------
    alpha : torch.Tensor
        (K,)
    adam : torch.Tensor
        (3, K)
    """
    heard = [k for k, own in enumerate(learns) if own]
    at = [places[k] for k in heard]
    g = logit_gradient(w, grad_theta, deltas)[heard]
    alpha, adam = alpha.clone(), adam.clone()
    alpha[at], adam[:, at] = api.adam_step(alpha[at], g, adam[:, at], learning_rate, weight_decay)
    return alpha, adam


def zeros_like_first(theta: Tensor, *shape: int) -> Tensor:
    """Zeros of a shape, where and in the precision in which models are."""
    return theta.new_zeros(shape)


def only(alpha: Tensor, adam: Tensor, places: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Logits and Adam's state of the members that remain."""
    return alpha[list(places)], adam[:, list(places)]
