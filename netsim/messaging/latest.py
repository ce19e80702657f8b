"""Each peer's freshest message: what an exchange gives under schedules without a barrier."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from netsim.messaging.mailbox import Stored
from netsim.messaging.message import Received

Tag = tuple[type, int]
"""What an exchange is known by: message class and phase."""


class _Exchange:
    """What has come for one exchange, by sender, and of whom nobody has seen the latest."""

    __slots__ = ("latest", "unseen")

    def __init__(self) -> None:
        self.latest: dict[int, Stored] = {}
        self.unseen: set[int] = set()


class Freshest:
    """Latest messages of one node's exchanges.

    Attributes
    ----------
    asked : set of Tag
        The exchanges in which the node has taken part.
    superseded : int
        Messages that nobody saw before a fresher one of the same sender took their place.
    """

    def __init__(self) -> None:
        self._exchanges: defaultdict[Tag, _Exchange] = defaultdict(_Exchange)
        self.asked: set[Tag] = set()
        self.superseded = 0

    def put(self, tag: Tag, stored: Stored) -> None:
        """A message has come; it may have been overtaken by a later one."""
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
        """The latest message of each of the senders that has sent one."""
        exchange = self._exchanges[tag]
        latest = exchange.latest
        self.asked.add(tag)
        exchange.unseen.difference_update(senders)
        return {j: latest[j].handed(now_ns) for j in sorted(senders) if j in latest}

    def unseen(self) -> int:
        """Messages that nobody has seen."""
        return sum(len(exchange.unseen) for exchange in self._exchanges.values())
