"""Pull: asking peers and answering them.

A reply carries its request's number, so a late one can't be taken for the answer to a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import simpy

from netsim.clock import then
from netsim.errors import ProtocolError
from netsim.links.link import Transmission
from netsim.messaging.mailbox import Stored
from netsim.messaging.message import Message
from netsim.node.process_guard import blamed, name_of, named
from netsim.node.run_state import Context
from netsim.units import to_ns, to_s

if TYPE_CHECKING:
    from netsim.node.messaging_verbs import Messenger


@dataclass(frozen=True)
class Probe(Message):
    """Whoever hears this is in reach."""


@dataclass(frozen=True)
class ProbeReply(Message):
    """The answer to a probe."""


@dataclass(eq=False)
class _Pending:
    """One `ask` under way."""

    event: simpy.Event
    peers: tuple[int, ...]
    reply: type[Message]
    tries_left: int
    got: dict[int, Stored] = field(default_factory=dict)


class Requests:
    """The asking and serving half of one node."""

    def __init__(self, node: Messenger, ctx: Context) -> None:
        self._node, self._ctx = node, ctx
        self._handlers: dict[type, Callable[[Any], Any]] = {}
        self._pending: dict[int, _Pending] = {}
        self._number = 0

    def serve(self, request: type[Message], handler: Callable[[Any], Any]) -> None:
        """Register the handler of a kind of request."""
        if request in self._handlers:
            raise ProtocolError(f"node {self._node.id} serves {request.__name__} already")
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
        """Event: {peer: Received}."""
        event = self._ctx.env.event()
        event.what = f"replies to {type(msg).__name__}"  # type: ignore[attr-defined]
        peers = tuple(dict.fromkeys(peers))
        if not peers:
            return event.succeed({})
        self._number += 1
        number, pending = self._number, _Pending(event, peers, reply, tries)
        self._pending[number] = pending

        def attempt() -> None:
            if event.triggered:
                return
            if pending.tries_left == 0:
                self._close(number)
                return
            pending.tries_left -= 1
            if self._node.id not in self._ctx.power.off:  # a try that falls into a pause is lost
                self._send(number, msg, to_ns(timeout_s), broadcast)
            self._ctx.env.after(to_ns(timeout_s), attempt)

        attempt()
        return event

    def _send(self, number: int, msg: Message, patience_ns: int, broadcast: bool) -> None:
        """Ask those peers of a request that have not answered."""
        pending, link = self._pending[number], self._ctx.link
        missing = [j for j in pending.peers if j not in pending.got]
        group = self._node.transmissions(dict.fromkeys(missing, msg))
        for tx in group:
            tx.request, tx.patience_ns = (self._node.id, number), patience_ns
        if broadcast:
            link.broadcast(group)
        else:
            for tx in group:
                link.unicast(tx)

    def probe(self, peers: Sequence[int], window_s: float) -> simpy.Event:
        """Event: ids of the peers whose reply to a broadcast was decoded within `window_s`."""
        answered = self.ask(peers, Probe(), ProbeReply, window_s, broadcast=True)
        event = self._ctx.env.event()
        then(answered, lambda e: event.succeed(sorted(e.value or ())))
        return event

    def arrived(self, tx: Transmission, stored: Stored) -> None:
        """A request or a reply has been delivered to this node."""
        assert tx.request is not None
        number = tx.request[1]
        if not tx.reply:
            self._answer(tx, stored)
        elif number in self._pending and tx.src not in self._pending[number].got:
            pending = self._pending[number]
            if not isinstance(stored.msg, pending.reply):
                raise ProtocolError(
                    f"node {tx.src} answered with {type(stored.msg).__name__} at "
                    f"{to_s(self._ctx.env.now):g} s, "
                    f"node {self._node.id} asked for {pending.reply.__name__}"
                )
            pending.got[tx.src] = stored
            if len(pending.got) == len(pending.peers):
                self._close(number)
        else:
            self._ctx.counts["late_replies"] += 1

    def without(self, tx: Transmission) -> None:
        """A reply that has come is ignored: go on without it rather than ask again."""
        if tx.request is None or tx.request[1] not in self._pending:
            return
        pending = self._pending[tx.request[1]]
        pending.peers = tuple(j for j in pending.peers if j != tx.src)
        if len(pending.got) == len(pending.peers):
            self._close(tx.request[1])

    def unread(self) -> int:
        """Replies that wait for the others of their request."""
        return sum(len(pending.got) for pending in self._pending.values())

    def _close(self, number: int) -> None:
        pending = self._pending.pop(number)
        now = self._ctx.env.now
        got = sorted(pending.got.items())
        pending.event.succeed({j: stored.handed(now) for j, stored in got})

    def _answer(self, tx: Transmission, stored: Stored) -> None:
        env, node, kind = self._ctx.env, self._node, type(stored.msg)
        if kind not in self._handlers:
            raise ProtocolError(
                f"node {tx.src} asked node {node.id} (role {node.role}) at {to_s(env.now):g} s for "
                f"{kind.__name__}, which it does not serve"
            )
        handler = self._handlers[kind]
        try:
            result = handler(stored.handed(env.now))
            if not isinstance(result, Generator):
                self._reply(tx, result)
                return
        except Exception as error:
            raise blamed(env, node.id, name_of(handler), error) from error
        env.process(
            named(self._ctx.power, node.id, self._reply_later(tx, result), name_of(handler))
        )

    def _reply_later(
        self, tx: Transmission, result: Generator[simpy.Event, Any, Any]
    ) -> Generator[simpy.Event, Any, None]:
        self._reply(tx, (yield from result))

    def _reply(self, tx: Transmission, msg: Message | None) -> None:
        if msg is None:
            return
        if not isinstance(msg, Message):
            raise ProtocolError(f"a reply is a Message or None, not {type(msg).__name__}")
        for reply in self._node.transmissions({tx.src: msg}):
            reply.request, reply.reply = tx.request, True
            self._ctx.link.unicast(reply)
