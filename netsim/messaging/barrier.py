"""The barrier of the `rounds` schedule.

A round starts when every node waits for it; an exchange ends when every node has joined it or
ended its round and all its messages have been delivered or given up. Either ends at the round's
deadline, too. Nodes that only listen or serve, nodes whose processes have ended, and nodes
that are off are not waited for; a node that is off misses the rounds that start meanwhile.
"""

from collections.abc import Callable, Collection, Set
from dataclasses import dataclass, field

import simpy

from netsim.clock import LAST, Clock, then
from netsim.errors import ProtocolError
from netsim.messaging.mailbox import Stored
from netsim.schedules import Wake


@dataclass(eq=False)
class Meeting:
    """One exchange of one (kind, phase) in one round."""

    joined: dict[int, tuple[simpy.Event, frozenset[int]]] = field(default_factory=dict)
    delivered: dict[int, dict[int, Stored]] = field(default_factory=dict)
    keep: dict[int, Callable[[Stored], None]] = field(default_factory=dict)
    in_flight: int = 0
    over: bool = False


class Barrier:
    """Rounds of one run.

    Parameters
    ----------
    nodes : int
    interval_ns : int
        How long a round lasts at least.
    deadline_ns : int or None
        How long a round lasts at most.
    off : set of int
        Nodes that are off; `look` is to be called after every change.
    in_flight : callable
        How many messages the link still has to deliver or give up.
    idle : callable
        Whether a node has nothing left to do but listen.
    started : callable
        Called with (node, Wake) when a node starts a round.
    skipped : callable
        Called with (node, round) for a node that a new round found at work, or off.
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
        self._interval_ns, self._deadline_ns = interval_ns, deadline_ns
        self._off, self._in_flight, self._idle = off, in_flight, idle
        self._started, self._skipped = started, skipped
        self.round = 0
        self._earliest_ns = 0
        self._waiting: dict[int, simpy.Event] = {}
        self._meetings: dict[tuple[type, int], Meeting] = {}
        self._past_deadline = False
        self._check_due = False
        self._takes_part: set[int] = set()
        self._behind: set[int] = set()
        """Nodes that were off when an exchange or a round went on without them."""

    def wakeup(self, node: int) -> simpy.Event:
        """Event: the node's next round starts; until then its current one has ended."""
        if node in self._waiting:
            raise ProtocolError("wakeup: another process of this node waits for the round already")
        event = self._waiting[node] = self._env.event()
        event.what = "the next round"  # type: ignore[attr-defined]
        self._takes_part.add(node)
        self.look()
        return event

    def join(
        self, node: int, kind: type, phase: int, expect: Collection[int]
    ) -> tuple[simpy.Event, Meeting]:
        """Event: the exchange is over; its value is {sender: Stored} of what came from `expect`."""
        meeting = self._meetings.setdefault((kind, phase), Meeting())
        if node in meeting.joined:
            raise ProtocolError(
                f"exchange: another process of this node is in it already ({kind.__name__}, phase "
                f"{phase}); give each process a phase or a kind of message of its own"
            )
        event = self._env.event()
        event.what = f"exchange({kind.__name__}, phase {phase})"  # type: ignore[attr-defined]
        meeting.joined[node] = (event, frozenset(expect))
        self._takes_part.add(node)
        self.look()
        return event, meeting

    def resolved(
        self,
        meeting: Meeting,
        receiver: int,
        stored: Stored | None,
        keep: Callable[[Stored], None],
    ) -> bool:
        """A message of an exchange has ended; False if it came after the exchange was over.

        `keep` gets it if the receiver turns out not to expect it.
        """
        meeting.in_flight -= 1
        if meeting.over:
            return False
        if stored is not None:
            meeting.delivered.setdefault(receiver, {})[stored.sender] = stored
            meeting.keep[receiver] = keep
        self.look()
        return True

    def look(self) -> None:
        """Look, once this instant's other events are over, whether anything can go on."""
        if not self._check_due:
            self._check_due = True
            then(self._env.due(0, LAST), lambda _: self._check())

    def _check(self) -> None:
        self._check_due = False
        for key, meeting in list(self._meetings.items()):
            settled = meeting.in_flight == 0 and self._all_in(meeting.joined)
            if meeting.joined and (settled or self._past_deadline):
                self._end(key)
        self._let_go_on()
        done = self._past_deadline or (self._in_flight() == 0 and self._all_in(()))
        if done and not self._waiting.keys() <= self._off:
            self._start_round_in_time()

    def _let_go_on(self) -> None:
        """End what only nodes wait for that were off, and so never reach where the others wait."""
        alone = [
            key
            for key, meeting in self._meetings.items()
            if meeting.in_flight == 0 and meeting.joined.keys() & self._behind
        ]
        if alone and self._all_in({i for m in self._meetings.values() for i in m.joined}):
            for key in alone:
                self._end(key)

    def _all_in(self, joined: Collection[int]) -> bool:
        """Whether every node has joined, ended its round, only listens, or is off."""
        return all(
            i in joined or i in self._waiting or i in self._off or self._idle(i)
            for i in range(self._nodes)
        )

    def _end(self, key: tuple[type, int]) -> None:
        meeting = self._meetings.pop(key)
        meeting.over = True
        self._behind |= self._off - meeting.joined.keys()
        for node, (event, expect) in sorted(meeting.joined.items()):
            got = meeting.delivered.get(node, {})
            event.succeed({i: s for i, s in sorted(got.items()) if i in expect})
        for node, got in sorted(meeting.delivered.items()):
            expect = meeting.joined[node][1] if node in meeting.joined else frozenset()
            for sender in sorted(got.keys() - expect):
                meeting.keep[node](got[sender])
        self.look()

    def held(self, node: int) -> int:
        """Messages to a node that wait for the end of their exchange."""
        return sum(len(m.delivered.get(node, ())) for m in self._meetings.values())

    def _start_round_in_time(self) -> None:
        wait_ns = self._earliest_ns - self._env.now
        if wait_ns > 0:
            self._env.after(wait_ns, self.look)
        else:
            self._start_round()

    def _start_round(self) -> None:
        self.round += 1
        self._behind |= self._off
        self._earliest_ns = self._env.now + self._interval_ns
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
            self._env.after(self._deadline_ns, self._deadline, this_round)

    def _deadline(self, round_number: int) -> None:
        if round_number == self.round:
            self._past_deadline = True
            self.look()
