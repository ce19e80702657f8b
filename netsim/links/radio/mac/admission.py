"""First-come, first-served queue of half-duplex radios."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netsim.links.link import Transmission
from netsim.links.radio.mac.repeated_broadcast import BroadcastRounds


@dataclass(slots=True, eq=False)
class QueuedMessage:
    """A message that needs radios: a unicast both ends', a broadcast its sender's.

    Attributes
    ----------
    group : sequence of Transmission
        One for each receiver; a unicast has one.
    radios : (int, int)
        Nodes whose radios it needs to start, the sender first; twice the sender for a broadcast,
        and for a unicast that does not occupy its receiver's radio.
    broadcast : bool
    rounds : BroadcastRounds or None
        Of a broadcast of which a further round is to be sent.
    left_queue : bool
        Whether it has started or was given up.
    order : int
        Its place in the order of arrival.
    """

    group: Sequence[Transmission]
    radios: tuple[int, int]
    broadcast: bool
    rounds: BroadcastRounds | None = None
    left_queue: bool = False
    order: int = 0


class RadioQueue:
    """First-come, first-served queue of half-duplex radios.

    A message waits in the line of each radio that it needs. Of those whose radios are all free the
    oldest goes first, so a busy peer holds up no other message, and nothing can deadlock.

    Parameters
    ----------
    nodes : int
    limit : int or None
        How many messages may wait at a sender; None: any number.

    Attributes
    ----------
    free : list of bool
        By node, whether its radio is free. Whoever starts a message takes its radios.
    limit : int or None
    """

    def __init__(self, nodes: int, limit: int | None) -> None:
        self.free = [True] * nodes
        self._waiting: list[deque[QueuedMessage]] = [deque() for _ in range(nodes)]
        self._order = 0
        self.limit = limit

    def can_start(self, message: QueuedMessage) -> bool:
        """Return whether the radios of a message are free."""
        one, other = message.radios
        return self.free[one] and self.free[other]

    def is_full(self, sender: int) -> bool:
        """Return whether a sender's queue is full."""
        return self.limit is not None and len(self.waiting_from(sender)) >= self.limit

    def add(self, message: QueuedMessage) -> None:
        """Let a message wait for its radios."""
        self._order += 1
        message.order = self._order
        for radio in dict.fromkeys(message.radios):
            self._waiting[radio].append(message)

    def waiting_from(self, sender: int) -> list[QueuedMessage]:
        """The messages of a sender that wait, oldest first."""
        return [q for q in self._waiting[sender] if q.radios[0] == sender and not q.left_queue]

    def release(self, radios: Sequence[int]) -> Iterator[QueuedMessage]:
        """Free the radios of some nodes; yield the messages that can start now, oldest first.

        Each one has to take its radios before the next one is asked for.
        """
        for radio in radios:
            self.free[radio] = True
            line = self._waiting[radio]
            while line and line[0].left_queue:
                line.popleft()
        while (message := self._oldest_ready(radios)) is not None:
            message.left_queue = True
            yield message

    def _oldest_ready(self, radios: Sequence[int]) -> QueuedMessage | None:
        """The oldest message that waits for one of some radios and can start; None: none can."""
        free, first = self.free, None
        for radio in radios:
            if not free[radio]:
                continue
            for message in self._waiting[radio]:
                one, other = message.radios
                if free[one] and free[other] and not message.left_queue:
                    if first is None or message.order < first.order:
                        first = message
                    break
        return first
