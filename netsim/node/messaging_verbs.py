"""The messages of a node: sending, receiving, asking, serving, exchanging."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import simpy

from netsim.clock import then
from netsim.errors import ProtocolError
from netsim.links.link import ARRIVED, Transmission
from netsim.messaging.latest import Freshest
from netsim.messaging.mailbox import Mailbox, Stored
from netsim.messaging.message import Message, Received, handed_to, refs_in, sealed, size_bits
from netsim.node.adversary import Tampering
from netsim.node.request_reply import Probe, ProbeReply, Requests
from netsim.node.run_state import Context
from netsim.units import to_ns


class Messenger:
    """The messaging half of `netsim.node.node.Node`."""

    id: int
    round: int
    num_nodes: int
    role: str
    neighbours: tuple[int, ...]
    _ctx: Context

    @property
    @abstractmethod
    def peers(self) -> tuple[int, ...]:
        """Whom the node may talk to now."""

    def _init_messenger(self, malice: Tampering | None) -> None:
        self._mailbox = Mailbox(self._ctx.env)
        self._requests = Requests(self, self._ctx)
        self._freshest = Freshest()
        self._malice = malice
        self.serve(Probe, _answer_probe)

    def send(self, to: int, msg: Message) -> simpy.Event:
        """Send to one node; event: the outcome, or None where the link has no acknowledgements."""
        event = self._ctx.env.event()
        event.what = f"send({type(msg).__name__})"  # type: ignore[attr-defined]
        known = self._ctx.link.acknowledged

        def done(tx: Transmission, outcome: str, arrived: Any) -> None:
            self._ctx.nodes[to].deliver(tx, outcome, arrived)
            event.succeed(outcome if known else None)

        for tx in self.transmissions({to: msg}, done):
            self._ctx.link.unicast(tx)
        return event

    def broadcast(self, msg: Message, to: Iterable[int] | None = None) -> simpy.Event:
        """Send to several nodes in one airtime; event: {receiver: None} once it has ended.

        Over wired links it is one message each, and the event reports the outcomes.
        """
        ctx, event = self._ctx, self._ctx.env.event()
        receivers = self.peers if to is None else tuple(dict.fromkeys(to))
        if not receivers:
            return event.succeed({})
        outcomes: dict[int, str | None] = {}
        known = ctx.link.acknowledged and ctx.link.broadcast_acknowledged

        def done(tx: Transmission, outcome: str, arrived: Any) -> None:
            ctx.nodes[tx.dst].deliver(tx, outcome, arrived)
            outcomes[tx.dst] = outcome if known else None
            if len(outcomes) == len(receivers):
                event.succeed(outcomes)

        ctx.link.broadcast(self.transmissions(dict.fromkeys(receivers, msg), done))
        return event

    def receive(self, kind: type[Message], timeout_s: float | None) -> simpy.Event:
        """Event: the next message of a kind as `Received`, or None after `timeout_s`.

        `timeout_s = None` is for listener loops: a node that only listens is not waited for.
        """
        return self._mailbox.receive(kind, None if timeout_s is None else to_ns(timeout_s))

    def gather(
        self, kind: type[Message], senders: Collection[int], timeout_s: float | None
    ) -> simpy.Event:
        """Event: {sender: Received} of one message each, or of those that came in time."""
        return self._mailbox.gather(kind, senders, None if timeout_s is None else to_ns(timeout_s))

    def ask(
        self,
        to: int | Iterable[int],
        msg: Message,
        reply: type[Message],
        timeout_s: float,
        tries: int = 1,
    ) -> simpy.Event:
        """Pull: event {peer: Received} of the replies.

        Peers that have not answered after `timeout_s` are asked again, `tries` times in all.
        Replies that come later are dropped and counted.
        """
        peers = (to,) if isinstance(to, int) else tuple(to)
        return self._requests.ask(peers, msg, reply, timeout_s, tries)

    def serve(self, request: type[Message], handler: Callable[[Received[Any]], Any]) -> None:
        """Answer requests of a kind beside whatever else the node does.

        `handler(received)` returns the reply, or is a process that returns it.
        """
        self._requests.serve(request, handler)

    def exchange(
        self,
        msg: Message | Mapping[int, Message],
        to: Iterable[int] | None = None,
        expect: Iterable[int] | None = None,
        phase: int = 0,
        kind: type[Message] | None = None,
    ) -> simpy.Event:
        """Send and collect as the schedule says; event {peer: Received}.

        Under `rounds` it ends when every node has called it with the same message class and
        `phase` or has ended its round, and every message was delivered or given up, or at the
        deadline; peers whose message did not come are absent, and what comes later goes to
        `receive`. Under other schedules it ends at once with each peer's freshest message.

        Parameters
        ----------
        msg : Message or {peer: Message}
            One for all receivers, or one each.
        to, expect : iterable of int
            Receivers and senders; by default the peers, and whoever may ever send.
        kind : type
            The message class, needed only where nothing is sent.
        """
        ctx = self._ctx
        if isinstance(msg, Mapping):
            messages = dict(msg)
        else:
            messages = dict.fromkeys(self.peers if to is None else to, msg)
            kind = kind or type(msg)
        kind = kind or next((type(m) for m in messages.values()), None)
        if kind is None:
            raise ProtocolError("exchange: nothing is sent, so give kind=")
        senders = tuple(self.neighbours if expect is None else expect)
        tag: Any = (kind, phase)
        if ctx.barrier is not None:
            over, tag = ctx.barrier.join(self.id, kind, phase, senders)
            tag.in_flight += len(messages)
        group = self.transmissions(messages)
        for tx in group:
            tx.tag = tag
        ctx.link.unicasts(group)
        if ctx.barrier is not None:
            return self._handed(over)
        return ctx.env.event().succeed(self._freshest.take(tag, senders, ctx.env.now))

    def _handed(self, over: simpy.Event) -> simpy.Event:
        """The same event with its stored messages as `Received`."""

        def hand(event: simpy.Event) -> None:
            now = self._ctx.env.now
            event._value = {j: stored.handed(now) for j, stored in event._value.items()}

        return then(over, hand)

    # -- what the link and the engine call --------------------------------------------------------

    def transmissions(
        self,
        messages: Mapping[int, Message],
        done: Callable[[Transmission, str, Any], None] | None = None,
    ) -> list[Transmission]:
        """Messages {receiver: message} on their way, sizes counted and Refs checked.

        `done` is told what became of each; None: the receiver alone is.
        """
        nodes, now, group = self._ctx.nodes, self._ctx.env.now, []
        last: Message | None = None
        for to, msg in messages.items():
            if to == self.id or not 0 <= to < self.num_nodes:
                raise ProtocolError(f"node {self.id} can't send to node {to}")
            if msg is not last:  # the same for several receivers is packed once
                last, (packed, bits, carries_values) = msg, self._packed(msg)
            told = done or nodes[to].deliver
            group.append(
                Transmission(self.id, to, packed, bits, carries_values, self.round, now, told)
            )
        return group

    def _packed(self, msg: Message) -> tuple[Message, int, bool]:
        """A message as it leaves this node, its size in bits, and whether it holds any Ref."""
        ctx, msg = self._ctx, sealed(msg, self.id)
        if self._malice is not None:
            msg = self._malice.sent(msg)
        bits = size_bits(msg, ctx.parameter_bits, ctx.link.control_bits)
        return msg, bits, next(refs_in(msg), None) is not None

    def deliver(self, tx: Transmission, outcome: str, arrived: Any) -> None:
        """A transmission to this node has ended."""
        ctx, stored = self._ctx, None
        if outcome not in ARRIVED:
            pass
        elif self._malice is not None and self._ignores(tx):
            ctx.counts["messages_ignored"] += 1
            self._requests.without(tx)
        else:
            msg = handed_to(tx.message, self.id)
            ages = ctx.recorder.ages if tx.carries_values else None
            stored = Stored(msg, tx.src, tx.sent_ns, tx.round, arrived, ages)
        if ctx.barrier is not None:
            if tx.tag is not None:
                if ctx.barrier.resolved(tx.tag, self.id, stored, self._mailbox.put):
                    return
            else:
                ctx.barrier.look()
        if stored is None:
            return
        if tx.request is not None:
            self._requests.arrived(tx, stored)
        elif tx.tag is None or ctx.barrier is not None or self._only_listens(tx.tag):
            self._mailbox.put(stored)
        else:
            self._freshest.put(tx.tag, stored)

    def _ignores(self, tx: Transmission) -> bool:
        """Whether this node is malicious and takes no notice of a message; requests it answers."""
        asked = tx.request is not None and not tx.reply
        return self._malice is not None and not asked and self._malice.ignores(tx.message)

    def _only_listens(self, tag: Any) -> bool:
        """Whether the messages of an exchange in which the node takes no part are listened for."""
        return tag not in self._freshest.asked and self._mailbox.has_listener(tag[0])

    def unread(self) -> int:
        """Messages delivered that have not been handed to a process."""
        held = self._ctx.barrier.held(self.id) if self._ctx.barrier is not None else 0
        waiting = self._mailbox.unread() + self._requests.unread()
        return waiting + self._freshest.unseen() + held

    def superseded(self) -> int:
        """Messages of exchanges that nobody saw before a fresher one took their place."""
        return self._freshest.superseded


def _answer_probe(received: Received[Any]) -> ProbeReply:
    return ProbeReply()
