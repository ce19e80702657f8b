"""Service of flows by bottlenecks: all at once at max-min fair rates, or one after the other."""

import heapq
from abc import ABC, abstractmethod
from collections import ChainMap, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from netsim.clock import Clock
from netsim.links.arrivals import Arrivals
from netsim.links.wired.capacity import Capacity, ChangedCapacity
from netsim.links.wired.crossing import Curve, departures
from netsim.links.wired.max_min import max_min
from netsim.rng import Streams
from netsim.units import FOREVER_NS, NS_PER_S, to_ns

_AHEAD = 256
"""Points of departures that are looked at before their time has come."""


@dataclass(slots=True, eq=False)
class Flow:
    """Bits on their way across bottlenecks.

    Attributes
    ----------
    path : tuple of hashable
        The bottlenecks, in order; at least one, none twice.
    bits, packet_bits : float
        How many there are, and how many must have crossed a bottleneck before the next one starts.
    hop_ns : tuple of int
        Time from each bottleneck to the next.
    done : callable
        Called when all have crossed the last bottleneck.
    src : int
        Whose they are.
    sent : callable or None
        Called when all have crossed the first one: they have left their sender.
    start_ns : int or None
        When its first bit was served; None: it waits.
    ends_ns : dict of int to int
        When its last bit crosses the bottleneck at each place in the path, as far as known.
    crossed : dict of int to Curve
        When its packets cross it, as far as it has been served.
    left : float
        Bits that had not been served at `since_ns`.
    rate : float
        Rate since then [bit/s].
    since_ns : int
        When its rate changed last.
    version : int
        Grows whenever events that were planned for it become void.
    """

    path: tuple[Hashable, ...]
    bits: float
    packet_bits: float
    hop_ns: tuple[int, ...]
    done: Callable[[], None]
    src: int = 0
    sent: Callable[[], None] | None = None
    start_ns: int | None = None
    left: float = 0.0
    rate: float = 0.0
    since_ns: int = 0
    version: int = 0
    ends_ns: dict[int, int] = field(default_factory=dict)
    crossed: dict[int, Curve] = field(default_factory=dict)


class Service(ABC):
    """Base of the two ways to serve flows.

    Parameters
    ----------
    env : Clock
    capacity : mapping of hashable to Capacity
        Of every bottleneck.
    """

    def __init__(self, env: Clock, capacity: Mapping[Hashable, Capacity]) -> None:
        self._env, self._capacity = env, capacity

    def capacity_bps(self, resource: Hashable) -> float:
        """Capacity of a bottleneck now [bit/s]."""
        return self._capacity[resource].at(self._env.now)[0]

    def change(self, capacity: dict[Hashable, Capacity]) -> None:
        """Serve by other capacities from now on; bottlenecks that have none keep theirs."""
        self._capacity = ChainMap(capacity, dict(self._capacity))

    @abstractmethod
    def carry(self, flow: Flow) -> None:
        """Start a flow."""

    @abstractmethod
    def drop(self, flow: Flow) -> None:
        """End a flow before it is through; `done` is not called."""

    @abstractmethod
    def served_share(self, flow: Flow) -> float:
        """The share of a flow's bits that have crossed its first bottleneck, in [0, 1]."""


