"""Edges that their receivers open and close.

The receiver of an edge decides whether it is active and tells the sender when that changes, again
in its next round if what comes from the sender shows that the word was lost. All edges are active
at first.
"""

from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from netsim.messaging.message import Message
from netsim.node.node import Node, Process
from netsim.protocols.inbox import AbsenceParams, Inbox


@dataclass(frozen=True)
class Edge(Message):
    """Send me yours from now on, or no more."""

    active: bool


class Edges:
    """The edges between one node and its peers.

    Parameters
    ----------
    node : Node
    payload : Inbox
        Values that go over active edges; its `last` shows whether a peer has received the node's
        wish.
    params : AbsenceParams

    Examples
    --------
    >>> def processes(node, params):
    ...     models = Inbox(node, Model, params)
    ...     edges = Edges(node, models, params)
    ...     return [on_round(node, models, edges), *models.listeners(), *edges.listeners()]
    >>> def on_round(node, models, edges):
    ...     theta = node.initial()
    ...     while True:
    ...         yield node.wakeup()
    ...         yield from edges.settle({j: j != 3 for j in node.neighbours})  # node 3 is to stop
    ...         came = yield from models.exchange(Model(theta), edges.subscribers())
    """

    def __init__(self, node: Node, payload: Inbox, params: AbsenceParams) -> None:
        self._node, self._payload = node, payload
        self._inbox = Inbox(node, Edge, params)
        self._told: dict[int, tuple[bool, float]] = {}

    def subscribers(self) -> list[int]:
        """Peers whose edge from this node is active."""
        last = self._inbox.last
        return [j for j in self._node.neighbours if j not in last or last[j].msg.active]

    def settle(self, active: Mapping[int, bool]) -> Generator[Any, Any, None]:
        """Tell peers of changed edges to this node, and hear of theirs.

        A peer that seems not to know is told again. Run it by `yield from`, once a round. `active`
        says of each peer whether it is to send.
        """
        news = {}
        for j, wanted in active.items():
            known, told_s = self._told.get(j, (True, -1.0))
            if known != wanted or (told_s >= 0 and self._is_unheard(j, wanted, told_s)):
                news[j] = Edge(wanted)
                self._told[j] = wanted, self._node.now_s
        yield from self._inbox.exchange(news)

    def _is_unheard(self, j: int, wanted: bool, told_s: float) -> bool:
        """Return whether the peer's messages do not fit its last instructions."""
        last_s = self._payload.last[j].sent_s if j in self._payload.last else -1.0
        return last_s < told_s if wanted else last_s > told_s

    def listeners(self) -> list[Process]:
        """Return processes that take in late dismissals; add them to `processes`."""
        return self._inbox.listeners()


def mixing_shares(
    own: float, of: Mapping[int, float], senders: Collection[int], absent: str
) -> list[float]:
    """Shares of what is the node's own and of what came from each of `senders`; they sum to 1.

    Parameters
    ----------
    own : float
        Weight of the node itself.
    of : mapping of int to float
        Weights of the peers; all weights sum to 1.
    senders : collection of int
        Peers whose message is at hand.
    absent : str
        `"self"` gives the others' weight to the node's own; else it is spread over all at hand.

    Returns
    -------
    list of float
        The node's own share, then one for each of `senders`.
    """
    present = [of[j] for j in senders]
    if absent == "self":
        return [1.0 - sum(present), *present]
    total = own + sum(present)
    if total <= 0:
        return [1.0] + [0.0] * len(present)
    return [share / total for share in (own, *present)]
