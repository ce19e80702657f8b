"""Changes in mid-run: `[[changes]]` of link, schedule, Params and training, and drift of data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from netsim.clock import BEFORE, Clock, add_callback
from netsim.engine.assembly import Learning, age_limit_s
from netsim.engine.backend_assembly import optimizer_of
from netsim.engine.network_assembly import Devices, exchange_interval_ns, round_times_ns
from netsim.learning.shards import Shards
from netsim.links.hybrid import HybridLink
from netsim.links.link import Link
from netsim.links.radio.link import RadioLink
from netsim.links.wired.shared import SharedWiredLink
from netsim.links.wired.wire import WiredLink
from netsim.messaging.barrier import Barrier
from netsim.node.internals import NodeInternals
from netsim.node.node import Node
from netsim.node.wakeups import ClockWakeups
from netsim.recording.recorder import Recorder
from netsim.registry import Table
from netsim.scenario.tables import AlgorithmEntry
from netsim.units import dbm_to_w, to_ns
from netsim.world.builder import World
from netsim.world.drifting import DataChange


class Changes:
    """The changes of one run.

    `world`: the one that the run begins in; its `later` are those that follow.

    Attributes
    ----------
    params : Table
        What the algorithm gets. Where there are changes it is a copy of the entry's, of which they
        replace fields: processes hold it by reference.
    """

    def __init__(self, world: World, entry: AlgorithmEntry) -> None:
        self._world, self._entry = world, entry
        self._unread: list[set[str]] = []
        self.params = self._watched(entry.params) if world.later else entry.params

    def plan(
        self,
        clock: Clock,
        link: Link,
        devices: Devices,
        learning: Learning,
        barrier: Barrier | None,
        recorder: Recorder,
        parts: Sequence[NodeInternals],
        nodes: Sequence[Node],
    ) -> None:
        """Make each change when its time comes: the first of its instant; at 0 s now.

        Parameters
        ----------
        clock : Clock
        link : Link
        devices : Devices
        learning : Learning
        barrier : Barrier or None
        recorder : Recorder
        parts : sequence of NodeInternals
        nodes : sequence of Node
        """
        self._link, self._devices, self._learning = link, devices, learning
        self._barrier, self._recorder = barrier, recorder
        self._parts, self._nodes = parts, nodes
        before = self._world
        for at_ns, after in self._world.later:
            _make_at(clock, at_ns, partial(self._change, before, after))
            before = after

    def _change(self, before: World, after: World) -> None:
        self._change_link(self._link, before, after)
        for parts in self._parts:
            parts.messaging.link_changed()
        self._change_schedule(after)
        self._change_training(after)
        self._change_params(before, after)
        self._change_age_limit(after)

    # -- the link --------------------------------------------------------------------------------

    def _change_link(self, link: Link, before: World, after: World) -> None:
        if isinstance(link, HybridLink):
            self._change_link(link.radio, before, after)
            self._change_link(link.wires, before, after)
            link.refresh()
        elif isinstance(link, RadioLink):
            self._change_radio(link, before, after)
        elif _wires_of(before) != _wires_of(after):
            assert after.wiring is not None
            if isinstance(link, SharedWiredLink):
                link.set_wiring(after.wiring)
            elif isinstance(link, WiredLink):
                link.set_wire(after.wiring.wire)

    def _change_radio(self, link: RadioLink, before: World, after: World) -> None:
        radio, powers = after.scenario.radio, after.tx_power_dbm
        assert radio is not None
        assert after.budget is not None
        if radio == before.scenario.radio and powers == before.tx_power_dbm:
            return
        over_full: list[float] = []
        if powers != before.tx_power_dbm:
            watts = [dbm_to_w(dbm) for dbm in powers]
            old = [dbm_to_w(dbm) for dbm in before.tx_power_dbm]
            over_full = [was / now for was, now in zip(old, watts, strict=True)]
            self._devices.meter.set_radiated_w(watts)
        link.set_radio(radio, after.budget, over_full)

    # -- time, training, Params ------------------------------------------------------------------

    def _change_schedule(self, after: World) -> None:
        """Tell nodes; when they wake the schedules' clocks have known from the start."""
        schedule = after.scenario.exchange
        for node in self._nodes:
            node.schedule = str(schedule.schedule)  # type: ignore[attr-defined] # every one has it
            node.slots_per_exchange = getattr(schedule, "slots_per_exchange", None)
        if self._barrier is not None:
            self._barrier.set_times(*round_times_ns(schedule))
        for parts in self._parts:
            if isinstance(parts.wakeups, ClockWakeups):
                parts.wakeups.interval_ns = exchange_interval_ns(schedule)

    def _change_training(self, after: World) -> None:
        training = after.scenario.training_of(self._entry_in(after))
        optimizer = optimizer_of(training)
        for parts, node in zip(self._parts, self._nodes, strict=True):
            parts.training.optimizer = optimizer
            parts.training.schedule = training.learning_rate_schedule
            node.learning_rate = optimizer.learning_rate

    def _change_params(self, before: World, after: World) -> None:
        old, new = self._entry_in(before).params, self._entry_in(after).params
        changed = {key for key in type(new).model_fields if getattr(old, key) != getattr(new, key)}
        self._unread.append(changed - {"max_age_s"})  # of which `_change_age_limit` tells nodes
        if not changed:
            return
        if not self._learning.timing_only:
            self._learning.scheduler.flush()  # work that was asked for is of the values until now
        for key in changed:
            object.__setattr__(self.params, key, getattr(new, key))

    def _change_age_limit(self, after: World) -> None:
        params, schedule = self._entry_in(after).params, after.scenario.exchange
        limit_s = age_limit_s(params, schedule, len(self._nodes))
        self._recorder.limit_age(math.inf if math.isinf(limit_s) else to_ns(limit_s))
        for node in self._nodes:
            node.max_age_s = limit_s

    def _entry_in(self, world: World) -> AlgorithmEntry:
        return world.scenario.entry(self._entry.name)

    def _watched(self, params: Table) -> Table:
        """A copy of an algorithm's Params that notes which changed fields are read."""
        unread = self._unread

        class Watched(type(params)):  # type: ignore[misc] # a base that is known in the run only
            def __getattribute__(self, name: str) -> Any:
                for keys in unread:
                    keys.discard(name)
                return super().__getattribute__(name)

        Watched.__name__ = Watched.__qualname__ = type(params).__name__
        values = {key: getattr(params, key) for key in type(params).model_fields}
        copy: Table = Watched.model_construct(**values)
        return copy

    def summary(self) -> list[dict[str, Any]]:
        """The changes for the summary: `at_s set unread`.

        `unread` are Params that no process has read since they were changed: these changes had no
        effect.
        """
        changes = self._world.scenario.changes
        unread = [*self._unread, *[set[str]()] * len(changes)]
        return [
            {"at_s": change.at_s, "set": change.set, "unread": sorted(keys)}
            for change, keys in zip(changes, unread, strict=False)
        ]


