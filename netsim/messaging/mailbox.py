"""A node's mailbox: messages by kind, and processes that wait for them.

A waiter that gives up is taken off the list, so a time-out never swallows a later message.
"""

from collections import deque
from collections.abc import Collection
from typing import Any, NamedTuple, NoReturn

import simpy

from netsim.clock import Clock
from netsim.errors import ProtocolError
from netsim.messaging.message import Message, Received
from netsim.recording.traffic_stats import Ages
from netsim.units import NS_PER_S


class Stored(NamedTuple):
    """A delivered message before it is handed to the algorithm.

    `ages` is told of every time when that happens, if its age is of interest.
    """

    msg: Message
    sender: int
    sent_ns: int
    round: int
    arrived: Any
    ages: Ages | None = None

    def handed(self, now_ns: int) -> Received[Any]:
        """As the algorithm sees it, aged to this instant."""
        msg, sender, sent_ns, round_number, arrived, ages = self
        if ages is not None:
            ages.add(type(msg).__name__, now_ns - sent_ns)
        age_s = (now_ns - sent_ns) / NS_PER_S
        return Received(msg, sender, sent_ns / NS_PER_S, age_s, round_number, arrived)


class Arrival(simpy.Event):
    """What `receive` and `gather` give.

    Attributes
    ----------
    listener : bool
        Whether it is waited for without a time-out.
    what : str
        Shown when nothing is left to happen.
    """

    def __init__(self, env: Clock, what: str, listener: bool) -> None:
        super().__init__(env)
        self.what, self.listener = what, listener

    def __or__(self, other: simpy.Event) -> NoReturn:
        raise ProtocolError(f"{self.what} | ... would lose messages; give timeout_s instead")


class _Waiter:
    """One process that waits for messages of one kind."""

    __slots__ = ("event", "got", "one", "senders")

    def __init__(self, event: Arrival, senders: set[int] | None, one: bool) -> None:
        self.event = event
        self.senders = senders
        self.one = one
        self.got: dict[int, Stored] = {}

    def wants(self, sender: int) -> bool:
        return self.senders is None or (sender in self.senders and sender not in self.got)


class Mailbox:
    """Queues of one node, one per message class."""

    def __init__(self, env: Clock) -> None:
        self._env = env
        self._queues: dict[type, deque[Stored]] = {}
        self._waiters: dict[type, list[_Waiter]] = {}

    def put(self, stored: Stored) -> None:
        """Hand a message to whoever waits for it, or keep it."""
        kind = type(stored.msg)
        for waiter in self._waiters.get(kind, ()):
            if waiter.wants(stored.sender):
                self._give(kind, waiter, stored)
                return
        self._queues.setdefault(kind, deque()).append(stored)

    def has_listener(self, kind: type) -> bool:
        """Whether a process waits for messages of this kind without a time-out."""
        return any(w.event.listener for w in self._waiters.get(kind, ()))

    def receive(self, kind: type, timeout_ns: int | None) -> simpy.Event:
        """Event: the next message of this kind as `Received`, or None after the time-out."""
        event = Arrival(self._env, f"receive({kind.__name__})", timeout_ns is None)
        waiter = _Waiter(event, None, one=True)
        queue = self._queues.get(kind)
        if queue:
            waiter.event.succeed(queue.popleft().handed(self._env.now))
        else:
            self._wait(kind, waiter, timeout_ns)
        return waiter.event

    def gather(self, kind: type, senders: Collection[int], timeout_ns: int | None) -> simpy.Event:
        """Event: {sender: Received}, complete or what had come by the time-out."""
        event = Arrival(self._env, f"gather({kind.__name__})", timeout_ns is None)
        waiter = _Waiter(event, set(senders), one=False)
        queue = self._queues.get(kind, deque())
        for stored in list(queue):
            if waiter.wants(stored.sender):
                queue.remove(stored)
                waiter.got[stored.sender] = stored
        if len(waiter.got) == len(set(senders)):
            self._close(waiter)
        else:
            self._wait(kind, waiter, timeout_ns)
        return waiter.event

    def unread(self) -> int:
        """Messages that nobody has asked for yet, or that wait for the others of a `gather`."""
        gathered = sum(len(w.got) for waiters in self._waiters.values() for w in waiters)
        return gathered + sum(len(q) for q in self._queues.values())

    def _wait(self, kind: type, waiter: _Waiter, timeout_ns: int | None) -> None:
        self._waiters.setdefault(kind, []).append(waiter)
        if timeout_ns is not None:
            self._env.after(timeout_ns, self._give_up, kind, waiter)

    def _give(self, kind: type, waiter: _Waiter, stored: Stored) -> None:
        waiter.got[stored.sender] = stored
        if waiter.one or (waiter.senders is not None and len(waiter.got) == len(waiter.senders)):
            self._waiters[kind].remove(waiter)
            self._close(waiter)

    def _give_up(self, kind: type, waiter: _Waiter) -> None:
        if not waiter.event.triggered:
            self._waiters[kind].remove(waiter)
            self._close(waiter)

    def _close(self, waiter: _Waiter) -> None:
        now = self._env.now
        if waiter.one:
            (stored,) = waiter.got.values() or (None,)
            waiter.event.succeed(stored.handed(now) if stored else None)
        else:
            got = sorted(waiter.got.items())
            waiter.event.succeed({i: s.handed(now) for i, s in got})
