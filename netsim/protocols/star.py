"""The star exchange that KD-PDFL and its FedAvg baselines share (KD-PDFL, Algorithm 1).

A node that wakes asks the peers in reach for their models (line 5), combines them with its own as
its method says (lines 6-13), and broadcasts the result to the peers that answered (lines 14-18).
All other slots are local steps (lines 20-22). Methods differ in `combine` alone, so a comparison
between them differs in nothing else.

What the paper leaves open, as `StarParams`: whether nodes other than the star train during the two
slots of an exchange (printed: nobody does), what a peer does with the model broadcast to it
(printed: overwrites its own), what a peer that is absent or late means.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from netsim.errors import UnsuitableError
from netsim.learning.refs import Ref
from netsim.messaging.message import Message, Received
from netsim.node.node import Node, Process
from netsim.protocols.inbox import AbsenceParams
from netsim.protocols.messages import Model
from netsim.registry import Count, Positive, Table

STAR_SCHEDULES = ("star", "poisson", "periodic")
"""The schedules under which nodes wake one by one, as a star exchange needs it."""


class SlotParams(Table):
    """Choice of the nodes that train during an exchange.

    Attributes
    ----------
    uninvolved_train
        Whether nodes that take no part in an exchange train during its two slots.
    """

    uninvolved_train: bool = False


class StarParams(AbsenceParams, SlotParams):
    """Parameters of the exchange itself.

    A peer is absent if it was in reach but did not answer.

    Attributes
    ----------
    timeout_s
        Longest wait of a star for answers before it asks again or goes on. Absent: four times what
        the request and a model of each peer asked take on a quiet network, at least 1 s.
    tries
        Greatest number of requests of a star to a peer in an exchange.
    broadcast
        Treatment of a star's broadcast model by a peer: the peer takes it as its own (Algorithm 1,
        line 18), or stores it and mixes it at its own next wake-up ("cache").
    """

    timeout_s: Positive | None = None
    tries: Count = 1
    broadcast: Literal["overwrite", "cache"] = "overwrite"


@dataclass(frozen=True)
class Request(Message):
    """Send me your model."""


@dataclass(frozen=True)
class Heard:
    """Models that a star mixes.

    Attributes
    ----------
    peers : list of int
        Ascending.
    thetas : list of Ref
        `thetas[k]` is the model of `peers[k]`.
    missing : list of int
        Peers that did not answer and whose weight stays with the node (`absent = "self"`).
    """

    peers: list[int]
    thetas: list[Ref]
    missing: list[int]


P = TypeVar("P", bound=StarParams)


class StarExchange(ABC, Generic[P]):
    """One node of the exchange; a method subclasses it and says how a star combines models.

    Parameters
    ----------
    node : Node
    params : StarParams

    Attributes
    ----------
    node : Node
    params : StarParams
    model : Held
        The model that local steps, own exchanges and arriving broadcasts all work on.
    exchanging : bool
        Whether this node is a star now.
    broadcast_slot : int or None
        The slot in which it broadcast last.
    footprints : dict of int to Received
        Models kept of peers, under `broadcast = "cache"` or `absent = "last"`.

    Raises
    ------
    UnsuitableError
        If T_ex leaves no slot to train in.

    Examples
    --------
    >>> class Mean(StarExchange[Params]):
    ...     def combine(self, heard):
    ...         thetas = [self.model.theta, *heard.thetas]
    ...         return self.node.mix(thetas, [1 / len(thetas)] * len(thetas))
    >>> @algorithm(schedules=STAR_SCHEDULES)
    ... def processes(node, params):
    ...     return Mean(node, params).processes()
    """

    def __init__(self, node: Node, params: P) -> None:
        if node.slots_per_exchange in (1, 2) and not params.uninvolved_train:
            raise UnsuitableError(
                f"[exchange] slots_per_exchange = {node.slots_per_exchange}: every slot belongs "
                "to an exchange, so no node would ever train; take 3 or more, or "
                "uninvolved_train = true"
            )
        self.node, self.params = node, params
        self.model = node.hold(node.initial())
        self.exchanging = False
        self.broadcast_slot: int | None = None
        self.footprints: dict[int, Received[Model]] = {}

    @abstractmethod
    def combine(self, heard: Heard) -> Ref:
        """The star's new model, of its own and those heard (lines 6-13)."""

    def how(self) -> dict[str, Any]:
        """Keywords of `node.train` for the next local step, beside `steps=1`."""
        return {}

    def processes(self) -> list[Process]:
        """The processes of the node."""
        self.node.serve(Request, lambda _: Model(self.model.theta))
        return [self.on_slot(), self.on_wakeup(), self.on_model()]

    def on_slot(self) -> Process:  # lines 20-22
        """Process: one local step a slot."""
        node = self.node
        while True:
            slot = yield node.tick()
            is_star = self.exchanging or slot == self.broadcast_slot
            if trains_in(node, self.params, slot) and not is_star:
                trained = yield self.model.train(steps=1, **self.how())
                if trained is not None:  # the step was not dropped for a model that arrived
                    node.publish(self.model.theta, "trained")

    def on_wakeup(self) -> Process:
        """Process: the star's part of an exchange."""
        node, params = self.node, self.params
        while True:
            yield node.wakeup()  # t = 0 mod T_ex
            self.exchanging = True
            yield self.model.settled()
            in_reach = yield node.reachable()
            timeout_s = params.timeout_s or node.patience_s(in_reach)
            answers = yield node.ask(in_reach, Request(), Model, timeout_s, params.tries)  # line 5
            heard = models_to_mix(
                params, self.footprints, in_reach, answers, node.now_s, node.max_age_s
            )
            if params.absent == "last":
                self.footprints.update(answers)
            mixed = self.combine(heard)  # lines 6-13
            self.model.replace(mixed)
            node.publish(mixed, "mixed")
            if node.slots_per_exchange is not None:
                self.broadcast_slot = yield node.tick()  # t = 1 mod T_ex
            yield node.broadcast(Model(mixed), to=list(answers))  # lines 14-16
            self.exchanging = False

    def on_model(self) -> Process:  # lines 17-18
        """Process: a star's broadcast arrives."""
        while True:
            received = yield self.node.receive(Model, timeout_s=None)
            if self.params.broadcast == "overwrite":
                self.model.replace(received.msg.theta)
                self.node.publish(received.msg.theta, "received")
            else:
                self.footprints[received.sender] = received