def _make_at(clock: Clock, at_ns: int, make: Callable[[], None]) -> None:
    """Make a change before all else of its instant, at 0 s now."""
    if at_ns == 0:
        make()
    else:
        add_callback(clock.event_after(at_ns, BEFORE), lambda _: make())


def _wires_of(world: World) -> tuple[Any, ...]:
    """All of a scenario that its wires follow from."""
    nodes = world.scenario.nodes
    return world.scenario.link, nodes.of_groups("uplink_bps"), nodes.of_groups("downlink_bps")


class Drifting:
    """The changes of data in one run.

    Jobs name their shard, so what a node asked for before a change is computed with its former
    samples. Evaluations after the change use the new ones.

    Parameters
    ----------
    shards : Shards
        Of the run; says which shard each node has.
    changes : sequence of DataChange
        Each is made before all else of its instant, at 0 s now.
    """

    def __init__(
        self, clock: Clock, shards: Shards, nodes: Sequence[Node], changes: Sequence[DataChange]
    ) -> None:
        self._shards, self._nodes, self._changes = shards, nodes, changes
        for change in changes:
            _make_at(clock, change.at_ns, partial(self._make, change))

    def _make(self, change: DataChange) -> None:
        for node, shard in change.held.items():
            self._shards.held[node] = shard
            self._nodes[node].train_size = self._shards.train_size(shard)

    def summary(self) -> list[dict[str, Any]]:
        """The changes for the summary: `at_s kinds nodes train_samples`.

        `nodes` are those that have other samples or labels from then on; of each of them, in this
        order, `train_samples` says how many it has.
        """
        return [
            {
                "at_s": change.at_s,
                "kinds": list(change.kinds),
                "nodes": list(change.held),
                "train_samples": [self._shards.train_size(s) for s in change.held.values()],
            }
            for change in self._changes
        ]
