"""Sending, broadcasting, receiving, and exchanges as the schedule says."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import simpy

from netsim.clock import Clock
from netsim.errors import ProtocolError
from netsim.links.link import Link, Transmission
from netsim.messaging.barrier import Barrier
from netsim.messaging.latest import LatestMessages
from netsim.messaging.mailbox import Mailbox
from netsim.messaging.message import Message
from netsim.node.outbox import Delivery, Outbox
from netsim.units import to_ns

PATIENCE = 4
"""Multiple of the time on a quiet network after which replies count as lost."""

LEAST_PATIENCE_S = 1.0
"""The least that a time-out is by default [s]: what is short anyway may queue."""


class MessagingVerbs:
    """The verbs of one node that send and receive; `Node` documents them.

    Parameters
    ----------
    node_id : int
    clock : Clock
    link : Link
    barrier : Barrier or None
        Of the schedule `rounds`.
    outbox : Outbox
    deliveries : sequence of Delivery
        One a node, by id; they may be appended after this is made.
    mailbox : Mailbox
    latest : LatestMessages
        Messages of exchanges without a barrier.
    neighbours : tuple of int
        Whom the node may ever talk to.
    peers : callable
        Whom it may talk to now.
    model_bits : int
        Size of the node's model on the air [bit].
    """

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        link: Link,
        barrier: Barrier | None,
        outbox: Outbox,
        deliveries: Sequence[Delivery],
        mailbox: Mailbox,
        latest: LatestMessages,
        neighbours: tuple[int, ...],
        peers: Callable[[], tuple[int, ...]],
        model_bits: int,
    ) -> None:
        self._id, self._clock, self._link, self._barrier = node_id, clock, link, barrier
        self._outbox, self._deliveries = outbox, deliveries
        self._mailbox, self._latest = mailbox, latest
        self._neighbours, self._peers, self._model_bits = neighbours, peers, model_bits
        self.link_changed()

    def link_changed(self) -> None:
        """Read anew what the link tells senders, and how large empty messages are."""
        link = self._link
        self._outbox.link_changed()
        self._acknowledged = link.acknowledged
        self._broadcast_acknowledged = link.acknowledged and link.broadcast_acknowledged

    def send(self, to: int, msg: Message) -> simpy.Event:
        """See `Node.send`."""
        event = self._clock.pending(f"send({type(msg).__name__})")

        def done(tx: Transmission, outcome: str, arrived: Any) -> None:
            self._deliveries[to](tx, outcome, arrived)
            event.succeed(outcome if self._acknowledged else None)

        (tx,) = self._outbox.transmissions({to: msg}, done)
        self._link.unicast(tx)
        return event

    def broadcast(self, msg: Message, to: Iterable[int] | None) -> simpy.Event:
        """See `Node.broadcast`."""
        receivers = self._peers() if to is None else tuple(dict.fromkeys(to))
        if not receivers:
            return self._clock.happened({})
        event = self._clock.pending(f"broadcast({type(msg).__name__})")
        outcomes: dict[int, str | None] = {}

        def done(tx: Transmission, outcome: str, arrived: Any) -> None:
            self._deliveries[tx.dst](tx, outcome, arrived)
            outcomes[tx.dst] = outcome if self._broadcast_acknowledged else None
            if len(outcomes) == len(receivers):
                event.succeed(outcomes)

        group = self._outbox.transmissions(dict.fromkeys(receivers, msg), done)
        self._link.broadcast(group)
        return event

    def withdraw(self, kind: type[Message]) -> int:
        """See `Node.withdraw`."""
        return self._link.withdraw(self._id, kind)

    def patience_s(self, peers: Sequence[int]) -> float:
        """See `Node.patience_s`."""
        if not peers:
            return LEAST_PATIENCE_S
        link, me = self._link, self._id
        asked_s = link.collection_s((me,), peers[0], link.control_bits)
        answered_s = link.collection_s(peers, me, self._model_bits)
        return max(LEAST_PATIENCE_S, PATIENCE * (asked_s + answered_s))

    def receive(self, kind: type[Message], timeout_s: float | None) -> simpy.Event:
        """See `Node.receive`."""
        return self._mailbox.receive(kind, None if timeout_s is None else to_ns(timeout_s))

    def gather(
        self, kind: type[Message], senders: Collection[int], timeout_s: float | None
    ) -> simpy.Event:
        """See `Node.gather`."""
        return self._mailbox.gather(kind, senders, None if timeout_s is None else to_ns(timeout_s))

    def exchange(
        self,
        msg: Message | Mapping[int, Message],
        to: Iterable[int] | None,
        expect: Iterable[int] | None,
        phase: int,
        kind: type[Message] | None,
        max_age_s: float,
    ) -> simpy.Event:
        """See `Node.exchange`."""
        if isinstance(msg, Mapping):
            messages = dict(msg)
        else:
            messages = dict.fromkeys(self._peers() if to is None else to, msg)
            kind = kind or type(msg)
        kind = kind or next((type(m) for m in messages.values()), None)
        if kind is None:
            raise ProtocolError("exchange: nothing is sent, so give kind=")
        senders = self._neighbours if expect is None else tuple(expect)
        if self._barrier is not None:
            over, meeting = self._barrier.join(self._id, kind, phase, senders)
            meeting.in_flight += len(messages)
            self._send_all(messages, meeting)
            return over
        tag = (kind, phase)
        self._send_all(messages, tag)
        limit_ns = math.inf if math.isinf(max_age_s) else to_ns(max_age_s)
        return self._clock.happened(self._latest.take(tag, senders, self._clock.now, limit_ns))

    def _send_all(self, messages: Mapping[int, Message], tag: Any) -> None:
        """Send messages of one exchange."""
        self._link.unicasts(self._outbox.transmissions(messages, tag=tag))