def trains_in(node: Node, params: SlotParams, slot: int) -> bool:
    """Return whether nodes that are not the star train in this slot.

    Parameters
    ----------
    node : Node
    params : SlotParams
    slot : int
        The slot's number, as `node.tick` gives it.

    Returns
    -------
    bool
    """
    t_ex = node.slots_per_exchange
    return params.uninvolved_train or t_ex is None or slot % t_ex not in (0, 1)


def models_to_mix(
    params: StarParams,
    footprints: dict[int, Received[Model]],
    in_reach: list[int],
    answers: dict[int, Received[Model]],
    now_s: float,
    max_age_s: float = math.inf,
) -> Heard:
    """The models that a star mixes: the answers, and footprints where the parameters say so.

    Parameters
    ----------
    params : StarParams
    footprints : dict of int to Received
        Models of peers that came earlier.
    in_reach : list of int
        The peers that were asked.
    answers : dict of int to Received
        What they answered.
    now_s : float
        Virtual time.
    max_age_s : float
        The greatest age of a model that counts [s].

    Returns
    -------
    Heard
    """
    usable = dict(answers)
    for j, footprint in footprints.items():
        if params.broadcast == "cache" or (params.absent == "last" and j in in_reach):
            usable.setdefault(j, footprint)
    usable = {j: r for j, r in usable.items() if now_s - r.sent_s <= max_age_s}
    peers = sorted(usable)
    missing = [j for j in in_reach if j not in usable] if params.absent == "self" else []
    return Heard(peers, [usable[j].msg.theta for j in peers], missing)
