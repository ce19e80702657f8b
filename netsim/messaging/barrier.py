"""The barrier of the `rounds` schedule.

A round starts when every node waits for it. An exchange ends when every node has joined it or ended
its round, and all its messages have been delivered or given up. Both end at the round's deadline,
too. Nodes that only listen or serve, nodes whose processes have ended and nodes that are off are
not waited for; a node that is off misses the rounds that start meanwhile.
"""

from collections.abc import Callable, Collection, Set
from dataclasses import dataclass, field

import simpy

from netsim.clock import LAST, Clock, Event, add_callback
from netsim.errors import ProtocolError
from netsim.messaging.mailbox import HandOver, HandOvers
from netsim.messaging.message import Envelope
from netsim.schedules import Wake


@dataclass(eq=False)
class RoundExchange:
    """One exchange of one (message class, phase) in one round.

    Attributes
    ----------
    joined : dict of int to (HandOver, frozenset of int)
        For each node that has joined, the event it waits for and the senders that it expects.
    delivered : dict of int to dict of int to Envelope
        By receiver and sender, what waits for the end of the exchange.
    mailboxes : dict of int to callable
        By receiver, where messages go that it does not expect.
    in_flight : int
        Messages that have not ended.
    over : bool
    """

    joined: dict[int, tuple[HandOver, frozenset[int]]] = field(default_factory=dict)
    delivered: dict[int, dict[int, Envelope]] = field(default_factory=dict)
    mailboxes: dict[int, Callable[[Envelope], None]] = field(default_factory=dict)
    in_flight: int = 0
    over: bool = False

    def let_go(self) -> None:
        """Forget what waited, which knows of the exchange: models would stay until a collection."""
        self.joined, self.delivered, self.mailboxes = {}, {}, {}


