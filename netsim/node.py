"""A node as its algorithm sees it: time, peers, messages; learning is in `compute.learner`.

Every verb returns a SimPy event; `yield` on it is the only way virtual time passes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from typing import Any, cast
from weakref import WeakKeyDictionary

import simpy

from netsim.clock import LAST, then
from netsim.clock import Clock as VirtualClock
from netsim.compute.learner import Learner
from netsim.context import Context
from netsim.errors import ProtocolError
from netsim.exchange import Wake
from netsim.freshest import Freshest
from netsim.links.link import ARRIVED, Transmission
from netsim.mailbox import Mailbox, Stored
from netsim.message import Message, Received, handed_to, sealed, size_bits
from netsim.requests import Probe, ProbeReply, Requests
from netsim.tampering import Tampering
from netsim.units import to_ns, to_s

Process = Generator[simpy.Event, Any, Any]


class _Progress:
    """How far one process has come: the last slot and wake-up that it was given."""

    __slots__ = ("slot", "wake")

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.wake = 0


class Condition:
    """Lets processes of one node wait for each other."""

    def __init__(self, env: VirtualClock) -> None:
        self._env = env
        self._waiting: list[simpy.Event] = []

    def wait(self) -> simpy.Event:
        """Event: somebody notifies after now."""
        event = self._env.event()
        event.what = "a condition"  # type: ignore[attr-defined]
        self._waiting.append(event)
        return event

    def notify(self) -> None:
        """Wake every process that waits."""
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            event.succeed()


class Node(Learner):
    """One node.

    Attributes
    ----------
    id : int
    role : str
    peers : tuple of int
        Its neighbours in the topology.
    num_nodes : int
    round : int
        Number of its last wake-up.
    """

    def __init__(self, node_id: int, ctx: Context) -> None:
        self.id = node_id
        self._ctx = ctx
        self.role = ctx.roles[node_id]
        self.peers = ctx.neighbours[node_id]
        self.num_nodes = len(ctx.roles)
        self.round = 0
        self._mailbox = Mailbox(ctx.env)
        self._requests = Requests(self, ctx)
        self._freshest = Freshest()
        self._progress: WeakKeyDictionary[Any, _Progress] = WeakKeyDictionary()
        self._draws: dict[str, int] = defaultdict(int)
        self._malice = Tampering(self, ctx) if node_id in ctx.malicious else None
        self._init_learner()
        self.serve(Probe, _answer_probe)

    # -- time ------------------------------------------------------------------------------------

    @property
    def now_s(self) -> float:
        """Virtual time."""
        return to_s(self._ctx.env.now)

    @property
    def schedule(self) -> str:
        """Name of the exchange schedule."""
        return str(self._ctx.schedule.schedule)  # type: ignore[attr-defined]

    @property
    def slots_per_exchange(self) -> int | None:
        """The paper's T_ex under `star`; None under other schedules."""
        return getattr(self._ctx.schedule, "slots_per_exchange", None)

    def _mine(self) -> _Progress:
        process = self._ctx.env.active_process
        if process not in self._progress:
            self._progress[process] = _Progress(self._ctx.env.now // self._ctx.slot_ns)
        return self._progress[process]

    def wakeup(self) -> simpy.Event:
        """Event: `Wake(round, slot)`, the node's next wake-up under the schedule.

        Clocks are absolute: wake-ups that fell into other work are skipped and logged. Calling
        this again ends the node's round.
        """
        ctx, mine = self._ctx, self._mine()
        if ctx.barrier is not None:
            event = ctx.barrier.wakeup(self.id)
            return then(event, lambda e: self._note_slot(mine, cast(Wake, e.value)))
        assert ctx.clock is not None
        time_ns, number = ctx.clock.next_wakeup(self.id, mine.wake)
        while time_ns < ctx.env.now:
            ctx.recorder.wake(time_ns, self.id, number, "skipped")
            ctx.counts["wakeups_skipped"] += 1
            time_ns, number = ctx.clock.next_wakeup(self.id, number)
        mine.wake = number
        wake = Wake(number, time_ns // ctx.slot_ns)
        event = ctx.env.timeout(time_ns - ctx.env.now, wake)

        def woke(_: simpy.Event) -> None:
            self._note_slot(mine, wake)
            self.started(wake)

        return then(event, woke)

    def started(self, wake: Wake) -> None:
        """A round of this node starts."""
        self.round = wake.round
        self._ctx.recorder.wake(self._ctx.env.now, self.id, wake.round, "woke")

    @staticmethod
    def _note_slot(mine: _Progress, wake: Wake) -> None:
        mine.slot = wake.slot

    def tick(self) -> simpy.Event:
        """Event: number of the next slot, at its start."""
        ctx, mine = self._ctx, self._mine()
        slot = max(mine.slot + 1, -(-ctx.env.now // ctx.slot_ns))
        mine.slot = slot
        # What else happens at this instant, instantaneous exchanges included, comes first.
        return ctx.env.due(slot * ctx.slot_ns - ctx.env.now, LAST, slot)

    def sleep(self, duration_s: float) -> simpy.Event:
        """Event: so many seconds have passed."""
        return self._ctx.env.timeout(to_ns(duration_s))

    def condition(self) -> Condition:
        """A new condition for processes of this node."""
        return Condition(self._ctx.env)

    # -- who -------------------------------------------------------------------------------------

    def reachable(self) -> simpy.Event:
        """Event: ids of the peers in reach at the moment of asking, ascending.

        With `discovery = "oracle"` at once and free; with `"probe"` by a broadcast of
        `control_bits`, and only peers whose reply is decoded count.
        """
        link = self._ctx.link
        if link.discovery == "probe":
            return self._requests.probe(self.peers, link.probe_window_s)
        event = self._ctx.env.event()
        return event.succeed(link.in_reach(self.id, self.peers) if self.peers else [])

    @property
    def servers(self) -> tuple[int, ...]:
        """The peers whose role is `server`."""
        return tuple(j for j in self.peers if self._ctx.roles[j] == "server")

    # -- messages --------------------------------------------------------------------------------

    def send(self, to: int, msg: Message) -> simpy.Event:
        """Send to one node; event: the outcome, or None where the link has no acknowledgements."""
        event = self._ctx.env.event()
        event.what = f"send({type(msg).__name__})"  # type: ignore[attr-defined]
        known = self._ctx.link.acknowledged

        def done(tx: Transmission, outcome: str, arrived: Any) -> None:
            self._ctx.nodes[to].deliver(tx, outcome, arrived)
            event.succeed(outcome if known else None)

        self._ctx.link.unicast(self.transmission(to, msg, done))
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

        ctx.link.broadcast([self.transmission(j, msg, done) for j in receivers])
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
            Receivers and senders; peers by default.
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
        senders = tuple(self.peers if expect is None else expect)
        tag: Any = (kind, phase)
        if ctx.barrier is not None:
            over, tag = ctx.barrier.join(self.id, kind, phase, senders)
            tag.in_flight += len(messages)
        for peer, message in messages.items():
            tx = self.transmission(peer, message, ctx.nodes[peer].deliver)
            tx.tag = tag
            ctx.link.unicast(tx)
        if ctx.barrier is not None:
            return self._handed(over)
        return ctx.env.event().succeed(self._freshest.take(tag, senders, ctx.env.now))

    def _handed(self, over: simpy.Event) -> simpy.Event:
        """The same event with its stored messages as `Received`."""

        def hand(event: simpy.Event) -> None:
            now = self._ctx.env.now
            event._value = {j: stored.handed(now) for j, stored in event._value.items()}

        return then(over, hand)

    # -- randomness ------------------------------------------------------------------------------

    def uniform(self, purpose: str, n: int, common: bool = False) -> list[float]:
        """`n` draws in [0, 1), the next ones of this node for this purpose.

        With `common` every node gets the same ones: an initial value that all share.
        """
        key, ids = ("common", ()) if common else ("node", (self.id,))
        first = self._draws[f"{key}/{purpose}"]
        self._draws[f"{key}/{purpose}"] = first + n
        streams = self._ctx.streams
        draws = streams.uniforms(f"{key}/{purpose}", *ids, counters=range(first, first + n))
        return [float(u) for u in draws]

    def permutation(self, purpose: str, ids: Sequence[int]) -> list[int]:
        """`ids` in a random order, a new one at every call."""
        draws = self.uniform(purpose, len(ids))
        return [ids[k] for k in sorted(range(len(ids)), key=draws.__getitem__)]

    # -- what the link and the engine call --------------------------------------------------------

    def transmission(
        self, to: int, msg: Message, done: Callable[[Transmission, str, Any], None]
    ) -> Transmission:
        """One message on its way, its size counted and its Refs checked."""
        ctx = self._ctx
        if to == self.id or not 0 <= to < self.num_nodes:
            raise ProtocolError(f"node {self.id} can't send to node {to}")
        msg = sealed(msg, self.id)
        if self._malice is not None:
            msg = self._malice.sent(msg)
        bits = size_bits(msg, ctx.parameter_bits, ctx.link.control_bits)
        return Transmission(self.id, to, msg, bits, self.round, ctx.env.now, done)

    def deliver(self, tx: Transmission, outcome: str, arrived: Any) -> None:
        """A transmission to this node has ended."""
        ctx, stored = self._ctx, None
        if outcome in ARRIVED and self._ignores(tx):
            ctx.counts["messages_ignored"] += 1
            self._requests.without(tx)
        elif outcome in ARRIVED:
            msg = handed_to(tx.message, self.id)
            stored = Stored(msg, tx.src, tx.sent_ns, tx.round, arrived)
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
        return not self._freshest.asked(tag) and self._mailbox.has_listener(tag[0])

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
