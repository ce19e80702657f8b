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
from typing import Any, Literal, Protocol

from netsim.errors import UnsuitableError
from netsim.messaging.message import Message
from netsim.node.node import Node, Process
from netsim.protocols.averaging import weighted_mean
from netsim.protocols.inbox import AbsenceParams, Inbox
from netsim.protocols.local_training import PlainTraining
from netsim.protocols.messages import Mean, Share
from netsim.protocols.sampling import Sampling
from netsim.registry import Table


class RoundParams(PlainTraining, AbsenceParams):
    """Local training, absent peers, and the weights of nodes in a mean.

    Attributes
    ----------
    weights
        Weight of a node in a mean: its number of training samples ("sizes"), or the same for all
        ("equal").
    """

    weights: Literal["sizes", "equal"] = "sizes"


class PaceParams(Table):
    """Pace of nodes that wake by themselves.

    Attributes
    ----------
    pace
        Work of a node without a server under schedules without rounds: a local step per slot and
        the star exchange ("slots"), or a round at each wake-up ("rounds").
    """

    pace: Literal["slots", "rounds"] = "slots"


class Participant(Protocol):
    """One node's part in the rounds, with the state that it keeps from round to round."""

    def train(self) -> Process:
        """Train for a round and return the message to send, or None to send nothing."""

    def adopt(self, common: Any) -> None:
        """Take over the common value, a message."""


Combine = Callable[[Node, Any, Mapping[int, Any]], Message]
"""(node, params, {node id: message}) -> the common value."""


ONLY_IN_SLOTS = ("timeout_s", "tries", "broadcast", "uninvolved_train")
ONLY_IN_ROUNDS = ("sampled", "local_epochs", "local_steps", "weights")


def takes_rounds(node: Node, params: PaceParams) -> bool:
    """Return whether a node works in rounds rather than slots.

    Raises
    ------
    UnsuitableError
        If a parameter of the other way of working is set.
    """
    with_server = node.role == "server" or bool(node.servers or node.far_servers)
    rounds = node.schedule == "rounds" or params.pace == "rounds" or with_server
    fields = type(params).model_fields
    for key in ONLY_IN_SLOTS if rounds else ONLY_IN_ROUNDS:
        if key in fields and getattr(params, key) != fields[key].default:
            here, there = ("rounds", "slots") if rounds else ("slots", "rounds")
            raise UnsuitableError(
                f"[algorithm]: {key} is for nodes that work in {there}, here they do in {here}"
            )
    return rounds


def require_one_server(node: Node) -> None:
    """Refuse a node that has several servers, and warn of one that has no link to the server.

    Such a node goes on among its peers: a satellite that never passes over the station.

    Parameters
    ----------
    node : Node

    Raises
    ------
    UnsuitableError
        If there is more than one server.
    """
    if len(node.servers) + (node.role == "server") > 1:
        raise UnsuitableError("[nodes] groups: there is more than one node of role server")
    if node.far_servers and not node.servers and node.role != "server":
        node.warn(
            "no link to the server",
            f"has no link to the server, node {node.far_servers[0]}, and goes on among its peers; "
            "where that is not meant, choose a topology that links every node to it",
        )


def round_processes(
    node: Node,
    params: AbsenceParams,
    participant: Participant,
    combine: Combine | None = None,
    sent: type[Message] = Share,
    common: type[Message] = Mean,
    sampling: Sampling | None = None,
) -> list[Process]:
    """The processes of a server, of a client of it, or of a node among peers.

    Parameters
    ----------
    node : Node
    params : AbsenceParams
        Handed on to `combine`; `weighted_mean` also reads `weights` (`RoundParams`).
    participant : Participant
        Trains and adopts at clients and peers; a server does not use it.
    combine : callable, optional
        Makes the common value of all messages; None: `weighted_mean`.
    sent : type of Message
        Type of what a participant sends, which `combine` reads.
    common : type of Message
        Type of what `combine` makes, which participants adopt.
    sampling : Sampling, optional
        Nodes that train in a round; None: everybody.

    Returns
    -------
    list of Process
        To be returned by an algorithm's `processes`.

    Raises
    ------
    UnsuitableError
        If there is more than one server.

    Examples
    --------
    >>> def processes(node, params):
    ...     return round_processes(node, params, AveragedModel(node, params))
    """
    combine = combine or weighted_mean
    require_one_server(node)
    inbox = Inbox(node, sent, params)
    if node.role == "server":
        return [on_server(node, params, inbox, combine), *inbox.listeners()]
    if node.servers:
        client = on_client(node, participant, sampling)
        return [client, on_common(node, params, participant, common)]
    peer = on_peer(node, params, inbox, participant, combine, sampling)
    return [peer, *inbox.listeners()]


def on_client(node: Node, participant: Participant, sampling: Sampling | None = None) -> Process:
    """Process: train and send to the server.

    Parameters
    ----------
    node : Node
    participant : Participant
    sampling : Sampling, optional
    """
    while True:
        yield node.wakeup()
        if sampling is not None and not sampling.takes_part(node.id):
            continue
        mine = yield from participant.train()
        if mine is not None:
            yield node.exchange(mine, to=node.servers, expect=())


def on_common(
    node: Node, params: AbsenceParams, participant: Participant, kind: type[Message]
) -> Process:
    """Process: adopt the server's answers as they arrive.

    Parameters
    ----------
    node : Node
    params : AbsenceParams
        Answers older than `max_age_s` are not adopted.
    participant : Participant
    kind : type of Message
        The class of the answers.
    """
    while True:
        received = yield node.receive(kind, timeout_s=None)
        if received.age_s <= node.max_age_s:
            participant.adopt(received.msg)


def on_server(node: Node, params: AbsenceParams, inbox: Inbox, combine: Combine) -> Process:
    """Process: combine what the clients sent, and send it to all of them.

    Parameters
    ----------
    node : Node
        The server.
    params : AbsenceParams
        Handed on to `combine`.
    inbox : Inbox
        Of what clients send.
    combine : callable
    """
    while True:
        yield node.wakeup()
        messages = yield from inbox.exchange()
        if inbox.news:
            value = combine(node, params, messages)
            for i in node.neighbours:
                node.send(i, value)


def on_peer(
    node: Node,
    params: AbsenceParams,
    inbox: Inbox,
    participant: Participant,
    combine: Combine,
    sampling: Sampling | None = None,
) -> Process:
    """Process: train, exchange, combine, adopt.

    Parameters
    ----------
    node : Node
    params : AbsenceParams
        Handed on to `combine`; what an absent neighbour means.
    inbox : Inbox
        Of what neighbours send.
    participant : Participant
    combine : callable
    sampling : Sampling, optional
    """
    while True:
        yield node.wakeup()
        peers = node.neighbours
        if sampling is not None:
            peers = tuple(j for j in peers if sampling.takes_part(j))
            if not sampling.takes_part(node.id):
                messages = yield from inbox.exchange(expect=peers)
                if messages:
                    participant.adopt(combine(node, params, messages))
                continue
        mine = yield from participant.train()
        if mine is not None:
            messages = yield from inbox.exchange(mine, expect=peers)
            stand_ins = dict.fromkeys(peers, mine) if params.absent == "self" else {}
            participant.adopt(combine(node, params, {**stand_ins, **messages, node.id: mine}))