class MaxMinService(Service):
    """Flows cross all their bottlenecks at once, at max-min fair rates.

    Rates change when a flow comes or goes and when a capacity changes; in between each is constant.
    Changes of one instant are settled together, for the flows that they can reach. The time of one
    packet over the other bottlenecks (at their capacities at the end, unshared) comes on top.
    """

    def __init__(self, env: Clock, capacity: Mapping[Hashable, Capacity]) -> None:
        super().__init__(env, capacity)
        self._crossing: dict[Hashable, dict[Flow, None]] = {}
        self._touched: dict[Hashable, None] = {}
        self._ends: list[tuple[int, int, int, Flow]] = []
        self._awake_ns: int | None = None
        self._active, self._order = 0, 0
        self._changes_ns: dict[Hashable, int] = {}

    def change(self, capacity: dict[Hashable, Capacity]) -> None:
        now, old = self._env.now, self._capacity
        super().change(capacity)
        for resource, flows in self._crossing.items():
            if flows and old[resource].at(now) != self._capacity[resource].at(now):
                self._changes_ns.pop(resource, None)
                self._mark_changed((resource,))

    def carry(self, flow: Flow) -> None:
        flow.left, flow.start_ns, flow.since_ns = flow.bits, self._env.now, self._env.now
        self._active += 1
        for resource in flow.path:
            self._crossing.setdefault(resource, {})[flow] = None
        self._mark_changed(flow.path)

    def drop(self, flow: Flow) -> None:
        flow.version += 1
        for resource in flow.path:
            if self._crossing[resource].pop(flow, self) is self:
                return  # all of it has been served; its last packet is on the way
        self._active -= 1
        self._mark_changed(flow.path)

    def served_share(self, flow: Flow) -> float:
        passed_s = (self._env.now - flow.since_ns) / NS_PER_S
        return 1.0 - max(0.0, flow.left - flow.rate * passed_s) / flow.bits

    def _mark_changed(self, resources: Sequence[Hashable]) -> None:
        if not self._touched:
            self._env.call_after(0, self._settle)
        self._touched.update(dict.fromkeys(resources))

    def _settle(self) -> None:
        """Give every flow that a change can reach its new rate, and note when it will be through.

        It is the last of the events that were scheduled for this instant.
        """
        now = self._env.now
        touched, self._touched = list(self._touched), {}
        flows, capacity = self._affected_flows(touched)
        for flow, rate in max_min({f: f.path for f in flows}, capacity).items():
            if rate == flow.rate and flow.version:
                continue  # it goes on as it did
            flow.left = max(0.0, flow.left - flow.rate * (now - flow.since_ns) / NS_PER_S)
            flow.rate, flow.since_ns = rate, now
            flow.version += 1
            if rate > 0.0:
                end_ns = now + to_ns(flow.left / rate)
                self._order += 1
                heapq.heappush(self._ends, (end_ns, self._order, flow.version, flow))
        self._wait_for_the_first()

    def _affected_flows(
        self, touched: list[Hashable]
    ) -> tuple[dict[Flow, None], dict[Hashable, float]]:
        """The flows that share bottlenecks with the touched ones, directly or not; capacities."""
        flows: dict[Flow, None] = {}
        capacity: dict[Hashable, float] = {}
        for resource in touched:
            if resource in capacity:
                continue
            crossing = self._crossing.get(resource)
            if not crossing:
                continue
            capacity[resource] = self._current_bps(resource)
            for flow in crossing:
                if flow not in flows:
                    flows[flow] = None
                    touched.extend(flow.path)
        return flows, capacity

    def _current_bps(self, resource: Hashable) -> float:
        bps, change_ns = self._capacity[resource].at(self._env.now)
        if change_ns is not None and self._changes_ns.get(resource, 0) <= self._env.now:
            self._changes_ns[resource] = change_ns
            self._env.call_after(change_ns - self._env.now, self._change_capacity, resource)
        return bps

    def _change_capacity(self, resource: Hashable) -> None:
        if self._crossing.get(resource):
            self._mark_changed((resource,))

    def _end_due(self) -> None:
        now = self._env.now
        if self._awake_ns != now:
            return  # another event, for an earlier end, was planned since
        while self._ends and self._ends[0][0] <= now:
            _, _, version, flow = heapq.heappop(self._ends)
            if version != flow.version:
                continue
            flow.version += 1
            flow.left, flow.rate, flow.ends_ns[0] = 0.0, 0.0, now
            self._active -= 1
            for resource in flow.path:
                del self._crossing[resource][flow]
            self._mark_changed(flow.path)
            self._env.call_after(self._behind_ns(flow), self._finish_flow, flow, flow.version)
            if flow.sent is not None:
                flow.sent()
        self._awake_ns = None
        self._wait_for_the_first()

    def _wait_for_the_first(self) -> None:
        """Plan an event for the next flow that will be through; forget ends that are void."""
        if len(self._ends) > 64 + 4 * self._active:
            self._ends = [end for end in self._ends if end[2] == end[3].version]
            heapq.heapify(self._ends)
        while self._ends and self._ends[0][2] != self._ends[0][3].version:
            heapq.heappop(self._ends)
        if self._ends and (self._awake_ns is None or self._ends[0][0] < self._awake_ns):
            self._awake_ns = self._ends[0][0]
            self._env.call_after(self._awake_ns - self._env.now, self._end_due)

    def _behind_ns(self, flow: Flow) -> int:
        """Return the delay [ns] of the last packet behind a fluid at the last bottleneck."""
        first_ns = []
        for resource in flow.path:
            bps, _ = self._capacity[resource].at(self._env.now)
            first_ns.append(flow.packet_bits / bps * NS_PER_S if bps > 0 else 0.0)
        return sum(flow.hop_ns) + round(sum(first_ns) - max(first_ns))

    def _finish_flow(self, flow: Flow, version: int) -> None:
        if flow.version == version:
            flow.done()


