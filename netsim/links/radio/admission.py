"""Whose turn it is: radios taken and freed, messages that wait for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from netsim.links.link import Transmission


@dataclass(slots=True, eq=False)
class Queued:
    """A message that waits for radios: a unicast for both ends, a broadcast for its sender's.

    The two radios of a broadcast are the same one, and so are those of a unicast where a message
    does not take its receiver's radio. The sender's comes first.
    """

    order: int
    group: Sequence[Transmission]
    radios: tuple[int, int]
    broadcast: bool
    gone: bool = False


class Admission:
    """Starts messages in order of arrival as soon as their radios are free.

    Parameters
    ----------
    nodes : int
    limit : int or None
        How many messages may wait at a sender.
    start : callable
        Told of a message whose turn it is; takes the radios it needs before it returns.
    """

    def __init__(self, nodes: int, limit: int | None, start: Callable[[Queued], None]) -> None:
        self.free = [True] * nodes
        self._waiting: list[deque[Queued]] = [deque() for _ in range(nodes)]
        self._order = 0
        self._limit = limit
        self._start = start

    def admit(
        self, group: Sequence[Transmission], radios: tuple[int, int], broadcast: bool
    ) -> Queued | None:
        """Start a message or let it wait; it if it waits, `gone` if there is no room."""
        self._order += 1
        queued = Queued(self._order, group, radios, broadcast)
        if self._can_start(queued):
            self._begin(queued)
            return None
        if self._limit is not None and len(self.waiting_from(radios[0])) >= self._limit:
            queued.gone = True
            return queued
        for radio in dict.fromkeys(radios):
            self._waiting[radio].append(queued)
        return queued

    def waiting_from(self, node: int) -> list[Queued]:
        """The messages of a sender that wait."""
        return [q for q in self._waiting[node] if q.radios[0] == node and not q.gone]

    def release(self, radios: Sequence[int]) -> None:
        """Free radios, then start what waits for them, oldest first."""
        for radio in radios:
            self.free[radio] = True
            queue = self._waiting[radio]
            while queue and queue[0].gone:
                queue.popleft()
        while True:
            oldest = [
                next(filter(self._can_start, self._waiting[radio]), None)
                for radio in radios
                if self.free[radio]
            ]
            ready = [queued for queued in oldest if queued is not None]
            if not ready:
                return
            self._begin(min(ready, key=attrgetter("order")))

    def _can_start(self, queued: Queued) -> bool:
        one, other = queued.radios
        return self.free[one] and self.free[other] and not queued.gone

    def _begin(self, queued: Queued) -> None:
        queued.gone = True
        self._start(queued)
