"""Each peer's latest message: what an exchange gives under schedules without a barrier."""

import math
from collections import defaultdict
from collections.abc import Collection
from typing import Any

from netsim.messaging.message import Envelope, Received

Tag = tuple[type, int]
"""Identity of an exchange: message class and phase."""


class _Exchange:
    """Messages of one exchange by sender, and the senders whose latest nobody has seen yet."""

    __slots__ = ("latest", "unseen")

    def __init__(self) -> None:
        self.latest: dict[int, Envelope] = {}
        self.unseen: set[int] = set()


class LatestMessages:
    """Latest messages of one node's exchanges.

    Parameters
    ----------
    node_id : int

    Attributes
    ----------
    asked : set of Tag
        The exchanges in which the node has taken part.
    superseded : int
        Messages that no process saw before a later one of the same sender took their place.
    """

    def __init__(self, node_id: int) -> None:
        self._id = node_id
        self._exchanges: defaultdict[Tag, _Exchange] = defaultdict(_Exchange)
        self.asked: set[Tag] = set()
        self.superseded = 0

    def put(self, envelope: Envelope) -> None:
        """Keep a message that has come, unless one that was sent later came before it."""
        exchange, src = self._exchanges[envelope.tag], envelope.src
        latest = exchange.latest
        if src in latest:
            if latest[src].sent_ns > envelope.sent_ns:
                self.superseded += 1
                if envelope.fates is not None:
                    envelope.fates.became(self._id, "superseded")
                return
            if src in exchange.unseen:
                self.superseded += 1
                fates = latest[src].fates
                if fates is not None:
                    fates.became(self._id, "superseded")
        latest[src] = envelope
        exchange.unseen.add(src)

    def take(
        self, tag: Tag, senders: Collection[int], now_ns: int, limit_ns: float = math.inf
    ) -> dict[int, Received[Any]]:
        """The latest message of each sender, if it is not too old; it stays for the next call.

        Parameters
        ----------
        tag : Tag
        senders : collection of int
        now_ns : int
            Virtual time, to which the ages refer [ns].
        limit_ns : float
            The greatest age of a message that counts [ns].

        Returns
        -------
        dict of int to Received
            By sender, ascending.
        """
        exchange, me = self._exchanges[tag], self._id
        latest = exchange.latest
        self.asked.add(tag)
        exchange.unseen.difference_update(senders)
        fresh: dict[int, Received[Any]] = {}
        for j in sorted(senders):
            envelope = latest.get(j)
            if envelope is None:
                continue
            if now_ns - envelope.sent_ns <= limit_ns:
                fresh[j] = envelope.handed_to(me, now_ns)
            elif envelope.fates is not None:
                envelope.fates.became(me, "too_old")
        return fresh

    def unseen(self) -> int:
        """Messages that no process has seen."""
        return sum(len(exchange.unseen) for exchange in self._exchanges.values())