@dataclass(slots=True, eq=False)
class _Turn:
    """A flow that a bottleneck serves.

    Attributes
    ----------
    flow : Flow
    hop : int
        Place of the bottleneck in its path.
    version : int
        Of the flow, when it began.
    begun_ns : int
    capacity : Capacity
        From then on, changes included.
    latest : Capacity
        The one that holds now.
    ends_ns : int or None
        When its last bit crosses, as things are; None: not known yet.
    plans : int
        How often that was planned; earlier plans are void.
    """

    flow: Flow
    hop: int
    version: int
    begun_ns: int
    capacity: Capacity
    latest: Capacity
    ends_ns: int | None = None
    plans: int = 0


class FifoService(Service):
    """Every bottleneck serves one flow at a time, in the order in which their first packets come.

    Of those that come at one instant, the senders are served in a random order. A flow holds a
    bottleneck until its last packet has crossed it, also while that is on its way from the
    bottleneck before.

    Parameters
    ----------
    env : Clock
    capacity : mapping of hashable to Capacity
    streams : Streams
    """

    def __init__(self, env: Clock, capacity: Mapping[Hashable, Capacity], streams: Streams) -> None:
        super().__init__(env, capacity)
        self._arrivals = Arrivals(env, streams, self._admit)
        self._serving: dict[Hashable, Flow] = {}
        self._turns: dict[Hashable, _Turn] = {}
        self._waiting: dict[Hashable, deque[tuple[Flow, int]]] = {}

    def occupy(self, resource: Hashable, duration_ns: int) -> None:
        """Let a bottleneck be busy for so long, if it is idle, with what goes past this service."""
        if resource not in self._serving:
            self._serving[resource] = Flow((resource,), 0.0, 0.0, (), lambda: None)
            self._env.call_after(duration_ns, self._serve_next, resource)

    def change(self, capacity: dict[Hashable, Capacity]) -> None:
        """Serve by other capacities from now on, what is being served with the rest of its bits.

        A first packet that is on its way to the next bottleneck comes when it would have come.
        """
        now = self._env.now
        moved: set[Flow] = set()
        super().change(capacity)
        for resource, turn in sorted(self._turns.items(), key=lambda one: one[1].hop):
            latest = self._capacity[resource]
            if turn.flow in moved or turn.latest != latest:
                moved.add(turn.flow)
                if turn.latest != latest:
                    turn.capacity = ChangedCapacity(turn.capacity, now, latest)
                    turn.latest = latest
                self._plan_end(resource, turn)

    def carry(self, flow: Flow) -> None:
        self._note_arrival(flow, 0, flow.version)

    def drop(self, flow: Flow) -> None:
        flow.version += 1
        for resource in flow.path:
            waiting = self._waiting.get(resource, deque())
            for queued in [q for q in waiting if q[0] is flow]:
                waiting.remove(queued)
        for resource in flow.path:
            if self._serving.get(resource) is flow:
                self._serve_next(resource)

    def served_share(self, flow: Flow) -> float:
        if flow.start_ns is None:
            return 0.0
        turn = self._turns.get(flow.path[0])
        if turn is None or turn.flow is not flow:
            return 1.0
        return min(1.0, turn.capacity.bits(turn.begun_ns, self._env.now) / flow.bits)

    def _note_arrival(self, flow: Flow, hop: int, version: int) -> None:
        """Note that a flow's first packet comes to a bottleneck."""
        self._arrivals.add(flow.src, (flow.path[hop],), (flow, hop, version))

    def _admit(self, come: tuple[Flow, int, int]) -> None:
        """Serve a flow whose first packet has come to a bottleneck, or let it wait."""
        flow, hop, version = come
        if flow.version != version:
            return
        resource = flow.path[hop]
        if resource in self._serving:
            self._waiting.setdefault(resource, deque()).append((flow, hop))
        else:
            self._serve(resource, flow, hop)

    def _serve(self, resource: Hashable, flow: Flow, hop: int) -> None:
        now, capacity = self._env.now, self._capacity[resource]
        self._serving[resource] = flow
        if hop == 0:
            flow.start_ns = now
        self._turns[resource] = turn = _Turn(flow, hop, flow.version, now, capacity, capacity)
        self._plan_end(resource, turn)
        if hop + 1 < len(flow.path):
            first_ns = capacity.finish_ns(now, min(flow.packet_bits, flow.bits))
            wait_ns = first_ns - now + flow.hop_ns[hop]
            self._env.call_after(wait_ns, self._note_arrival, flow, hop + 1, flow.version)

    def _plan_end(self, resource: Hashable, turn: _Turn) -> None:
        """Plan when the last bit of a flow crosses the bottleneck that serves it."""
        flow, hop, capacity, begun_ns = turn.flow, turn.hop, turn.capacity, turn.begun_ns
        before = flow.crossed.get(hop - 1)
        flow.crossed[hop] = departures(
            before, flow.hop_ns[hop - 1] if hop else 0, begun_ns,
            flow.bits, min(flow.packet_bits, flow.bits), capacity,
        )  # fmt: skip
        steady = capacity.at(begun_ns)[1] is None
        if before is not None and not (steady and before.is_straight()):
            turn.plans += 1
            self._find_end(resource, turn, turn.plans, 0)
            return
        end_ns = capacity.finish_ns(begun_ns, flow.bits)
        if hop:  # the last packet comes when it has crossed the bottleneck before
            last_ns = max(begun_ns, flow.ends_ns[hop - 1] + flow.hop_ns[hop - 1])
            end_ns = max(end_ns, capacity.finish_ns(last_ns, min(flow.packet_bits, flow.bits)))
        if turn.ends_ns != end_ns:
            turn.plans += 1
            self._end_at(resource, turn, end_ns)

    def _end_at(self, resource: Hashable, turn: _Turn, end_ns: int) -> None:
        turn.ends_ns = turn.flow.ends_ns[turn.hop] = end_ns
        self._env.call_after(end_ns - self._env.now, self._end_service, resource, turn, turn.plans)

    def _find_end(self, resource: Hashable, turn: _Turn, plan: int, known: int) -> None:
        """Plan the end of a flow, or to look for it again when what is known of it is over.

        `known`: points of its departures.
        """
        flow, now = turn.flow, self._env.now
        if flow.version != turn.version or plan != turn.plans:
            return
        crossed, until = flow.crossed[turn.hop], known + _AHEAD
        while (found := crossed.point(known)) is not None and known < until:
            known, time_ns = known + 1, found[1]
        end_ns = max(now, round(min(time_ns, FOREVER_NS)))
        if found is None:
            self._end_at(resource, turn, end_ns)
        else:
            self._env.call_after(end_ns - now, self._find_end, resource, turn, plan, known)

    def _end_service(self, resource: Hashable, turn: _Turn, plan: int) -> None:
        flow, hop = turn.flow, turn.hop
        if flow.version != turn.version or plan != turn.plans:
            return
        self._serve_next(resource)
        if hop == 0 and flow.sent is not None:
            flow.sent()
        if hop + 1 == len(flow.path):
            flow.done()

    def _serve_next(self, resource: Hashable) -> None:
        del self._serving[resource]
        self._turns.pop(resource, None)
        waiting = self._waiting.get(resource)
        if waiting:
            self._serve(resource, *waiting.popleft())
