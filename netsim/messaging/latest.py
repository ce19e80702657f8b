"""Each peer's latest message: what an exchange gives under schedules without a barrier."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from netsim.messaging.mailbox import Stored
from netsim.messaging.message import Received

Tag = tuple[type, int]
"""What identifies an exchange: message class and phase."""


class _Exchange:
    """Messages of one exchange by sender, and the senders whose latest nobody has seen yet."""

    __slots__ = ("latest", "unseen")

    def __init__(self) -> None:
        self.latest: dict[int, Stored] = {}
        self.unseen: set[int] = set()


class LatestMessages:
    """Latest messages of one node's exchanges.

    Attributes
    ----------
    asked : set of Tag
        The exchanges in which the node has taken part.
    superseded : int
        Messages that no process saw before a later one of the same sender took their place.
    """

    def __init__(self) -> None:
        self._exchanges: defaultdict[Tag, _Exchange] = defaultdict(_Exchange)
        self.asked: set[Tag] = set()
        self.superseded = 0

    def put(self, tag: Tag, stored: Stored) -> None:
        """Keep a message that has come, unless one that was sent later came before it."""
        exchange, sender = self._exchanges[tag], stored.sender
        before = exchange.latest.get(sender)
        if before is not None:
            if before.sent_ns > stored.sent_ns:
                self.superseded += 1
                return
            self.superseded += sender in exchange.unseen
        exchange.latest[sender] = stored
        exchange.unseen.add(sender)

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
        exchange = self._exchanges[tag]
        latest = exchange.latest
        self.asked.add(tag)
        exchange.unseen.difference_update(senders)
        return {j: latest[j].handed(now_ns) for j in sorted(senders) if j in latest}

    def unseen(self) -> int:
        """Messages that no process has seen."""
        return sum(len(exchange.unseen) for exchange in self._exchanges.values())