class Barrier:
    """Rounds of one run.

    Parameters
    ----------
    env : Clock
    nodes : int
    interval_ns : int
        How long a round lasts at least [ns].
    deadline_ns : int or None
        How long a round lasts at most [ns].
    slot_ns : int
        Length of a slot [ns].
    off : set of int
        Nodes that are off; `recheck` is to be called after every change.
    in_flight : callable
        () -> how many messages the link still has to deliver or give up.
    idle : callable
        (node) -> whether it has nothing left to do but listen.
    started : callable
        Called with (node, Wake) when a node starts a round.
    skipped : callable
        Called with (node, round) for a node that a new round found at work, or off.

    Attributes
    ----------
    round : int
        Number of the last round that has started; 0 before the first.
    interval_ns : int
        How long rounds that start from now on last at least [ns].
    """

    def __init__(
        self,
        env: Clock,
        nodes: int,
        interval_ns: int,
        deadline_ns: int | None,
        slot_ns: int,
        off: Set[int],
        in_flight: Callable[[], int],
        idle: Callable[[int], bool],
        started: Callable[[int, Wake], None],
        skipped: Callable[[int, int], None],
    ) -> None:
        self._env, self._nodes, self._slot_ns = env, nodes, slot_ns
        self.interval_ns, self._deadline_ns = interval_ns, deadline_ns
        self._off, self._in_flight, self._idle = off, in_flight, idle
        self._started, self._skipped = started, skipped
        self.round = self._outlasting = 0
        self._earliest_ns = 0
        self._waiting: dict[int, Event] = {}
        self._exchanges: dict[tuple[type, int], RoundExchange] = {}
        self._past_deadline = False
        self._check_due = False
        self._takes_part: set[int] = set()
        self._behind: set[int] = set()
        """Nodes that were off when an exchange or a round went on without them."""

    def set_times(self, interval_ns: int, deadline_ns: int | None) -> None:
        """Let rounds that start from now on last so long at least and at most [ns]."""
        self.interval_ns, self._deadline_ns = interval_ns, deadline_ns

    # -- what nodes call -------------------------------------------------------------------------

    def wakeup(self, node: int) -> simpy.Event:
        """Event: the node's next round starts. Calling this ends the node's current round."""
        if node in self._waiting:
            raise ProtocolError("wakeup: another process of this node waits for the round already")
        event = self._waiting[node] = self._env.new_event("the next round")
        self._takes_part.add(node)
        self.recheck()
        return event

    def join(
        self, hands: HandOvers, kind: type, phase: int, expect: Collection[int]
    ) -> tuple[simpy.Event, RoundExchange]:
        """Let a node take part in an exchange of this round.

        Parameters
        ----------
        hands : HandOvers
            Of the node.
        kind : type
            The message class.
        phase : int
        expect : collection of int
            The senders whose messages the node waits for.

        Returns
        -------
        event : simpy.Event
            The exchange is over; its value is {sender: Received} of what came from `expect`.
        exchange : RoundExchange
            Its `in_flight` is to be raised by the messages that the node sends in it, each of which
            is to be reported to `resolve_message`.

        Raises
        ------
        ProtocolError
            If the node is in this exchange already.
        """
        node, exchange = hands.node, self._exchanges.setdefault((kind, phase), RoundExchange())
        if node in exchange.joined:
            raise ProtocolError(
                f"exchange: another process of this node is in it already ({kind.__name__}, phase "
                f"{phase}); give each process a phase or a kind of message of its own"
            )
        event = HandOver(hands, f"exchange({kind.__name__}, phase {phase})")
        exchange.joined[node] = (event, frozenset(expect))
        self._takes_part.add(node)
        self.recheck()
        return event, exchange

    def resolve_message(
        self,
        exchange: RoundExchange,
        receiver: int,
        envelope: Envelope | None,
        mailbox: Callable[[Envelope], None],
    ) -> bool:
        """Take in the end of a message of an exchange.

        Parameters
        ----------
        exchange : RoundExchange
        receiver : int
        envelope : Envelope or None
            The message, if it has arrived.
        mailbox : callable
            Gets the message at the end of the exchange if the receiver does not expect it.

        Returns
        -------
        bool
            False if the exchange was over already: the message is the caller's to keep.
        """
        exchange.in_flight -= 1
        if exchange.over:
            return False
        if envelope is not None:
            exchange.delivered.setdefault(receiver, {})[envelope.src] = envelope
            exchange.mailboxes[receiver] = mailbox
        self.recheck()
        return True

    def recheck(self) -> None:
        """Check, once this instant's other events are over, whether a round or exchange ends."""
        if not self._check_due:
            self._check_due = True
            add_callback(self._env.event_after(0, LAST), self._check)

    def overlong_rounds(self, now_ns: int) -> int:
        """Number of rounds that have lasted longer than they must, the present one included."""
        return self._outlasting + (self.round > 0 and now_ns > self._earliest_ns)

    def held_count(self, node: int) -> int:
        """Messages to a node that wait for the end of their exchange."""
        return sum(len(e.delivered.get(node, ())) for e in self._exchanges.values())

    # -- the ends of exchanges -------------------------------------------------------------------

    def _check(self, _: simpy.Event) -> None:
        self._check_due = False
        for key, exchange in list(self._exchanges.items()):
            settled = exchange.in_flight == 0 and self._all_in(exchange.joined)
            if exchange.joined and (settled or self._past_deadline):
                self._end(key)
        self._end_exchanges_of_late_nodes()
        done = self._past_deadline or (self._in_flight() == 0 and self._all_in(()))
        if done and not self._waiting.keys() <= self._off:
            self._start_round_in_time()

    def _end_exchanges_of_late_nodes(self) -> None:
        """End exchanges in which only nodes wait that were off and missed the others there."""
        alone = [
            key
            for key, exchange in self._exchanges.items()
            if exchange.in_flight == 0 and exchange.joined.keys() & self._behind
        ]
        if alone and self._all_in({i for e in self._exchanges.values() for i in e.joined}):
            for key in alone:
                self._end(key)

    def _all_in(self, joined: Collection[int]) -> bool:
        """Return whether every node has joined, ended its round, only listens, or is off."""
        return all(
            i in joined or i in self._waiting or i in self._off or self._idle(i)
            for i in range(self._nodes)
        )

    def _end(self, key: tuple[type, int]) -> None:
        exchange = self._exchanges.pop(key)
        exchange.over = True
        self._behind |= self._off - exchange.joined.keys()
        for node, (event, expect) in sorted(exchange.joined.items()):
            got = exchange.delivered.get(node, {})
            event.bring({i: envelope for i, envelope in got.items() if i in expect})
        for node, got in sorted(exchange.delivered.items()):
            expect = exchange.joined[node][1] if node in exchange.joined else frozenset()
            for sender in sorted(got.keys() - expect):
                exchange.mailboxes[node](got[sender])
        exchange.let_go()
        self.recheck()

    # -- the starts of rounds --------------------------------------------------------------------

    def _start_round_in_time(self) -> None:
        """Start the next round now, or when this one has lasted as long as it must."""
        wait_ns = self._earliest_ns - self._env.now
        if wait_ns > 0:
            self._env.call_after(wait_ns, self.recheck)
        else:
            self._start_round()

    def _start_round(self) -> None:
        self._outlasting = self.overlong_rounds(self._env.now)
        self.round += 1
        self._behind |= self._off
        self._earliest_ns = self._env.now + self.interval_ns
        self._past_deadline = False
        waiting = {i: event for i, event in self._waiting.items() if i not in self._off}
        self._waiting = {i: event for i, event in self._waiting.items() if i in self._off}
        for node in sorted(self._takes_part - waiting.keys()):
            if node in self._off or not self._idle(node):
                self._skipped(node, self.round)
        for node, event in sorted(waiting.items()):
            wake = Wake(self.round, self._env.now // self._slot_ns)
            self._behind.discard(node)
            self._started(node, wake)
            event.succeed(wake)
        if self._deadline_ns is not None:
            this_round = self.round
            self._env.call_after(self._deadline_ns, self._deadline, this_round)

    def _deadline(self, round_number: int) -> None:
        if round_number == self.round:
            self._past_deadline = True
            self.recheck()
