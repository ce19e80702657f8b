"""Each peer's freshest message: what an exchange gives under schedules without a barrier."""

from collections.abc import Collection
from typing import Any

from netsim.mailbox import Stored
from netsim.message import Received

Tag = tuple[type, int]
"""What an exchange is known by: message class and phase."""


class Freshest:
    """Latest messages of one node's exchanges.

    Attributes
    ----------
    superseded : int
        Messages that nobody saw before a fresher one of the same sender took their place.
    """

    def __init__(self) -> None:
        self._latest: dict[Tag, dict[int, Stored]] = {}
        self._unseen: set[tuple[Tag, int]] = set()
        self._asked: set[Tag] = set()
        self.superseded = 0

    def put(self, tag: Tag, stored: Stored) -> None:
        """A message has come; it may have been overtaken by a later one."""
        latest, where = self._latest.setdefault(tag, {}), (tag, stored.sender)
        if stored.sender in latest and latest[stored.sender].sent_ns > stored.sent_ns:
            self.superseded += 1
            return
        self.superseded += where in self._unseen
        latest[stored.sender] = stored
        self._unseen.add(where)

    def take(self, tag: Tag, senders: Collection[int], now_ns: int) -> dict[int, Received[Any]]:
        """The latest message of each of the senders that has sent one."""
        latest = self._latest.get(tag, {})
        self._asked.add(tag)
        self._unseen.difference_update((tag, j) for j in senders)
        return {j: latest[j].handed(now_ns) for j in sorted(senders) if j in latest}

    def asked(self, tag: Tag) -> bool:
        """Whether the node has taken part in this exchange."""
        return tag in self._asked

    def unseen(self) -> int:
        """Messages that nobody has seen."""
        return len(self._unseen)
