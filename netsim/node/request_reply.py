"""Pull: asking peers and answering them.

A reply carries its request's number, so a late one can't be taken for the answer to a new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import simpy

from netsim.clock import Clock, Event, then
from netsim.devices.availability import Availability
from netsim.errors import ProtocolError
from netsim.links.link import Link
from netsim.messaging.message import Envelope, Message, Received
from netsim.node.outbox import Outbox
from netsim.node.process_guard import guarded_process, located_error, process_name
from netsim.units import to_ns, to_s


@dataclass(frozen=True)
class Probe(Message):
    """Request to every node that hears it: the broadcast of `discovery = "probe"`."""


@dataclass(frozen=True)
class ProbeReply(Message):
    """The answer to a probe."""


@dataclass(eq=False)
class _Pending:
    """One `ask` under way."""

    event: Event
    peers: tuple[int, ...]
    reply: type[Message]
    tries_left: int
    got: dict[int, Envelope] = field(default_factory=dict)


class RequestReply:
    """Requests and answers of one node.

    Parameters
    ----------
    node_id : int
    role : str
    clock : Clock
    link : Link
    outbox : Outbox
    availability : Availability
        A node that is off asks nobody; its handlers pause.
    counts : Counter
        Where late replies are counted.
    """

    def __init__(
        self,
        node_id: int,
        role: str,
        clock: Clock,
        link: Link,
        outbox: Outbox,
        availability: Availability,
        counts: Counter[str],
    ) -> None:
        self._id, self._role = node_id, role
        self._clock, self._link, self._outbox = clock, link, outbox
        self._availability, self._counts = availability, counts
        self._handlers: dict[type, Callable[[Any], Any]] = {}
        self._pending: dict[int, _Pending] = {}
        self._number = 0
        self.serve(Probe, _answer_probe)

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
        peers : sequence of int
        msg : Message
            The request.
        reply : type
            The class of the replies.
        timeout_s : float
            Time to wait in each try [s].
        tries : int
        broadcast : bool
            Whether the request goes out in one broadcast instead of one unicast each.
        """
        peers = tuple(dict.fromkeys(peers))
        if not peers:
            return self._clock.happened({})
        event = self._clock.pending(f"replies to {type(msg).__name__}")
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
            if self._id not in self._availability.off:  # a try that falls into a pause is lost
                self._send(number, msg, to_ns(timeout_s), broadcast)
            self._clock.after(to_ns(timeout_s), attempt)

        attempt()
        return event

    def probe(self, peers: Sequence[int], window_s: float) -> simpy.Event:
        """Event: ids of the peers whose reply to a broadcast was decoded within `window_s`."""
        answered = self.ask(peers, Probe(), ProbeReply, window_s, broadcast=True)
        event = self._clock.pending("replies to Probe")
        then(answered, lambda e: event.succeed(sorted(e.value or ())))
        return event

    # -- what the inbox calls --------------------------------------------------------------------

    def arrived(self, envelope: Envelope) -> None:
        """A request or a reply has been delivered to this node."""
        assert envelope.request is not None
        number, src = envelope.request[1], envelope.src
        if not envelope.reply:
            self._answer(envelope)
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
            envelope.came_late(self._id)

    def without(self, envelope: Envelope) -> None:
        """A reply that has come is ignored: go on without it rather than ask again."""
        if envelope.request is None or envelope.request[1] not in self._pending:
            return
        pending = self._pending[envelope.request[1]]
        pending.peers = tuple(j for j in pending.peers if j != envelope.src)
        if len(pending.got) == len(pending.peers):
            self._close(envelope.request[1])

    def unread(self) -> int:
        """Replies that wait for the others of their request."""
        return sum(len(pending.got) for pending in self._pending.values())

    # -- asking ----------------------------------------------------------------------------------

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
        me, now = self._id, self._clock.now
        got = sorted(pending.got.items())
        pending.event.succeed({j: envelope.handed_to(me, now) for j, envelope in got})

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


def _answer_probe(received: Received[Any]) -> ProbeReply:
    return ProbeReply()
