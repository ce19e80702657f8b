"""Hand-over of messages to the processes of a node, at the instant at which these go on.

What a process waits for may come true while its node is off: time-outs run on, and rounds end. Its
messages stay unread until the node is on again; only then does the process have them, and they the
age of that instant.
"""

from __future__ import annotations

from collections.abc import Callable, Set

import simpy

from netsim.clock import Clock, Event, add_callback
from netsim.messaging.message import Envelope


class Hands:
    """One node's side of every hand-over.

    Parameters
    ----------
    node : int
    clock : Clock
    off : set of int
        Nodes that are off.
    event_when_on : callable
        (node) -> event: a node that is off is on again.

    Attributes
    ----------
    held : set of HandOver
        Those that have come true while the node is off.
    on_listening : callable or None
        Called when a process begins to listen: nothing may wait for the node any longer.
    """

    def __init__(
        self,
        node: int,
        clock: Clock,
        off: Set[int] = frozenset(),
        event_when_on: Callable[[int], simpy.Event] | None = None,
    ) -> None:
        self.node, self.clock, self.off = node, clock, off
        self.event_when_on = event_when_on
        self.held: set[HandOver] = set()
        self.on_listening: Callable[[], object] | None = None

    def unread_count(self) -> int:
        """Messages that wait for the node to be on."""
        return sum(event.num_brought for event in self.held)


class HandOver(Event):
    """Event that brings a process one message, {sender: message}, or None.

    Parameters
    ----------
    hands : Hands
        Of the process's node.
    what, listener
        As of `Event`.

    Attributes
    ----------
    hands : Hands
    brought : Envelope or dict of int to Envelope or None
        What it brings, until it has handed it over.
    """

    def __init__(self, hands: Hands, what: str, listener: bool = False) -> None:
        self.env, self.what, self.listener = hands.clock, what, listener
        self.callbacks = [self._hand_over]
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

    def _hand_over(self, _: simpy.Event) -> None:
        """Make what it brings its value, for which its process comes when its node is on."""
        hands, brought = self.hands, self.brought
        node, now = hands.node, hands.clock.now
        if node in hands.off:
            assert hands.event_when_on is not None
            hands.held.add(self)
            add_callback(hands.event_when_on(node), self._hand_over)
            return
        hands.held.discard(self)
        if isinstance(brought, dict):
            got = sorted(brought.items())
            self._value = {i: envelope.handed_to(node, now) for i, envelope in got}
        elif brought is not None:
            self._value = brought.handed_to(node, now)
        self.brought = None
