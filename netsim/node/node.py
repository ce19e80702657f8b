"""A node as its algorithm sees it: time, peers, draws; messages and learning are its two halves.

Every verb returns a SimPy event; `yield` on it is the only way virtual time passes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Sequence
from typing import Any, cast
from weakref import WeakKeyDictionary

import simpy

from netsim.clock import LAST, then
from netsim.clock import Clock as VirtualClock
from netsim.node.adversary import Tampering
from netsim.node.messaging_verbs import Messenger
from netsim.node.run_state import Context
from netsim.node.training_verbs import Learner
from netsim.schedules import Wake
from netsim.units import to_ns, to_s

Process = Generator[simpy.Event, Any, Any]


class _Progress:
    """How far one process has come: the last slot and wake-up that it was given."""

    __slots__ = ("slot", "wake")

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.wake = 0

    def woke(self, event: simpy.Event) -> None:
        """The wake-up that `event` tells of has come."""
        self.slot = cast(Wake, event.value).slot


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


class Node(Messenger, Learner):
    """One node.

    Attributes
    ----------
    id : int
    role : str
    neighbours : tuple of int
        Whom it may ever talk to, ascending: a fixed set, for what a method keeps about each.
    num_nodes : int
    round : int
        Number of its last wake-up.
    """

    def __init__(self, node_id: int, ctx: Context) -> None:
        self.id = node_id
        self._ctx = ctx
        self.role = ctx.roles[node_id]
        self.neighbours = ctx.neighbours[node_id]
        self._meetings = ctx.meetings
        self.num_nodes = len(ctx.roles)
        self.round = 0
        self._progress: WeakKeyDictionary[Any, _Progress] = WeakKeyDictionary()
        self._slots_per_exchange: int | None = getattr(ctx.schedule, "slots_per_exchange", None)
        interval_s = getattr(ctx.schedule, "interval_s", None)
        self._interval_ns = to_ns(interval_s) if interval_s else None
        self._draws: dict[str, int] = defaultdict(int)
        self._init_learner()
        self._init_messenger(Tampering(self, ctx) if node_id in ctx.malicious else None)

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
        return self._slots_per_exchange

    def _mine(self) -> _Progress:
        process = self._ctx.env.active_process
        mine = self._progress.get(process)
        if mine is None:
            mine = self._progress[process] = _Progress(self._ctx.env.now // self._ctx.slot_ns)
        return mine

    def wakeup(self) -> simpy.Event:
        """Event: `Wake(round, slot)`, the node's next wake-up under the schedule.

        Clocks are absolute: wake-ups that fell into other work are skipped and logged. Calling
        this again ends the node's round. So are wake-ups at which the node is off.
        """
        ctx, mine = self._ctx, self._mine()
        if ctx.barrier is not None:
            event = ctx.barrier.wakeup(self.id)
            return then(event, mine.woke)
        assert ctx.clock is not None
        now, interval_ns = ctx.env.now, self._interval_ns
        if mine.wake and interval_ns is not None and now > (mine.wake + 1) * interval_ns:
            paused = not ctx.power.stays_on(self.id, mine.wake * interval_ns, now)
            ctx.counts["exchanges_outlasting_interval"] += not paused
        time_ns, number = ctx.clock.next_wakeup(self.id, mine.wake)
        while time_ns < now:
            ctx.recorder.wake(time_ns, self.id, number, "skipped")
            ctx.counts["wakeups_skipped"] += 1
            time_ns, number = ctx.clock.next_wakeup(self.id, number)
        mine.wake = number
        if ctx.power.always_on:
            event = ctx.env.timeout(time_ns - now, Wake(number, time_ns // ctx.slot_ns))
        else:
            event = ctx.env.event()
            event.what = "its next wake-up"  # type: ignore[attr-defined]
            ctx.env.after(time_ns - now, self._wake_or_skip, event, mine)
        return then(then(event, mine.woke), self._woke)

    def _wake_or_skip(self, event: simpy.Event, mine: _Progress) -> None:
        """The wake-up that `event` waits for has come; if the node is off, the next one will do."""
        ctx = self._ctx
        assert ctx.clock is not None
        if self.id not in ctx.power.off:
            event.succeed(Wake(mine.wake, ctx.env.now // ctx.slot_ns))
            return
        ctx.recorder.wake(ctx.env.now, self.id, mine.wake, "skipped")
        ctx.counts["wakeups_skipped"] += 1
        time_ns, mine.wake = ctx.clock.next_wakeup(self.id, mine.wake)
        ctx.env.after(time_ns - ctx.env.now, self._wake_or_skip, event, mine)

    def started(self, wake: Wake) -> None:
        """A round of this node starts."""
        self.round = wake.round
        self._ctx.recorder.wake(self._ctx.env.now, self.id, wake.round, "woke")

    def _woke(self, event: simpy.Event) -> None:
        self.started(cast(Wake, event.value))

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

    @property
    def peers(self) -> tuple[int, ...]:
        """Its neighbours in the topology, ascending; of a contact trace those in contact now."""
        if self._meetings is None:
            return self.neighbours
        met = self._meetings.peers(self.id, self._ctx.env.now)
        return tuple(j for j in met if j not in self._ctx.left_out)

    def reachable(self) -> simpy.Event:
        """Event: ids of the peers in reach at the moment of asking, ascending.

        With `discovery = "oracle"` at once and free; with `"probe"` by a broadcast of
        `control_bits`, and only peers whose reply is decoded count. A node that is off is in
        nobody's reach.
        """
        link = self._ctx.link
        if link.discovery == "probe":
            return self._requests.probe(self.peers, link.probe_window_s)
        on = [j for j in self.peers if j not in link.off] if link.off else self.peers
        return self._ctx.env.event().succeed(link.in_reach(self.id, on) if on else [])

    @property
    def servers(self) -> tuple[int, ...]:
        """The neighbours whose role is `server`."""
        return tuple(j for j in self.neighbours if self._ctx.roles[j] == "server")

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
