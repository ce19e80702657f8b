"""A node's mailbox: messages by class, and the processes that wait for them.

A process whose time-out has passed is taken off the list of those that wait, so a later message
goes to the next one instead of being lost.

Messages of one instant are received in a random order. Links end transmissions of one instant in
the order in which they were sent, which is often that of node ids; without a draw a process that
receives one message after the other would always take node 0's first. A message that is on its way
to a process which has not gone on yet gives way to one of the same instant with a lower draw.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import NoReturn

import simpy

from netsim.clock import Clock, Event
from netsim.errors import ProtocolError
from netsim.messaging.message import Envelope
from netsim.rng import Streams


class Arrival(Event):
    """The event of `receive` and `gather`; a listener where it has no time-out."""

    def __or__(self, other: simpy.Event) -> NoReturn:
        raise ProtocolError(f"{self.what} | ... would lose messages; give timeout_s instead")


class _Waiter:
    """A process that waits for messages of one class: for one, or for one of each sender."""

    __slots__ = ("event", "got", "node", "one", "senders")

    def __init__(self, node: int, event: Arrival, senders: set[int] | None, one: bool) -> None:
        self.node, self.event = node, event
        self.senders = senders
        self.one = one
        self.got: dict[int, Envelope] = {}

    def accepts(self, sender: int) -> bool:
        return self.senders is None or (sender in self.senders and sender not in self.got)

    def hand_over(self, event: simpy.Event) -> None:
        """Make its one message the value of its event, which is happening."""
        (envelope,) = self.got.values()
        event._value = envelope.handed_to(self.node, event.env.now)  # type: ignore[arg-type]


class Mailbox:
    """Messages of one node that have arrived, a queue for each message class.

    Parameters
    ----------
    node_id : int
    env : Clock
    streams : Streams
        Draws the "order in a mailbox" of messages of one instant.
    """

    def __init__(self, node_id: int, env: Clock, streams: Streams) -> None:
        self._id, self._env, self._streams = node_id, env, streams
        # By class the messages that wait, each with the instant at which it came [ns].
        self._queues: dict[type, deque[tuple[int, Envelope]]] = {}
        self._waiters: dict[type, list[_Waiter]] = {}
        # Of the last instant at which a message came: whom `put` gave one, and draws by sender.
        self._instant_ns = -1
        self._given: dict[type, list[_Waiter]] = {}
        self._draws: dict[int, float] = {}

    def put(self, envelope: Envelope) -> None:
        """Hand a message to the first process that waits for it, or queue it."""
        kind, now = type(envelope.message), self._env.now
        if now != self._instant_ns:
            self._instant_ns = now
            self._given, self._draws = {}, {}
        for waiter in self._waiters.get(kind, ()):
            if waiter.accepts(envelope.src):
                self._give(kind, waiter, envelope)
                return
        self._queue(kind, envelope)

    def has_listener(self, kind: type) -> bool:
        """Return whether a process waits for messages of this kind without a time-out."""
        return any(w.event.listener for w in self._waiters.get(kind, ()))

    def receive(self, kind: type, timeout_ns: int | None) -> simpy.Event:
        """Event: the next message of this class as `Received`, or None after the time-out."""
        event = Arrival(self._env, f"receive({kind.__name__})", timeout_ns is None)
        waiter = _Waiter(self._id, event, None, one=True)
        queue = self._queues.get(kind)
        if queue:
            waiter.event.succeed(queue.popleft()[1].handed_to(self._id, self._env.now))
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
        waiter = _Waiter(self._id, event, set(senders), one=False)
        queue = self._queues.get(kind, deque())
        for came in list(queue):
            envelope = came[1]
            if waiter.accepts(envelope.src):
                queue.remove(came)
                waiter.got[envelope.src] = envelope
        if len(waiter.got) == len(set(senders)):
            self._close(waiter)
        else:
            self._wait(kind, waiter, timeout_ns)
        return waiter.event

    def unread_count(self) -> int:
        """Messages in the queues, and those that wait for the others of a `gather`."""
        gathered = sum(len(w.got) for waiters in self._waiters.values() for w in waiters)
        return gathered + sum(len(q) for q in self._queues.values())

    def _wait(self, kind: type, waiter: _Waiter, timeout_ns: int | None) -> None:
        self._waiters.setdefault(kind, []).append(waiter)
        if timeout_ns is not None:
            self._env.call_after(timeout_ns, self._give_up, kind, waiter)

    def _give(self, kind: type, waiter: _Waiter, envelope: Envelope) -> None:
        waiter.got[envelope.src] = envelope
        if waiter.one:
            self._waiters[kind].remove(waiter)
            if kind in self._given:
                self._given[kind].append(waiter)
            else:
                self._given[kind] = [waiter]
            # The process goes on after the events of this instant that are planned already.
            waiter.event.callbacks.insert(0, waiter.hand_over)
            waiter.event.succeed()
        elif waiter.senders is not None and len(waiter.got) == len(waiter.senders):
            self._waiters[kind].remove(waiter)
            self._close(waiter)

    def _queue(self, kind: type, envelope: Envelope) -> None:
        """Let a message wait, in a drawn order among those of this instant."""
        now, mine = self._env.now, envelope
        for waiter in self._given.get(kind, ()):
            (theirs,) = waiter.got.values()
            if waiter.event.callbacks is not None and self._goes_before(mine, theirs, envelope):
                waiter.got, mine = {mine.src: mine}, theirs
        queue = self._queues.setdefault(kind, deque())
        place, end = 0, len(queue)
        while place < end:  # they lie in order of time and, within this instant, of their draws
            middle = (place + end) // 2
            came_ns, other = queue[middle]
            if came_ns == now and self._goes_before(mine, other, envelope):
                end = middle
            else:
                place = middle + 1
        queue.insert(place, (now, mine))

    def _goes_before(self, mine: Envelope, theirs: Envelope, latest: Envelope) -> bool:
        """Return whether a message is drawn before another one; a sender's own keep their order.

        `latest`: the one that has come now; any other was there before those behind it.
        """
        mine_u, theirs_u = (
            self._draws.get(one.src) or self._draw(one.src) for one in (mine, theirs)
        )
        return mine_u < theirs_u or (mine_u == theirs_u and mine is not latest)

    def _draw(self, src: int) -> float:
        streams, now = self._streams, self._env.now
        u = self._draws[src] = streams.uniform("order in a mailbox", self._id, src, now)
        return u

    def _give_up(self, kind: type, waiter: _Waiter) -> None:
        if not waiter.event.triggered:
            self._waiters[kind].remove(waiter)
            self._close(waiter)

    def _close(self, waiter: _Waiter) -> None:
        me, now = self._id, self._env.now
        if waiter.one:  # nothing has come
            waiter.event.succeed()
        else:
            got = sorted(waiter.got.items())
            waiter.event.succeed({i: envelope.handed_to(me, now) for i, envelope in got})
