"""Rounds of training and combining, with a server or without: what synchronous baselines share.

A node trains and sends something of its own (a model, a part of one, prototypes). What all have
sent makes one common value, such as their mean, and every node adopts it.

With a node of role `server` this is federated learning as published: clients send to the server,
which sends the common value to all of them. Without one, nodes send to their neighbours, and each
combines its own with what it has received: over a complete topology that loses nothing, the
server's value. Under `rounds` a round is a round of the paper; under other schedules a node takes
what has come by its own wake-up, a server by its own clock sends the common value of the freshest
messages when there is news; `[training] on_arrival` says what that does to a client at work.
A client that gets no answer goes on from what it has trained.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from algorithms._crop_flip import augmented_cross_entropy
from algorithms._inbox import AbsenceParams, Inbox
from netsim.api import (
    Count,
    Held,
    Message,
    Node,
    Params,
    Process,
    ProtocolError,
    Ref,
    Trained,
    model_validator,
)


class LocalTraining(Params):
    """A round's local training: `local_epochs` passes (1 if nothing is said), or `local_steps`."""

    local_epochs: Count | None = None
    local_steps: Count | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.local_epochs is not None and self.local_steps is not None:
            raise ValueError("give local_epochs or local_steps, not both")
        return self

    def amount(self) -> dict[str, int]:
        """As `node.train` takes it."""
        if self.local_steps is not None:
            return {"steps": self.local_steps}
        return {"epochs": self.local_epochs or 1}


class PlainTraining(LocalTraining):
    """Local training by cross-entropy; `augment` crops and mirrors its images at random."""

    augment: bool = False

    def loss(self) -> Callable[..., Any] | None:
        """As `node.train` takes it."""
        return augmented_cross_entropy if self.augment else None

    def how(self) -> dict[str, Any]:
        """How much and by which loss."""
        return {**self.amount(), "loss": self.loss()}


class RoundParams(PlainTraining, AbsenceParams):
    """What a node counts in a mean: its training samples (`sizes`), or as much as any (`equal`)."""

    weights: Literal["sizes", "equal"] = "sizes"


class PaceParams(Params):
    """Where nodes wake by themselves: a local step a slot (`slots`), or a round on waking."""

    pace: Literal["slots", "rounds"] = "slots"


@dataclass(frozen=True)
class Share(Message):
    """A model, or the part of it that is averaged, and how many samples it was trained on."""

    theta: Ref
    size: int


@dataclass(frozen=True)
class Mean(Message):
    """A server's mean of them."""

    theta: Ref


Train = Callable[[], Process]
"""Makes a round's local training; it returns the message to send, or None."""

Combine = Callable[[Node, Any, Mapping[int, Any]], Message]
"""(node, params, {node: message}) -> the common value."""

Adopt = Callable[[Any], None]
"""Takes the common value over."""


def takes_rounds(node: Node, params: PaceParams) -> bool:
    """Whether a node works in rounds rather than slots."""
    with_server = node.role == "server" or bool(node.servers)
    return node.schedule == "rounds" or params.pace == "rounds" or with_server


def round_processes(
    node: Node,
    params: RoundParams,
    train: Train,
    adopt: Adopt,
    combine: Combine | None = None,
    sent: type[Message] = Share,
    common: type[Message] = Mean,
) -> list[Process]:
    """The processes of a server, of a client of it, or of a node among peers.

    Raises
    ------
    ProtocolError
        If there is more than one server.
    """
    combine = combine or weighted_mean
    if len(node.servers) + (node.role == "server") > 1:
        raise ProtocolError("there is more than one node of role server")
    inbox = Inbox(node, sent, params)
    if node.role == "server":
        return [on_server(node, params, inbox, combine), *inbox.listeners()]
    if node.servers:
        return [on_client(node, train), on_common(node, params, adopt, common)]
    return [on_peer(node, params, inbox, train, adopt, combine), *inbox.listeners()]


def on_client(node: Node, train: Train) -> Process:
    """Train and send to the server."""
    while True:
        yield node.wakeup()
        mine = yield from train()
        if mine is not None:
            yield node.exchange(mine, to=node.servers, expect=())


def on_common(node: Node, params: RoundParams, adopt: Adopt, kind: type[Message]) -> Process:
    """The server's answer arrives."""
    while True:
        received = yield node.receive(kind, timeout_s=None)
        if params.max_age_s is None or received.age_s <= params.max_age_s:
            adopt(received.msg)


def on_server(node: Node, params: RoundParams, inbox: Inbox, combine: Combine) -> Process:
    """Combine what the clients sent, and send it to all of them."""
    while True:
        yield node.wakeup()
        messages = yield from inbox.exchange()
        if inbox.news:
            value = combine(node, params, messages)
            for i in node.neighbours:
                node.send(i, value)


def on_peer(
    node: Node, params: RoundParams, inbox: Inbox, train: Train, adopt: Adopt, combine: Combine
) -> Process:
    """Train, exchange, combine."""
    while True:
        yield node.wakeup()
        mine = yield from train()
        if mine is not None:
            messages = yield from inbox.exchange(mine)
            stand_ins = dict.fromkeys(node.neighbours, mine) if params.absent == "self" else {}
            adopt(combine(node, params, {**stand_ins, **messages, node.id: mine}))


def weighted_mean(node: Node, params: RoundParams, shares: Mapping[int, Share]) -> Mean:
    """sum_j p_j theta_j with p_j = n_j / sum of n, or equal."""
    ids = sorted(shares)
    sizes = [shares[j].size if params.weights == "sizes" else 1 for j in ids]
    p = [size / sum(sizes) for size in sizes]
    for i in node.neighbours if node.role == "server" else (node.id,):
        node.log_weights(ids, p, node=i)
    return Mean(node.mix([shares[j].theta for j in ids], p))


def trained_share(node: Node, trained: Trained | None) -> Share | None:
    """Show a trained model and make it a message; None if an arrival has taken its place."""
    if trained is None:
        return None
    node.publish(trained.theta, "trained")
    return Share(trained.theta, node.train_size)


def adopt_mean(node: Node, model: Held, mean: Mean) -> None:
    """Go on from the mean of all models."""
    model.replace(mean.theta)
    node.publish(mean.theta, "mixed")


def with_statistics_of(trained: Ref, theta: Ref) -> Ref:
    """`theta` with running statistics as local training left them.

    For models made by adding changes: a variance plus changes of variances may be below 0.
    """
    statistics = trained.part("buffers")
    return theta.with_part("buffers", statistics) if statistics.num_values else theta


class PartInCommon:
    """A model of which one part is averaged and the rest stays with its node.

    Attributes
    ----------
    theta : Ref
        The model, with the newest mean of the part.
    """

    def __init__(self, node: Node, part: str) -> None:
        self._node, self._part = node, part
        self._mean: Ref | None = None
        self.theta = node.initial()

    def train(self, **how: Any) -> Process:
        """Train all of it (arguments of `node.train`); the `Share` of the part."""
        self._mean = None
        trained = yield self._node.train(self.theta, **how)
        self.theta = trained.theta
        if self._mean is None:
            self._node.publish(self.theta, "trained")
        else:  # a mean that came meanwhile is newer than what was trained of the part
            self.theta = self.theta.with_part(self._part, self._mean)
            self._node.publish(self.theta, "mixed")
        return Share(trained.theta.part(self._part), self._node.train_size)

    def adopt(self, mean: Mean) -> None:
        """The mean of all nodes' parts takes the place of the own one."""
        self._mean = mean.theta
        self.theta = self.theta.with_part(self._part, mean.theta)
        self._node.publish(self.theta, "mixed")
