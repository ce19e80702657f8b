"""A node's mailbox: messages by class, and the processes that wait for them.

A process whose time-out has passed is taken off the list of those that wait, so a later message
goes to the next one instead of being lost.
"""

from collections import deque
from collections.abc import Collection
from typing import NoReturn

import simpy

from netsim.clock import Clock, Event
from netsim.errors import ProtocolError
from netsim.messaging.message import Envelope


class Arrival(Event):
    """The event of `receive` and `gather`; a listener where it has no time-out."""

    def __or__(self, other: simpy.Event) -> NoReturn:
        raise ProtocolError(f"{self.what} | ... would lose messages; give timeout_s instead")


class _Waiter:
    """A process that waits for messages of one class: for one, or for one of each sender."""

    __slots__ = ("event", "got", "one", "senders")

    def __init__(self, event: Arrival, senders: set[int] | None, one: bool) -> None:
        self.event = event
        self.senders = senders
        self.one = one
        self.got: dict[int, Envelope] = {}

    def wants(self, sender: int) -> bool:
        return self.senders is None or (sender in self.senders and sender not in self.got)


class Mailbox:
    """Messages of one node that have arrived, a queue for each message class."""

    def __init__(self, node_id: int, env: Clock) -> None:
        self._id, self._env = node_id, env
        self._queues: dict[type, deque[Envelope]] = {}
        self._waiters: dict[type, list[_Waiter]] = {}

    def put(self, envelope: Envelope) -> None:
        """Hand a message to the first process that waits for it, or queue it."""
        kind = type(envelope.message)
        for waiter in self._waiters.get(kind, ()):
            if waiter.wants(envelope.src):
                self._give(kind, waiter, envelope)
                return
        self._queues.setdefault(kind, deque()).append(envelope)

    def has_listener(self, kind: type) -> bool:
        """Return whether a process waits for messages of this kind without a time-out."""
        return any(w.event.listener for w in self._waiters.get(kind, ()))

    def receive(self, kind: type, timeout_ns: int | None) -> simpy.Event:
        """Event: the next message of this class as `Received`, or None after the time-out."""
        event = Arrival(self._env, f"receive({kind.__name__})", timeout_ns is None)
        waiter = _Waiter(event, None, one=True)
        queue = self._queues.get(kind)
        if queue:
            waiter.event.succeed(queue.popleft().handed_to(self._id, self._env.now))
        else:
            self._wait(kind, waiter, timeout_ns)
        return waiter.event

    def gather(self, kind: type, senders: Collection[int], timeout_ns: int | None) -> simpy.Event:
        """Event: {sender: Received} of one message each, or of those that came in time.

        Parameters
        ----------
        kind : type
            The message class.
        senders : collection of int
        timeout_ns : int or None
            How long to wait [ns]; None: until all have come.
        """
        event = Arrival(self._env, f"gather({kind.__name__})", timeout_ns is None)
        waiter = _Waiter(event, set(senders), one=False)
        queue = self._queues.get(kind, deque())
        for envelope in list(queue):
            if waiter.wants(envelope.src):
                queue.remove(envelope)
                waiter.got[envelope.src] = envelope
        if len(waiter.got) == len(set(senders)):
            self._close(waiter)
        else:
            self._wait(kind, waiter, timeout_ns)
        return waiter.event

    def unread(self) -> int:
        """Messages in the queues, and those that wait for the others of a `gather`."""
        gathered = sum(len(w.got) for waiters in self._waiters.values() for w in waiters)
        return gathered + sum(len(q) for q in self._queues.values())

    def _wait(self, kind: type, waiter: _Waiter, timeout_ns: int | None) -> None:
        self._waiters.setdefault(kind, []).append(waiter)
        if timeout_ns is not None:
            self._env.after(timeout_ns, self._give_up, kind, waiter)

    def _give(self, kind: type, waiter: _Waiter, envelope: Envelope) -> None:
        waiter.got[envelope.src] = envelope
        if waiter.one or (waiter.senders is not None and len(waiter.got) == len(waiter.senders)):
            self._waiters[kind].remove(waiter)
            self._close(waiter)

    def _give_up(self, kind: type, waiter: _Waiter) -> None:
        if not waiter.event.triggered:
            self._waiters[kind].remove(waiter)
            self._close(waiter)

    def _close(self, waiter: _Waiter) -> None:
        me, now = self._id, self._env.now
        if waiter.one:
            (envelope,) = waiter.got.values() or (None,)
            waiter.event.succeed(envelope.handed_to(me, now) if envelope else None)
        else:
            got = sorted(waiter.got.items())
            waiter.event.succeed({i: envelope.handed_to(me, now) for i, envelope in got})
