"""The star exchange that KD-PDFL and its FedAvg baselines share (KD-PDFL, Algorithm 1).

A node that wakes asks the peers in reach for their models (line 5), combines them with its own as
its method says (lines 6-13), and broadcasts the result to the peers that answered (lines 14-18).
All other slots are local steps (lines 20-22). Methods differ in `combine` alone, so a comparison
between them differs in nothing else.

What the paper leaves open, as `StarParams`: whether nodes other than the star train during the two
slots of an exchange (printed: nobody does), what a peer does with the model broadcast to it
(printed: overwrites its own), what a peer that is absent or late means.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from algorithms._inbox import AbsenceParams
from netsim.api import (
    Count,
    Held,
    Message,
    Node,
    Positive,
    Process,
    ProtocolError,
    Received,
    Ref,
)

SCHEDULES = ("star", "poisson", "periodic")


class StarParams(AbsenceParams):
    """Parameters of the exchange itself.

    `broadcast = "overwrite"` is Algorithm 1, line 18; with `"cache"` the peer keeps the model as a
    footprint and mixes it in when it wakes itself. A peer is absent that was in reach but did not
    answer.
    """

    timeout_s: Positive = 1.0
    tries: Count = 1
    broadcast: Literal["overwrite", "cache"] = "overwrite"
    uninvolved_train: bool = False


@dataclass(frozen=True)
class Request(Message):
    """Send me your model."""


@dataclass(frozen=True)
class Model(Message):
    """A whole model."""

    theta: Ref


@dataclass(frozen=True)
class Heard:
    """What a star has to mix: `peers[k]` sent `thetas[k]`; `missing` did not answer and count."""

    peers: list[int]
    thetas: list[Ref]
    missing: list[int]


@dataclass
class State:
    """One node's state; `on_slot`, `on_wakeup` and `on_model` all work on the model held."""

    model: Held
    exchanging: bool = False
    broadcast_slot: int | None = None
    footprints: dict[int, Received[Model]] = field(default_factory=dict)


Combine = Callable[[Heard], Ref]
LearningRate = Callable[[], float | None]


def scenarios_rate() -> None:
    """The learning rate of the scenario."""


def star_processes(
    node: Node,
    params: StarParams,
    combine: Combine,
    state: State,
    learning_rate: LearningRate = scenarios_rate,
    loss: Callable[..., Any] | None = None,
) -> list[Process]:
    """The processes of one node; `combine` makes the star's new model of what it heard.

    Raises
    ------
    ProtocolError
        If T_ex leaves no slot to train in.
    """
    if node.slots_per_exchange in (1, 2) and not params.uninvolved_train:
        raise ProtocolError(
            f"slots_per_exchange = {node.slots_per_exchange}: every slot belongs to an exchange, "
            "so nobody would ever train; take 3 or more, or uninvolved_train = true"
        )
    node.serve(Request, lambda _: Model(state.model.theta))
    return [
        on_slot(node, params, state, learning_rate, loss),
        on_wakeup(node, params, combine, state),
        on_model(node, params, state),
    ]


def on_slot(
    node: Node,
    params: StarParams,
    state: State,
    learning_rate: LearningRate,
    loss: Callable[..., Any] | None,
) -> Process:  # lines 20-22
    """One local step a slot."""
    while True:
        slot = yield node.tick()
        is_star = state.exchanging or slot == state.broadcast_slot
        if trains_in(node, params, slot) and not is_star:
            trained = yield state.model.train(steps=1, learning_rate=learning_rate(), loss=loss)
            if trained is not None:  # the step was not dropped for a model that arrived
                node.publish(state.model.theta, "trained")


def trains_in(node: Node, params: StarParams, slot: int) -> bool:
    """Whether nodes that are not the star train in this slot."""
    t_ex = node.slots_per_exchange
    return params.uninvolved_train or t_ex is None or slot % t_ex not in (0, 1)


def on_wakeup(node: Node, params: StarParams, combine: Combine, state: State) -> Process:
    """The star's part of an exchange."""
    while True:
        yield node.wakeup()  # t = 0 mod T_ex
        state.exchanging = True
        yield state.model.settled()
        in_reach = yield node.reachable()
        answers = yield node.ask(
            in_reach, Request(), Model, params.timeout_s, params.tries
        )  # line 5
        heard = choose(params, state.footprints, in_reach, answers, node.now_s)
        if params.absent == "last":
            state.footprints.update(answers)
        mixed = combine(heard)  # lines 6-13
        state.model.replace(mixed)
        node.publish(mixed, "mixed")
        if node.slots_per_exchange is not None:
            state.broadcast_slot = yield node.tick()  # t = 1 mod T_ex
        yield node.broadcast(Model(mixed), to=list(answers))  # lines 14-16
        state.exchanging = False


def on_model(node: Node, params: StarParams, state: State) -> Process:  # lines 17-18
    """A star's broadcast arrives."""
    while True:
        received = yield node.receive(Model, timeout_s=None)
        if params.broadcast == "overwrite":
            state.model.replace(received.msg.theta)
            node.publish(received.msg.theta, "received")
        else:
            state.footprints[received.sender] = received


def choose(
    params: StarParams,
    footprints: dict[int, Received[Model]],
    in_reach: list[int],
    answers: dict[int, Received[Model]],
    now_s: float,
) -> Heard:
    """The models to mix: the answers, and footprints where the parameters say so."""
    usable = dict(answers)
    for j, footprint in footprints.items():
        if params.broadcast == "cache" or (params.absent == "last" and j in in_reach):
            usable.setdefault(j, footprint)
    if params.max_age_s is not None:
        usable = {j: r for j, r in usable.items() if now_s - r.sent_s <= params.max_age_s}
    peers = sorted(usable)
    missing = [j for j in in_reach if j not in usable] if params.absent == "self" else []
    return Heard(peers, [usable[j].msg.theta for j in peers], missing)
