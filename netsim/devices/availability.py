"""Availability of nodes, and the pause of those that are switched off.

While a node is off none of its processes goes on, its processor stands still, its transfers have
ended as `off`, and nothing is sent to it or by it. Time-outs run on, and what a process waits for
may happen: the process learns of it when its node is on again.

A node is switched before anything else happens at that instant.
"""

from collections.abc import Callable, Collection

import simpy

from netsim.clock import BEFORE, Clock, Event, add_callback
from netsim.recording.recorder import Recorder
from netsim.topology.churn import Timeline
from netsim.units import to_s


class Availability:
    """Switches nodes on and off during one run.

    Parameters
    ----------
    env : Clock
    recorder : Recorder
    nodes : int
        Number of nodes.
    timeline : Timeline or None
        When nodes are on; None: always, or until they die.
    mortal : bool
        Whether nodes may `die`.
    unforeseen : bool
        Whether nodes may `run_out` and `recover`.
    empty : collection of int
        Nodes that begin without energy.

    Attributes
    ----------
    off : set of int
        Nodes that are off; the same set object during the whole run.
    dead : dict of int to int
        When [ns] each node that is dead went off for good.
    always_on : bool
        Whether no node is ever switched off.
    unforeseen : bool
        Whether nodes may go off at instants that nobody knows beforehand, and come back.
    planned : int
        How many switches are events of the clock already and still to come.
    switch_offs : int
        How often a node has been switched off.
    """

    def __init__(
        self,
        env: Clock,
        recorder: Recorder,
        nodes: int,
        timeline: Timeline | None,
        mortal: bool = False,
        unforeseen: bool = False,
        empty: Collection[int] = (),
    ) -> None:
        self.env = env
        self._recorder, self._timeline = recorder, timeline
        self.off: set[int] = set()
        self.dead: dict[int, int] = {}
        self.planned = 0
        self.switch_offs = 0
        self.always_on = timeline is None and not mortal
        self.unforeseen = unforeseen
        self._empty, self._ran_out_ns = set(empty), [-1] * nodes
        self._told: list[Callable[[int, bool], object]] = []
        self._back: dict[int, Event] = {}
        self._off_since_ns = [0] * nodes
        self._off_ns = [0] * nodes
        if timeline is not None:
            for node in range(nodes):
                if not timeline.is_on(node, 0):
                    self.off.add(node)
                self._plan(node)
        self.off |= self._empty
        for node in sorted(self.off):
            recorder.switched(env.now, node, False)

    def add_listener(self, action: Callable[[int, bool], object]) -> None:
        """Call `action(node, on)` after every switch from now on, in the order of these calls."""
        self._told.append(action)

    def event_when_on(self, node: int) -> simpy.Event:
        """Event: a node that is off is switched on again."""
        event = self._back.get(node)
        if event is None:
            event = self._back[node] = self.env.new_event("its node to be on")
        return event

    def work_ends(self, node: int, start_ns: int, work_ns: int) -> int:
        """Return the end of some work on a node's processor: only times at which it is on count.

        As far as that is known now, where nodes go off unforeseen.

        Parameters
        ----------
        node : int
        start_ns : int
        work_ns : int
            How long the work takes without a pause.

        Returns
        -------
        int
            In ns.
        """
        if self._timeline is None:
            return start_ns + work_ns
        return self._timeline.work_ends(node, start_ns, work_ns)

    def stays_on(self, node: int, start_ns: int, end_ns: int) -> bool:
        """Return whether a node is not switched off between two instants.

        Parameters
        ----------
        node : int
        start_ns : int
            When it is on.
        end_ns : int
            Where nodes go off unforeseen, no later than now.

        Returns
        -------
        bool
        """
        if self._ran_out_ns[node] > start_ns:
            return False
        if self._timeline is None:
            return True
        switch_ns = self._timeline.next_switch(node, start_ns)
        return switch_ns is None or switch_ns > end_ns

    def die(self, node: int) -> None:
        """Switch a node off for good."""
        self.dead[node] = self.env.now
        if node not in self.off:
            self._switch(node, False)

    def run_out(self, node: int) -> None:
        """Switch a node off that has no energy, until it has recovered."""
        self._empty.add(node)
        if node not in self.off:
            self._ran_out_ns[node] = self.env.now
            self._switch(node, False)

    def recover(self, node: int) -> None:
        """Switch a node on that has energy again, unless it is off by its timeline."""
        self._empty.discard(node)
        if self._timeline is None or self._timeline.is_on(node, self.env.now):
            self._switch(node, True)

    def _plan(self, node: int) -> None:
        assert self._timeline is not None
        switch_ns = self._timeline.next_switch(node, self.env.now)
        if switch_ns is not None:
            self.planned += 1
            add_callback(
                self.env.event_after(switch_ns - self.env.now, BEFORE),
                lambda _: self._switch_by_timeline(node),
            )

    def _switch_by_timeline(self, node: int) -> None:
        self.planned -= 1
        if node not in self.dead:
            if node not in self._empty:
                self._switch(node, node in self.off)
            self._plan(node)

    def _switch(self, node: int, on: bool) -> None:
        now = self.env.now
        if on:
            self._off_ns[node] += now - self._off_since_ns[node]
        else:
            self._off_since_ns[node] = now
            self.switch_offs += 1
        (self.off.discard if on else self.off.add)(node)
        self._recorder.switched(now, node, on)
        if on and node in self._back:
            self._back.pop(node).succeed()
        for action in self._told:
            action(node, on)

    def on_ns(self, node: int, now_ns: int) -> int:
        """Nanoseconds for which a node has been on."""
        off_ns = self._off_ns[node]
        if node in self.off:
            off_ns += now_ns - self._off_since_ns[node]
        return now_ns - off_ns

    def on_s(self, node: int, now_ns: int) -> float:
        """Seconds for which a node has been on."""
        return to_s(self.on_ns(node, now_ns))

    def summary(self, end_ns: int) -> dict[str, object]:
        """`switch_offs off_at_end mean_availability min_availability` for the summary.

        Availability is the share of the run during which a node was on.
        """
        nodes = range(len(self._off_ns))
        shares = [self.on_s(node, end_ns) / to_s(end_ns) for node in nodes]
        return {
            "switch_offs": self.switch_offs,
            "off_at_end": len(self.off),
            "mean_availability": sum(shares) / len(shares),
            "min_availability": min(shares),
        }
