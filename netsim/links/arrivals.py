"""Messages of one instant, which a first-come, first-served queue takes in a random order.

Events of one instant happen in the order in which they were scheduled, which is often that of node
ids: in rounds node 0 would always be first. So what comes to a queue at one instant is gathered,
and handed on at the end of that instant. Those that need something in common, directly or through
others, change places: senders in a random order, each sender's own in the order in which they came.
All others keep their places.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from simpy.events import EventPriority

from netsim.clock import LAST, Clock
from netsim.rng import Streams

T = TypeVar("T")


class _Arrival(NamedTuple, Generic[T]):
    src: int
    needs: tuple[Hashable, ...]
    item: T


_arrival: Any = partial(tuple.__new__, _Arrival)
"""`_Arrival` of a tuple of all its fields, in half the time."""


class Arrivals(Generic[T]):
    """Gathers what comes at an instant.

    Parameters
    ----------
    env : Clock
    streams : Streams
        Draws "order of one instant".
    served : callable
        Called with each of them at the end of the instant.
    rank : EventPriority
        Rank at which that is: `LAST`, or `NORMAL` where what follows belongs to the instant.
    """

    def __init__(
        self,
        env: Clock,
        streams: Streams,
        served: Callable[[T], None],
        rank: EventPriority = LAST,
    ) -> None:
        self._env, self._streams, self._served = env, streams, served
        self._rank = rank
        self._come: list[_Arrival[T]] = []

    def add(self, src: int, needs: Iterable[Hashable], item: T) -> None:
        """Gather one.

        Parameters
        ----------
        src : int
            Whose it is.
        needs : iterable of hashable
            What it waits for; at least one.
        item : object
            What `served` is called with.
        """
        if not self._come:
            self._env.call_at_end(self._hand_on, self._rank)
        self._come.append(_arrival((src, tuple(needs), item)))

    def waiting(self, src: int) -> list[T]:
        """Messages of one sender that have not been handed on, in the order in which they came."""
        return [arrival.item for arrival in self._come if arrival.src == src]

    def _hand_on(self) -> None:
        come, self._come = self._come, []
        senders = dict.fromkeys(arrival.src for arrival in come)
        if len(senders) > 1:
            now, streams = self._env.now, self._streams
            draws = {src: streams.uniform("order of one instant", src, now) for src in senders}
            for places in _connected_groups([arrival.needs for arrival in come]):
                order = sorted((come[k] for k in places), key=lambda a: (draws[a.src], a.src))
                for k, arrival in zip(places, order, strict=True):
                    come[k] = arrival
        for arrival in come:
            self._served(arrival.item)


def _connected_groups(needs: Sequence[tuple[Hashable, ...]]) -> list[list[int]]:
    """Places of those that need something in common, directly or through others; ascending."""
    above: dict[Hashable, Hashable] = {}

    def top(need: Hashable) -> Hashable:
        while (higher := above.setdefault(need, need)) != need:
            above[need] = need = above[higher]
        return need

    for first, *others in needs:
        for other in others:
            above[top(other)] = top(first)
    groups: dict[Hashable, list[int]] = {}
    for place, (first, *_) in enumerate(needs):
        groups.setdefault(top(first), []).append(place)
    return list(groups.values())
