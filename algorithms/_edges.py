"""Exchanges with peers that may be absent, and edges that their receivers open and close.

The receiver of an edge decides whether it is active and tells the sender when that changes, again
in its next round if what comes from the sender shows that the word was lost. All edges are active
at first.
"""

from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from netsim.api import Message, Node, Params, Positive, Process, Received


class EdgeParams(Params):
    """What a peer means whose message did not come or is older than `max_age_s`.

    Its weight is spread over the others (`absent = "renormalise"`), stays with the node itself
    (`self`), or its last known message stands in if that is not too old (`last`).
    """

    absent: Literal["renormalise", "self", "last"] = "renormalise"
    max_age_s: Positive | None = None


@dataclass(frozen=True)
class Edge(Message):
    """Send me yours from now on, or no more."""

    active: bool


class Inbox:
    """One kind of message, swapped every round.

    Attributes
    ----------
    last : dict of int to Received
        The latest message of each peer, whatever its age.
    """

    def __init__(self, node: Node, kind: type[Message], params: EdgeParams) -> None:
        self._node, self._kind, self._params = node, kind, params
        self.last: dict[int, Received[Any]] = {}

    def swap(
        self, messages: Message | Mapping[int, Message], to: Collection[int] | None = None
    ) -> Generator[Any, Any, dict[int, Any]]:
        """Send to `to`; {peer: message} of those that are of use, ids ascending."""
        fresh = yield self._node.exchange(messages, to=to, kind=self._kind)
        self.last.update(fresh)
        chosen = self.last if self._params.absent == "last" else fresh
        age_s = self._params.max_age_s
        oldest_s = -1.0 if age_s is None else self._node.now_s - age_s
        return {j: chosen[j].msg for j in sorted(chosen) if chosen[j].sent_s >= oldest_s}

    def listeners(self) -> list[Process]:
        """What takes in messages that come after the exchange in which they were sent."""
        return [self._on_late()] if self._node.schedule == "rounds" else []

    def _on_late(self) -> Process:
        while True:
            received = yield self._node.receive(self._kind, timeout_s=None)
            known = self.last.get(received.sender)
            if known is None or known.sent_s < received.sent_s:
                self.last[received.sender] = received


class Edges:
    """The edges between one node and its peers.

    Parameters
    ----------
    payload : Inbox
        What goes over active edges.
    """

    def __init__(self, node: Node, payload: Inbox, params: EdgeParams) -> None:
        self._node, self._payload = node, payload
        self._inbox = Inbox(node, Edge, params)
        self._told: dict[int, tuple[bool, float]] = {}

    def subscribers(self) -> list[int]:
        """Peers whose edge from this node is active."""
        last = self._inbox.last
        return [j for j in self._node.peers if j not in last or last[j].msg.active]

    def settle(self, active: Mapping[int, bool]) -> Generator[Any, Any, None]:
        """Tell peers whose edge to this node has changed, or who seem not to know; hear theirs."""
        news = {}
        for j, wanted in active.items():
            known, told_s = self._told.get(j, (True, -1.0))
            if known != wanted or (told_s >= 0 and self._is_unheard(j, wanted, told_s)):
                news[j] = Edge(wanted)
                self._told[j] = wanted, self._node.now_s
        yield from self._inbox.swap(news)

    def _is_unheard(self, j: int, wanted: bool, told_s: float) -> bool:
        """Whether the peer's messages do not fit what it was told."""
        last_s = self._payload.last[j].sent_s if j in self._payload.last else -1.0
        return last_s < told_s if wanted else last_s > told_s

    def listeners(self) -> list[Process]:
        """What takes in word that comes late."""
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
    """
    present = [of[j] for j in senders]
    if absent == "self":
        return [1.0 - sum(present), *present]
    total = own + sum(present)
    if total <= 0:
        return [1.0] + [0.0] * len(present)
    return [share / total for share in (own, *present)]
