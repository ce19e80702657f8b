"""Each peer's latest message: what an exchange gives under schedules without a barrier."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from netsim.messaging.message import Envelope, Received

Tag = tuple[type, int]
"""Identity of an exchange: message class and phase."""


class Taker:
    """A node's side of one exchange: by sender the latest message, and whose nobody has seen yet.

    Parameters
    ----------
    node_id : int

    Attributes
    ----------
    superseded : int
        Messages that no process saw before a later one of the same sender took their place.
    """

    __slots__ = ("latest", "node_id", "superseded", "unseen")

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.latest: dict[int, Envelope] = {}
        self.unseen: set[int] = set()
        self.superseded = 0

    def put(self, envelope: Envelope) -> None:
        """Keep a message that has come, unless one that was sent later came before it."""
        put_to_all({self.node_id: self}, envelope, (self.node_id,))

    def count_superseded(self, envelope: Envelope, before: Envelope) -> bool:
        """Count one of two messages of a sender as superseded; return whether that is `before`."""
        is_late = before.sent_ns > envelope.sent_ns
        fates = envelope.fates if is_late else before.fates
        self.superseded += 1
        if fates is not None:
            fates.settle(self.node_id, "superseded")  # nobody has got it
        return not is_late


def put_to_all(
    takers: Mapping[int, Taker], envelope: Envelope, receivers: Sequence[int]
) -> list[int]:
    """Put a message that has come to its receivers' takers; return the receivers without one.

    A taker keeps it, unless one that was sent later came before it.

    Parameters
    ----------
    takers : mapping of int to Taker
        By receiver.
    envelope : Envelope
    receivers : sequence of int
    """
    src, sent_ns, others = envelope.src, envelope.sent_ns, []
    for node in receivers:
        taker = takers.get(node)
        if taker is None:
            others.append(node)
            continue
        before = taker.latest.get(src)
        if (
            before is not None
            and (src in taker.unseen or before.sent_ns > sent_ns)
            and not taker.count_superseded(envelope, before)
        ):
            continue
        taker.latest[src] = envelope
        taker.unseen.add(src)
    return others


class LatestMessages:
    """Latest messages of one node's exchanges.

    Parameters
    ----------
    node_id : int
    takers : dict of Tag to dict of int to Taker, or None
        By exchange and node, those that a message may be put to directly: of nodes that take part,
        and ignore no message. None: nobody may.
    waiting : callable
        (tag) -> the messages of an exchange that came before the node took part in it.

    Attributes
    ----------
    exchanges : dict of Tag to Taker
        Those in which the node has taken part.
    """

    def __init__(
        self,
        node_id: int,
        takers: dict[Tag, dict[int, Taker]] | None = None,
        waiting: Callable[[Tag], Iterable[Envelope]] = lambda _: (),
    ) -> None:
        self._id, self._takers, self._waiting = node_id, takers, waiting
        self.exchanges: dict[Tag, Taker] = {}

    def put(self, envelope: Envelope) -> None:
        """Keep a message that has come, unless one that was sent later came before it."""
        self.exchanges[envelope.tag].put(envelope)

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
        me = self._id
        taker = self.exchanges.get(tag) or self._join(tag)
        latest = taker.latest
        taker.unseen.difference_update(senders)
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

    def _join(self, tag: Tag) -> Taker:
        """Take part in an exchange from now on."""
        taker = self.exchanges[tag] = Taker(self._id)
        for envelope in self._waiting(tag):
            taker.put(envelope)
        if self._takers is not None:
            self._takers.setdefault(tag, {})[self._id] = taker
        return taker

    def unseen_count(self) -> int:
        """Messages that no process has seen."""
        return sum(len(taker.unseen) for taker in self.exchanges.values())

    @property
    def superseded_count(self) -> int:
        """Messages that no process saw before a later one of the same sender took their place."""
        return sum(taker.superseded for taker in self.exchanges.values())
