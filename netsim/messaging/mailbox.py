"""A node's mailbox: messages by class, and the processes that wait for them.

A process whose time-out has passed is taken off the list of those that wait, so a later message
goes to the next one instead of being lost.

Messages of one instant are received in a random order. Links end transmissions of one instant in
the order in which they were sent, which is often that of node ids; without a draw a process that
receives one message after the other would always take node 0's first. A message that is on its way
to a process which has not gone on yet gives way to one of the same instant with a lower draw.

What a process waits for may come true while its node is off: time-outs run on, and rounds end. Its
messages stay unread until the node is on again; only then does the process have them, and they the
age of that instant (`HandOver`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Set

import simpy

from netsim.clock import LAST, Clock, Event
from netsim.messaging.message import Envelope
from netsim.rng import Streams


class HandOvers:
    """Hand-overs of messages to the processes of one node.

    Parameters
    ----------
    node : int
    clock : Clock
    off : set of int
        Nodes that are off.

    Attributes
    ----------
    held : dict of HandOver to None
        Those that have come true while the node is off, in order.
    on_listening : callable or None
        Called when a process begins to listen: nothing may wait for the node any longer.
    """

    def __init__(self, node: int, clock: Clock, off: Set[int] = frozenset()) -> None:
        self.node, self.clock, self.off = node, clock, off
        self.held: dict[HandOver, None] = {}
        self.on_listening: Callable[[], object] | None = None

    def unread_count(self) -> int:
        """Messages that wait for the node to be on."""
        return sum(event.num_brought for event in self.held)

    def switched_on(self) -> None:
        """Hand over what is held, before any process of the node goes on.

        A process that was waiting for something else may ask for it at once.
        """
        held, self.held = self.held, {}
        for event in held:
            event.hand_over()


class HandOver(Event):
    """Event that brings a process one message, {sender: message}, or None.

    Parameters
    ----------
    hands : HandOvers
        Of the process's node.
    what, listener
        As of `Event`.

    Attributes
    ----------
    hands : HandOvers
    brought : Envelope or dict of int to Envelope or None
        What it brings, until it has handed it over.
    """

    def __init__(self, hands: HandOvers, what: str, listener: bool = False) -> None:
        self.env, self.what, self.listener = hands.clock, what, listener
        self.callbacks = [self._happen]
        self.hands = hands
        self.brought: Envelope | dict[int, Envelope] | None = None

    @property
    def num_brought(self) -> int:
        """Number of messages that it brings."""
        return len(self.brought) if isinstance(self.brought, dict) else self.brought is not None

    def note_listener(self) -> None:
        """Note that a process waits for it, if it is a listener."""
        if self.listener and self.hands.on_listening is not None:
            self.hands.on_listening()

    def bring(self, brought: Envelope | dict[int, Envelope] | None) -> None:
        """Let it happen at this instant."""
        self.brought = brought
        self.succeed()

    def _happen(self, _: simpy.Event) -> None:
        if self.hands.node in self.hands.off:
            self.hands.held[self] = None
        else:
            self.hand_over()

    def hand_over(self) -> None:
        """Make what it brings its value, for which its process comes."""
        node, now, brought = self.hands.node, self.hands.clock.now, self.brought
        if isinstance(brought, dict):
            got = sorted(brought.items())
            self._value = {i: envelope.handed_to(node, now) for i, envelope in got}
        elif brought is not None:
            self._value = brought.handed_to(node, now)
        self.brought = None


class Arrival(HandOver):
    """The event of `receive` and `gather`; a listener where it has no time-out."""


class _Waiter:
    """A process that waits for messages of one class: for one, or for one of each sender."""

    __slots__ = ("event", "got", "senders")

    def __init__(self, event: Arrival, senders: set[int] | None) -> None:
        self.event, self.senders = event, senders
        self.got: dict[int, Envelope] = {}

    def accepts(self, sender: int) -> bool:
        return self.senders is None or (sender in self.senders and sender not in self.got)


class Mailbox:
    """Messages of one node that have arrived, a queue for each message class.

    Parameters
    ----------
    hands : HandOvers
    streams : Streams
        Draws the "order in a mailbox" of messages of one instant.
    """

    def __init__(self, hands: HandOvers, streams: Streams) -> None:
        self._hands, self._streams = hands, streams
        self._id, self._env = hands.node, hands.clock
        # By class the messages that wait, each with the instant at which it came [ns].
        self._queues: dict[type, deque[tuple[int, Envelope]]] = {}
        self._waiters: dict[type, list[_Waiter]] = {}
        # Of the last instant at which a message came: whom `put` gave one, and draws by sender.
        self._instant_ns = -1
        self._given: dict[type, list[Arrival]] = {}
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

    def take_out(self, tag: tuple[type, int]) -> list[Envelope]:
        """Take out the messages of an exchange, in the order in which they came."""
        queue = self._queues.pop(tag[0], deque())
        if left := deque(came for came in queue if came[1].tag != tag):
            self._queues[tag[0]] = left
        return [envelope for _, envelope in queue if envelope.tag == tag]

    def receive(self, kind: type, timeout_ns: int | None) -> simpy.Event:
        """Event: the next message of this class as `Received`, or None after the time-out."""
        event = Arrival(self._hands, f"receive({kind.__name__})", timeout_ns is None)
        queue = self._queues.get(kind)
        if queue:
            event.bring(queue.popleft()[1])
        else:
            self._wait(kind, _Waiter(event, None), timeout_ns)
        return event

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
        event = Arrival(self._hands, f"gather({kind.__name__})", timeout_ns is None)
        waiter = _Waiter(event, set(senders))
        queue = self._queues.get(kind, deque())
        for came in list(queue):
            envelope = came[1]
            if waiter.accepts(envelope.src):
                queue.remove(came)
                waiter.got[envelope.src] = envelope
        if len(waiter.got) == len(set(senders)):
            event.bring(waiter.got)
        else:
            self._wait(kind, waiter, timeout_ns)
        return event

    def unread_count(self) -> int:
        """Messages in the queues, or that wait for the others of a `gather`, or a node off."""
        gathered = sum(len(w.got) for waiters in self._waiters.values() for w in waiters)
        queued = sum(len(q) for q in self._queues.values())
        return gathered + queued + self._hands.unread_count()

    def _wait(self, kind: type, waiter: _Waiter, timeout_ns: int | None) -> None:
        self._waiters.setdefault(kind, []).append(waiter)
        if timeout_ns is not None:
            # What comes at the very instant of a time-out has come in time.
            self._env.call_after(timeout_ns, self._give_up, kind, waiter, rank=LAST)

    def _give(self, kind: type, waiter: _Waiter, envelope: Envelope) -> None:
        event = waiter.event
        if waiter.senders is None:
            self._waiters[kind].remove(waiter)
            if kind in self._given:
                self._given[kind].append(event)
            else:
                self._given[kind] = [event]
            # The process goes on after the events of this instant that are planned already.
            event.bring(envelope)
            return
        waiter.got[envelope.src] = envelope
        if len(waiter.got) == len(waiter.senders):
            self._waiters[kind].remove(waiter)
            event.bring(waiter.got)

    def _queue(self, kind: type, envelope: Envelope) -> None:
        """Let a message wait, in a drawn order among those of this instant."""
        now, mine = self._env.now, envelope
        for event in self._given.get(kind, ()):
            theirs = event.brought
            if isinstance(theirs, Envelope) and self._goes_before(mine, theirs, envelope):
                event.brought, mine = mine, theirs
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
            waiter.event.bring(None if waiter.senders is None else waiter.got)
