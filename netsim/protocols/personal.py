"""Rounds in which every node is answered with a value of its own, not with one common to all.

A node trains and sends something of its own. From what all have sent, a rule makes a value for each
node: for most methods a mean of models with weights of that node's own, one row of a collaboration
graph. With a node of role `server` the server makes all of them and answers each client that it has
heard from since; without one, nodes send to their neighbours and each makes its own: over a
complete topology that loses nothing, the same values. Schedules and arrivals: as `rounds` says.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from netsim.learning.functions import batched
from netsim.learning.refs import Ref
from netsim.messaging.message import Message
from netsim.node.node import Node, Process
from netsim.protocols.discounts import discounted
from netsim.protocols.inbox import AbsenceParams, Inbox
from netsim.protocols.messages import Mean, Share
from netsim.protocols.rounds import Participant, on_client, on_common, require_one_server

Answers = Callable[[Node, Any, Mapping[int, Any], Sequence[int]], Iterable[tuple[int, Message]]]
"""(node, params, {node id: message}, whose) -> (i, value) for each i of `whose`."""


def personal_processes(
    node: Node,
    params: AbsenceParams,
    participant: Participant,
    answers: Answers,
    sent: type[Message] = Share,
    answer: type[Message] = Mean,
) -> list[Process]:
    """The processes of a server, of a client of it, or of a node among peers.

    Parameters
    ----------
    node : Node
    params : AbsenceParams
        Handed on to `answers`; what an absent node means.
    participant : Participant
        Trains and adopts at clients and peers; a server does not use it.
    answers : callable
        Makes the values of the nodes `whose` from all messages, their own among these.
    sent : type of Message
        Type of what a participant sends, which `answers` reads.
    answer : type of Message
        Type of what `answers` makes, which participants adopt.

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
    ...     return personal_processes(node, params, AveragedModel(node, params), nearest)
    >>> def nearest(node, params, shares, whose):
    ...     thetas = [shares[j].theta for j in sorted(shares)]
    ...     places = tuple(sorted(shares).index(i) for i in whose)
    ...     graph = node.compute(similarities, thetas, places)  # (len(whose), len(shares))
    ...     return own_means(node, params, shares, whose, graph)
    """
    require_one_server(node)
    inbox = Inbox(node, sent, params)
    if node.role == "server":
        return [_on_server(node, params, inbox, answers), *inbox.listeners()]
    if node.servers:
        return [on_client(node, participant), on_common(node, params, participant, answer)]
    return [_on_peer(node, params, inbox, participant, answers), *inbox.listeners()]


def _on_server(node: Node, params: AbsenceParams, inbox: Inbox, answers: Answers) -> Process:
    answered: dict[int, float] = {}
    while True:
        yield node.wakeup()
        messages = yield from inbox.exchange()
        sent_s = {i: inbox.last[i].sent_s for i in messages}
        new = [i for i in messages if sent_s[i] > answered.get(i, -1.0)]
        for i, value in answers(node, params, messages, new) if new else ():
            node.send(i, value)
            answered[i] = sent_s[i]


def _on_peer(
    node: Node, params: AbsenceParams, inbox: Inbox, participant: Participant, answers: Answers
) -> Process:
    while True:
        yield node.wakeup()
        mine = yield from participant.train()
        if mine is not None:
            messages = (yield from inbox.exchange(mine)) | {node.id: mine}
            for _, value in answers(node, params, messages, [node.id]):
                participant.adopt(value)


def own_means(
    node: Node,
    params: AbsenceParams,
    shares: Mapping[int, Any],
    whose: Sequence[int],
    graph: Ref,
) -> Iterator[tuple[int, Mean]]:
    """sum_j W_ij theta_j for each i of `whose`, W discounted by age; logs the W_ij.

    Parameters
    ----------
    node : Node
    params : AbsenceParams
        Under `absent = "self"` as large a part of the weight as the others that are missing stays
        with the node's own model; so does what messages lose by `staleness`.
    shares : mapping of int to Message
        By node id, with a `theta` each.
    whose : sequence of int
        Nodes whose means to make.
    graph : Ref
        W, (len(whose), len(shares)): rows like `whose`, columns like the sorted ids of `shares`.

    Yields
    ------
    int, Mean
    """
    ids = sorted(shares)
    thetas = [shares[j].theta for j in ids]
    missing = missing_part(node, params, len(ids))
    for k, i in enumerate(whose):
        own = ids.index(i)
        w = discounted(node, params, thetas, node.compute(_row, graph, k, own, missing), own)
        node.log_weights(ids, w, node=i)
        yield i, Mean(node.mix(thetas, w))


def missing_part(node: Node, params: AbsenceParams, heard: int) -> float:
    """Share of the other nodes that is missing, if its weight stays with the own model.

    Parameters
    ----------
    node : Node
        A server, or a node among peers.
    params : AbsenceParams
    heard : int
        Number of nodes with messages, the node's own included.
    """
    nodes = len(node.neighbours) + (node.role != "server")
    return (nodes - heard) / max(nodes - 1, 1) if params.absent == "self" else 0.0


@batched
def _row(graph: Any, k: int, own: int, missing: float) -> Any:
    """Row k of W with the part `missing` of its weight moved to column `own`: (K,)."""
    w = (1.0 - missing) * graph[k]
    kept = w.new_zeros(len(w))
    kept[own] = missing
    return w + kept
