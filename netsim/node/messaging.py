"""Messages of a node: their departure, their arrival, questions and answers, and the verbs.

`Outbox` checks, seals and sizes what leaves; a malicious node forges it there. `Inbox` hands what
arrives to whoever waits for it: a request or a reply to the pending requests, a message of an
exchange to the barrier or, under schedules without one, to the latest messages of that exchange,
everything else to the mailbox. `RequestReply` asks peers and answers them, requests of one instant
in a random order; a reply carries its request's number, so a late one answers no new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import simpy

from netsim.clock import LAST, NORMAL, Clock, add_callback
from netsim.devices.availability import Availability
from netsim.errors import ProtocolError
from netsim.links.arrivals import Arrivals
from netsim.links.link import ARRIVED, Deliveries, Delivery, Link, Sending, Transmission
from netsim.messaging.barrier import Barrier
from netsim.messaging.latest_messages import LatestMessages
from netsim.messaging.mailbox import HandOver, HandOvers, Mailbox
from netsim.messaging.message import (
    Envelope,
    Message,
    Probe,
    ProbeReply,
    outgoing_message,
    refs_in,
    size_bits,
)
from netsim.node.adversary import Adversary
from netsim.node.process_guard import guarded_process, located_error, process_name
from netsim.node.wakeups import Wakeups
from netsim.recording.run_warnings import RunWarnings
from netsim.recording.uses import Fates, Uses
from netsim.rng import Streams
from netsim.units import to_ns, to_s

PATIENCE = 4
"""Multiple of the time on a quiet network after which replies count as lost."""

LEAST_PATIENCE_S = 1.0
"""The least that a time-out is by default [s]: what is short anyway may queue."""


class Outbox:
    """Maker of the transmissions of one node's messages; verbs hand them to the link.

    Parameters
    ----------
    node_id : int
    clock : Clock
    link : Link
        Says what an empty message takes on it [bits].
    parameter_bits : int
        Bits of one tensor entry or real number.
    wakeups : Wakeups
        Knows the node's round, which every message bears.
    deliveries : Deliveries
        One a node, by id; they may be appended after this outbox is made.
    num_nodes : int
    uses : Uses
        Records what becomes of values that leave.
    adversary : Adversary or None
        What forges the messages of a malicious node.
    neighbours : collection of int
        Nodes to which the topology has a link.
    warnings : RunWarnings
        Where messages to other nodes are told of; answers excepted.

    Attributes
    ----------
    sent : int
        Transmissions so far, one for each receiver of a message.
    """

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        link: Link,
        parameter_bits: int,
        wakeups: Wakeups,
        deliveries: Deliveries,
        num_nodes: int,
        uses: Uses,
        adversary: Adversary | None,
        neighbours: Collection[int],
        warnings: RunWarnings,
    ) -> None:
        self._id, self._clock, self._link = node_id, clock, link
        self._neighbours, self._warnings = frozenset(neighbours), warnings
        self._parameter_bits = parameter_bits
        self.link_changed()
        self._wakeups, self._deliveries, self._num_nodes = wakeups, deliveries, num_nodes
        self._uses, self._adversary, self.sent = uses, adversary, 0

    def link_changed(self) -> None:
        """Read anew what an empty message takes on the link."""
        self._control_bits = self._link.control_bits

    def transmissions(
        self, messages: Mapping[int, Message], done: Delivery | None = None, **marks: Any
    ) -> list[Transmission]:
        """Transmissions of messages that start now, for a link to carry.

        Parameters
        ----------
        messages : mapping of int to Message
            By receiver.
        done : callable or None
            Called once for each at its end, and has to deliver it then; None: the receiver's
            delivery is called.
        **marks
            `tag`, `request`, `reply` and `patience_ns` of their envelopes.

        Raises
        ------
        ProtocolError
            If a receiver is no other node, or a message can't be sent.
        """
        return [
            Transmission(envelope, to, done or self._deliveries[to])
            for envelope, receivers in self.sendings(messages, **marks)
            for to in receivers
        ]

    def sendings(self, messages: Mapping[int, Message], **marks: Any) -> list[Sending]:
        """Messages as they leave this node, each with its receivers; as `transmissions` has it."""
        found: list[Sending] = []
        receivers: list[int] = []
        last: Message | None = None
        for to, msg in messages.items():
            is_id = type(to) is int or isinstance(to, np.integer)
            if not is_id or to == self._id or not 0 <= to < self._num_nodes:
                raise ProtocolError(f"node {self._id} can't send to node {to!r}")
            if to not in self._neighbours and "reply" not in marks:
                text = f"sends {type(msg).__name__} to node {to}, to which [topology] has no link"
                self._warnings.of_node("no neighbour", self._id, to_s(self._clock.now), text)
            if msg is not last:  # the same for several receivers is packed once
                last, receivers = msg, []
                found.append((self.make_envelope(msg, **marks), receivers))
            receivers.append(to)
        self.sent += len(messages)
        return found

    def make_envelope(self, msg: Message, **marks: Any) -> Envelope:
        """A message as it leaves this node; `marks` as of `transmissions`."""
        now_ns, (msg, refs) = self._clock.now, outgoing_message(msg, self._id)
        if self._adversary is not None:
            msg = self._adversary.forge_message(msg)
            refs = list(refs_in(msg))
        for ref in refs:
            if ref.bringer is not None:
                self._uses.read(self._id, (ref,), now_ns, "send")
        bits = size_bits(msg, self._parameter_bits, self._control_bits)
        fates = Fates(self._uses, self._id, type(msg).__name__, now_ns) if refs else None
        return Envelope(msg, self._id, bits, self._wakeups.round, now_ns, fates, **marks)

    def to_peers(self, msg: Message, peers: Sequence[int], tag: Any) -> list[Sending]:
        """One message of an exchange as it leaves for all peers; see `transmissions`.

        Parameters
        ----------
        msg, peers, tag
            The message, whom it goes to (one or more), and the key of the exchange.
        """
        self.sent += len(peers)
        return [(self.make_envelope(msg, tag=tag), peers)]


@dataclass(eq=False)
class _Pending:
    """One `ask` under way."""

    event: HandOver
    peers: tuple[int, ...]
    reply: type[Message]
    tries_left: int
    got: dict[int, Envelope] = field(default_factory=dict)


class RequestReply:
    """Requests and answers of one node.

    Parameters
    ----------
    hands : HandOvers
    role : str
    link : Link
    outbox : Outbox
    availability : Availability
        A node that is off asks nobody; its handlers pause.
    counts : Counter
        Where late replies are counted.
    streams : Streams
    """

    def __init__(
        self,
        hands: HandOvers,
        role: str,
        link: Link,
        outbox: Outbox,
        availability: Availability,
        counts: Counter[str],
        streams: Streams,
    ) -> None:
        self._hands, self._role = hands, role
        self._id, self._clock = hands.node, hands.clock
        self._requests = Arrivals(self._clock, streams, self._answer, NORMAL)
        self._link, self._outbox = link, outbox
        self._availability, self._counts = availability, counts
        self._handlers: dict[type, Callable[[Any], Any]] = {}
        self._pending: dict[int, _Pending] = {}
        self._number = 0
        self.serve(Probe, lambda _: ProbeReply())

    # -- verbs -----------------------------------------------------------------------------------

    def serve(self, request: type[Message], handler: Callable[[Any], Any]) -> None:
        """See `Node.serve`."""
        if request in self._handlers:
            raise ProtocolError(f"node {self._id} serves {request.__name__} already")
        self._handlers[request] = handler

    def ask(
        self,
        peers: Sequence[int],
        msg: Message,
        reply: type[Message],
        timeout_s: float,
        tries: int = 1,
        broadcast: bool = False,
    ) -> simpy.Event:
        """Ask several peers; see `Node.ask`.

        Parameters
        ----------
        peers, msg, reply, timeout_s, tries
            As of `Node.ask`.
        broadcast : bool
            Whether the request goes out in one broadcast instead of one unicast each.
        """
        peers = tuple(dict.fromkeys(peers))
        if not peers:
            return self._clock.triggered_event({})
        event = HandOver(self._hands, f"replies to {type(msg).__name__}")
        number = self._number = self._number + 1
        self._pending[number] = _Pending(event, peers, reply, tries)
        self._attempt(number, msg, to_ns(timeout_s), broadcast)
        return event

    def probe(self, peers: Sequence[int], window_s: float) -> simpy.Event:
        """Event: ids of the peers whose reply to a broadcast was decoded within `window_s`."""
        answered = self.ask(peers, Probe(), ProbeReply, window_s, broadcast=True)
        event = self._clock.new_event("replies to Probe")
        add_callback(answered, lambda e: event.succeed(sorted(e.value or ())))
        return event

    # -- what the inbox calls --------------------------------------------------------------------

    def take_in(self, envelope: Envelope) -> None:
        """Take in a request or a reply that has been delivered to this node."""
        assert envelope.request is not None
        number, src = envelope.request[1], envelope.src
        if not envelope.reply:
            self._requests.add(src, (self._id,), envelope)
        elif number in self._pending and src not in self._pending[number].got:
            pending = self._pending[number]
            if not isinstance(envelope.message, pending.reply):
                raise ProtocolError(
                    f"node {src} answered with {type(envelope.message).__name__} at "
                    f"{to_s(self._clock.now):g} s, "
                    f"node {self._id} asked for {pending.reply.__name__}"
                )
            pending.got[src] = envelope
            if len(pending.got) == len(pending.peers):
                self._close(number)
        else:
            self._counts["late_replies"] += 1
            if envelope.fates is not None:
                envelope.fates.came_late(self._id)

    def ignore_reply(self, envelope: Envelope) -> None:
        """Ignore a reply that has come: go on without it rather than ask again."""
        if envelope.request is None or envelope.request[1] not in self._pending:
            return
        pending = self._pending[envelope.request[1]]
        pending.peers = tuple(j for j in pending.peers if j != envelope.src)
        if len(pending.got) == len(pending.peers):
            self._close(envelope.request[1])

    def unread_count(self) -> int:
        """Replies that wait for the others of their request."""
        return sum(len(pending.got) for pending in self._pending.values())

    # -- asking ----------------------------------------------------------------------------------

    def _attempt(self, number: int, msg: Message, timeout_ns: int, broadcast: bool) -> None:
        """Ask those who have not answered, unless all have; give up after the last try."""
        pending = self._pending.get(number)
        if pending is None:
            return
        if pending.tries_left == 0:
            self._close(number)
            return
        pending.tries_left -= 1
        if self._id not in self._availability.off:  # a try that falls into a pause is lost
            self._send(number, msg, timeout_ns, broadcast)
        # A reply that comes at the very instant of the time-out has come in time.
        again = number, msg, timeout_ns, broadcast
        self._clock.call_after(timeout_ns, self._attempt, *again, rank=LAST)

    def _send(self, number: int, msg: Message, patience_ns: int, broadcast: bool) -> None:
        """Ask those peers of a request that have not answered."""
        pending = self._pending[number]
        missing = [j for j in pending.peers if j not in pending.got]
        messages, request = dict.fromkeys(missing, msg), (self._id, number)
        group = self._outbox.transmissions(messages, request=request, patience_ns=patience_ns)
        if broadcast:
            self._link.broadcast(group)
        else:
            for tx in group:
                self._link.unicast(tx)

    def _close(self, number: int) -> None:
        pending = self._pending.pop(number)
        pending.event.bring(pending.got)

    # -- answering -------------------------------------------------------------------------------

    def _answer(self, asked: Envelope) -> None:
        clock, me, kind = self._clock, self._id, type(asked.message)
        if kind not in self._handlers:
            raise ProtocolError(
                f"node {asked.src} asked node {me} (role {self._role}) at "
                f"{to_s(clock.now):g} s for {kind.__name__}, which it does not serve"
            )
        handler = self._handlers[kind]
        name = process_name(handler)
        try:
            result = handler(asked.handed_to(me, clock.now))
            if not isinstance(result, Generator):
                self._reply(asked, result)
                return
        except Exception as error:
            raise located_error(error, clock.now, me, name) from error
        later = self._reply_later(asked, result)
        clock.process(guarded_process(self._availability, me, later, name))

    def _reply_later(
        self, asked: Envelope, result: Generator[simpy.Event, Any, Any]
    ) -> Generator[simpy.Event, Any, None]:
        self._reply(asked, (yield from result))

    def _reply(self, asked: Envelope, msg: Message | None) -> None:
        if msg is None:
            return
        if not isinstance(msg, Message):
            raise ProtocolError(f"a reply is a Message or None, not {type(msg).__name__}")
        to = {asked.src: msg}
        for tx in self._outbox.transmissions(to, request=asked.request, reply=True):
            self._link.unicast(tx)


class Inbox:
    """Messages that have arrived at one node.

    Parameters
    ----------
    node_id : int
    barrier : Barrier or None
        Of the schedule `rounds`.
    mailbox : Mailbox
    latest : LatestMessages
        Messages of exchanges without a barrier.
    requests : RequestReply
    adversary : Adversary or None
        What lets a malicious node ignore messages.
    counts : Counter
        Where messages ignored are counted.
    """

    def __init__(
        self,
        node_id: int,
        barrier: Barrier | None,
        mailbox: Mailbox,
        latest: LatestMessages,
        requests: RequestReply,
        adversary: Adversary | None,
        counts: Counter[str],
    ) -> None:
        self._id, self._barrier = node_id, barrier
        self._mailbox, self._latest, self._requests = mailbox, latest, requests
        self._adversary, self._counts = adversary, counts

    def deliver(self, tx: Transmission, outcome: str, arrived: Any) -> None:
        """Take in a transmission to this node that has ended.

        Parameters
        ----------
        tx : Transmission
        outcome : str
        arrived : numpy.ndarray of bool or None
            Which packets arrived, of a partial message.
        """
        barrier, envelope, sent = self._barrier, None, tx.envelope
        tag = sent.tag
        if outcome in ARRIVED:
            if self._adversary is not None and self._ignores(sent, self._adversary):
                self._counts["messages_ignored"] += 1
                if sent.fates is not None:
                    sent.fates.settle(self._id, "ignored")
                self._requests.ignore_reply(sent)
            else:
                envelope = sent if arrived is None else sent.in_part(arrived)
        if barrier is not None:
            if tag is None:
                barrier.recheck()
            elif barrier.resolve_message(tag, self._id, envelope, self._mailbox.put):
                return
        if envelope is None:
            return
        if tag is not None and barrier is not None and envelope.fates is not None:
            envelope.fates.came_late(self._id)
        if envelope.request is not None:
            self._requests.take_in(envelope)
        elif barrier is None and tag in self._latest.exchanges:
            self._latest.put(envelope)
        else:  # messages of an exchange, too, in which the node takes no part itself
            self._mailbox.put(envelope)

    def unread_count(self) -> int:
        """Messages delivered that have not been handed to a process."""
        held = 0 if self._barrier is None else self._barrier.held_count(self._id)
        waiting = self._mailbox.unread_count() + self._requests.unread_count()
        return waiting + self._latest.unseen_count() + held

    def superseded_count(self) -> int:
        """Messages of exchanges that no process saw before a later one took their place."""
        return self._latest.superseded_count

    def _ignores(self, envelope: Envelope, adversary: Adversary) -> bool:
        """Return whether this node drops a message; it answers requests."""
        asked = envelope.request is not None and not envelope.reply
        return not asked and adversary.ignores(envelope.message)


class MessagingVerbs:
    """The verbs of one node that send and receive; `Node` documents them.

    Parameters
    ----------
    hands : HandOvers
    link : Link
    barrier : Barrier or None
        Of the schedule `rounds`.
    outbox : Outbox
    deliveries : Deliveries
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
        hands: HandOvers,
        link: Link,
        barrier: Barrier | None,
        outbox: Outbox,
        deliveries: Deliveries,
        mailbox: Mailbox,
        latest: LatestMessages,
        neighbours: tuple[int, ...],
        peers: Callable[[], tuple[int, ...]],
        model_bits: int,
    ) -> None:
        self._hands, self._id, self._clock = hands, hands.node, hands.clock
        self._link, self._barrier = link, barrier
        self._outbox, self._deliveries = outbox, deliveries
        self._mailbox, self._latest = mailbox, latest
        self._neighbours, self._peers, self._model_bits = neighbours, peers, model_bits

    def link_changed(self) -> None:
        """Read again the size of empty messages on the link."""
        self._outbox.link_changed()

    def _carrier(self, to: int) -> Link:
        """The link that carries messages to a node."""
        return self._link.between(self._id, to) if self._link.has_parts else self._link

    def send(self, to: int, msg: Message) -> simpy.Event:
        """See `Node.send`."""
        link = self._carrier(to)

        def done(tx: Transmission, outcome: str, arrived: Any) -> None:
            self._deliveries[to](tx, outcome, arrived)
            event.succeed(outcome if link.acknowledged else None)

        (tx,) = self._outbox.transmissions({to: msg}, done)
        event = self._clock.new_event(f"send({type(msg).__name__})")
        self._link.unicast(tx)
        return event

    def broadcast(self, msg: Message, to: Iterable[int] | None) -> simpy.Event:
        """See `Node.broadcast`."""
        receivers = self._peers() if to is None else tuple(dict.fromkeys(to))
        if not receivers:
            return self._clock.triggered_event({})
        event = self._clock.new_event(f"broadcast({type(msg).__name__})")
        outcomes: dict[int, str | None] = {}

        def done(tx: Transmission, outcome: str, arrived: Any) -> None:
            self._deliveries[tx.dst](tx, outcome, arrived)
            link = self._carrier(tx.dst)
            told = link.acknowledged and link.broadcast_acknowledged
            outcomes[tx.dst] = outcome if told else None
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
        first, me, collection_s = peers[0], self._id, self._link.collection_s
        asked_s = collection_s((me,), first, self._carrier(first).control_bits)
        answered_s = collection_s(peers, me, self._model_bits)
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
        messages: dict[int, Message] = {}
        peers: tuple[int, ...] = ()
        if not isinstance(msg, Message) and isinstance(msg, Mapping):
            messages = dict(msg)
            kind = kind or next((type(m) for m in messages.values()), None)
            if kind is None:
                raise ProtocolError("exchange: nothing is sent, so give kind=")
        else:
            kind = kind or type(msg)
            if to is None:
                peers = self._peers()
            else:
                messages = dict.fromkeys(to, msg)
        senders = self._neighbours if expect is None else tuple(expect)
        tag: Any = (kind, phase)
        if self._barrier is not None:
            over, tag = self._barrier.join(self._hands, kind, phase, senders)
            tag.in_flight += len(messages) + len(peers)
        if peers:
            sendings = self._outbox.to_peers(msg, peers, tag)  # type: ignore[arg-type]
        else:
            sendings = self._outbox.sendings(messages, tag=tag)
        self._link.exchange(sendings, self._deliveries)
        if self._barrier is not None:
            return over
        now, limit_ns = self._clock.now, to_ns(max_age_s)
        return self._clock.triggered_event(self._latest.take(tag, senders, now, limit_ns))
