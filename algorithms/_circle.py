"""Who a node of L2C or meta-L2C collaborates with, and what it has from them.

The set N(i) only shrinks, and it is not symmetric: a node that drops a peer tells it so, and the
peer stops sending. That word may be lost; then the peer's next update is answered with it again.

An update is a step that is added once. So a peer counts as absent unless an update of its has come
that has not been mixed yet, in time or late, and is not older than `max_age_s`. `absent` says what
an absent peer means: the softmax is over those present (`renormalise`), its weight falls to the
node's own update (`self`), or its last update is mixed once more (`last`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from algorithms._inbox import AbsenceParams
from algorithms._rounds import with_statistics_of
from netsim.api import (
    Count,
    Index,
    Message,
    Node,
    NonNegative,
    Positive,
    Process,
    Received,
    Ref,
)


class CircleParams(AbsenceParams):
    """What both methods share; the defaults are the paper's.

    Local training is `local_epochs` passes a round. After `prune_after` rounds (T_0; 0: never) the
    `kept_peers` neighbours with the largest weights remain (K - 1 - K_0 of K nodes). Adam with
    `mixing_learning_rate` and `mixing_weight_decay` takes `mixing_steps` steps a round on the loss
    over all validation samples.
    """

    local_epochs: Count = 5
    prune_after: Index = 10
    kept_peers: Index = 9
    mixing_learning_rate: Positive = 0.1
    mixing_weight_decay: NonNegative = 0.01
    mixing_steps: Count = 1


@dataclass(frozen=True)
class Dropped(Message):
    """Your updates are not needed any more."""


@dataclass(frozen=True)
class Heard:
    """What a round has to mix, the node's own update first.

    Attributes
    ----------
    ids : tuple of int
        Whose weights enter the softmax, the node itself first.
    updates : tuple of Message
        One each; an absent peer's is the node's own under `absent = "self"`.
    learns : tuple of bool
        Whether it is its own: the weight of an absent peer learns nothing in this round.
    """

    ids: tuple[int, ...]
    updates: tuple[Any, ...]
    learns: tuple[bool, ...]


@dataclass
class Circle:
    """One node's neighbourhood; both listeners and the round work on it."""

    node: Node
    params: CircleParams
    members: list[int]  # N(i)
    receivers: set[int]  # the nodes that have i among theirs
    rounds: int = 0
    latest: dict[int, Received[Any]] = field(default_factory=dict)
    told: dict[int, float] = field(default_factory=dict)  # when the latest update had been sent
    mixed: dict[int, float] = field(default_factory=dict)  # ... and the one mixed last

    @classmethod
    def of(cls, node: Node, params: CircleParams) -> "Circle":
        """All neighbours, before anything has come."""
        return cls(node, params, list(node.neighbours), set(node.neighbours))

    def swap(self, update: Message) -> Process:
        """Send the update, collect those of the others; `Heard`."""
        received = yield self.node.exchange(
            update, to=sorted(self.receivers), expect=self.node.neighbours
        )
        for one in received.values():
            self.note(one)
        present = [j for j in self.members if self._is_present(j)]
        self.mixed |= {j: self.told[j] for j in present}
        others = self.members if self.params.absent == "self" else present
        return Heard(
            (self.node.id, *others),
            (update, *(self.latest[j].msg if j in present else update for j in others)),
            (True, *(j in present for j in others)),
        )

    def note(self, received: Received[Any]) -> None:
        """An update has come, in its exchange or late."""
        j = received.sender
        if received.sent_s <= self.told.get(j, -1.0):
            return
        self.told[j] = received.sent_s
        if j in self.members:
            self.latest[j] = received
        else:
            self.node.send(j, Dropped())

    def _is_present(self, j: int) -> bool:
        if j not in self.latest:
            return False
        limit = self.params.max_age_s
        if limit is not None and self.node.now_s - self.told[j] > limit:
            return False
        return self.params.absent == "last" or self.told[j] > self.mixed.get(j, -1.0)

    def is_to_shrink(self) -> bool:
        """Whether round T_0 is over and there are neighbours to remove."""
        due = self.rounds == self.params.prune_after
        return due and len(self.members) > self.params.kept_peers

    def shrink(self, ranking: Sequence[float]) -> None:
        """Keep the `kept_peers` members that rank highest (ties: the lower id), tell the others."""
        order = sorted(range(len(self.members)), key=lambda k: -ranking[k])
        kept = sorted(self.members[k] for k in order[: self.params.kept_peers])
        removed = [j for j in self.members if j not in kept]
        self.members = kept
        self.node.log_weights(removed, [0.0] * len(removed))
        for j in removed:
            self.latest.pop(j, None)
            self.node.send(j, Dropped())


def listeners(circle: Circle, kind: type[Message]) -> list[Process]:
    """The processes beside the round."""
    return [on_dropped(circle), on_late_update(circle, kind)]


def on_dropped(circle: Circle) -> Process:
    """A node does not need this node's updates any more."""
    while True:
        received = yield circle.node.receive(Dropped, timeout_s=None)
        circle.receivers.discard(received.sender)


def on_late_update(circle: Circle, kind: type[Message]) -> Process:
    """An update comes when its exchange is over; it counts in the next round."""
    while True:
        circle.note((yield circle.node.receive(kind, timeout_s=None)))


def zeros_like_first(theta: Tensor, *shape: int) -> Tensor:
    """Zeros of a shape, where and in the precision in which models are."""
    return theta.new_zeros(shape)


def stepped(node: Node, theta: Ref, half: Ref, deltas: Sequence[Ref], w: Ref) -> Ref:
    """The model theta - sum_j w_j Delta_j, Eq. (2), with running statistics of the own `half`."""
    return with_statistics_of(half, node.mix([theta, *deltas], node.compute(step_shares, w)))


def step_shares(w: Tensor) -> Tensor:
    """(1, -w): what `node.mix` takes for theta - sum_j w_j Delta_j. w (K,) -> (1 + K,)."""
    return torch.cat([torch.ones_like(w[:1]), -w])


def adam_step(
    values: Tensor,
    gradient: Tensor,
    state: Tensor,
    learning_rate: float,
    weight_decay: float,
) -> tuple[Tensor, Tensor]:
    """One step of Adam (Kingma and Ba 2015; torch.optim.Adam's defaults) with a state per entry.

    Parameters
    ----------
    values, gradient : torch.Tensor
        (n,)
    state : torch.Tensor
        (3, n) first moment, second moment, steps taken; zeros at first. Steps are counted an entry
        because the weights of absent peers take none.
    learning_rate, weight_decay : float

    Returns
    -------
    values : torch.Tensor
        (n,)
    state : torch.Tensor
        (3, n)
    """
    gradient = gradient + weight_decay * values
    first = 0.9 * state[0] + 0.1 * gradient
    second = 0.999 * state[1] + 0.001 * gradient.square()
    steps = state[2] + 1
    scale = (second / (1 - 0.999**steps)).sqrt() + 1e-8
    after = values - learning_rate * first / (1 - 0.9**steps) / scale
    return after, torch.stack([first, second, steps])
