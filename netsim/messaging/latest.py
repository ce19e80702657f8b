"""Each peer's latest message: what an exchange gives under schedules without a barrier."""

from collections.abc import Collection
from typing import Any

from netsim.messaging.envelope import Envelope
from netsim.messaging.message import Received

Tag = tuple[type, int]
"""What identifies an exchange: message class and phase."""


class _Exchange:
    """Messages of one exchange by sender, and the senders whose latest nobody has seen yet."""

    __slots__ = ("asked", "latest", "unseen")

    def __init__(self) -> None:
        self.latest: dict[int, Envelope] = {}
        self.unseen: set[int] = set()
        self.asked = False
        """Whether the node has taken part in it."""


class LatestMessages:
    """Latest messages of one node's exchanges.

    Parameters
    ----------
    node_id : int

    Attributes
    ----------
    superseded : int
        Messages that no process saw before a later one of the same sender took their place.
    """

    def __init__(self, node_id: int) -> None:
        self._id = node_id
        self._exchanges: dict[Tag, _Exchange] = {}
        self.superseded = 0

    def has_asked(self, tag: Tag) -> bool:
        """Whether the node has taken part in an exchange."""
        exchange = self._exchanges.get(tag)
        return exchange is not None and exchange.asked

    def put(self, envelope: Envelope) -> None:
        """Keep a message that has come, unless one that was sent later came before it."""
        exchange = self._exchanges.get(envelope.tag)
        if exchange is None:
            exchange = self._exchanges[envelope.tag] = _Exchange()
        src, latest = envelope.src, exchange.latest
        if src in latest:
            if latest[src].sent_ns > envelope.sent_ns:
                self.superseded += 1
                return
            if src in exchange.unseen:
                self.superseded += 1
        latest[src] = envelope
        exchange.unseen.add(src)

    def take(self, tag: Tag, senders: Collection[int], now_ns: int) -> dict[int, Received[Any]]:
        """The latest message of each sender that has sent one; it stays for the next call.

        Parameters
        ----------
        tag : Tag
        senders : collection of int
        now_ns : int
            Virtual time, to which the ages refer [ns].

        Returns
        -------
        dict of int to Received
            By sender, ascending.
        """
        exchange = self._exchanges.setdefault(tag, _Exchange())
        latest, me = exchange.latest, self._id
        exchange.asked = True
        exchange.unseen.difference_update(senders)
        return {j: latest[j].handed_to(me, now_ns) for j in sorted(senders) if j in latest}

    def unseen(self) -> int:
        """Messages that no process has seen."""
        return sum(len(exchange.unseen) for exchange in self._exchanges.values())
