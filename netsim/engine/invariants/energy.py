"""Energy never falls, adds up to the summary, and keeps to what batteries and powers allow."""

from collections.abc import Mapping
from typing import Any

from netsim.devices.energy.battery import Charge
from netsim.engine.invariants import TOLERANCE, Invariant, Observed, differ
from netsim.units import to_ns, to_s

A_NS_J = 1e-6
"""Batteries run out in whole nanoseconds: what a kilowatt draws in one."""

LEAST_J = 1e-3
"""Smaller amounts are compared as if they were of this size: they are sums that cancel."""


SLACK_S = 1e-6
"""Times on the air are rounded to nanoseconds, each by itself."""


class Energy(Invariant):
    """Energy that each node drew, against before, its battery, the whole and its radio's power.

    A radio is in one state at a time, so it draws at most the largest of their powers times the
    time. Not where the scenario changes on its way.
    """

    def __init__(self, run: Observed) -> None:
        super().__init__(run)
        self._spent_j = [0.0] * len(run.parts)
        self._thorough = False

    def watch(self) -> None:
        self._thorough = True

    def at_evaluation(self, now_ns: int) -> None:
        spent_j = [self.run.meter.spent_j(parts.id, now_ns) for parts in self.run.parts]
        for node, (now, before) in enumerate(zip(spent_j, self._spent_j, strict=True)):
            if now < before and differ(now, before, LEAST_J):
                self.broken(f"node {node}", now_ns, "energy drawn has fallen, in J", now, before)
        self._spent_j = spent_j
        self._batteries(now_ns)
        self._powers(now_ns)

    def after(self, summary: Mapping[str, Any]) -> None:
        end_ns, meter = to_ns(self.run.world.scenario.horizon_s), self.run.meter
        if self._thorough:
            self._powers(end_ns)
        spent_j = [meter.spent_j(parts.id, end_ns) for parts in self.run.parts]
        if differ(sum(spent_j), summary["energy_j"]):
            what = "energy drawn, node by node and in all, in J"
            self.broken("all nodes", end_ns, what, sum(spent_j), summary["energy_j"])
        self._batteries(end_ns)
        found = summary["energy"]
        by_cause = found["radio_j"] + found["idle_j"] + found["compute_j"]
        # A battery is empty at a whole nanosecond.
        if abs(by_cause - sum(spent_j)) > 1e-6 * max(by_cause, sum(spent_j)):
            what = "energy drawn, by cause and by node, in J"
            self.broken("all nodes", end_ns, what, by_cause, sum(spent_j))

    def _powers(self, now_ns: int) -> None:
        meter = self.run.meter
        if self.run.world.scenario.changes:
            return
        for parts in self.run.parts:
            most_w = meter.most_radio_w(parts.id)
            if most_w is None:
                return
            drawn_j, most_j = meter.radio_j(parts.id, now_ns), most_w * (to_s(now_ns) + SLACK_S)
            if drawn_j > most_j * (1 + 1e-6):
                what = "its radio has drawn more than its largest power allows, in J"
                self.broken(f"node {parts.id}", now_ns, what, drawn_j, most_j)

    def _batteries(self, now_ns: int) -> None:
        meter = self.run.meter
        for parts in self.run.parts:
            held_j = meter.held_j(parts.id)
            if held_j is None:
                continue
            where, spent_j = f"node {parts.id}", meter.spent_j(parts.id, now_ns)
            charge = meter.charge(parts.id, now_ns)
            got_j = held_j + charge.harvested_j
            if spent_j > got_j * (1 + TOLERANCE):
                what = "its battery has given more than it held, in J"
                self.broken(where, now_ns, what, spent_j, got_j)
            left_j = meter.left_j(parts.id, now_ns)
            found_j = left_j + spent_j + charge.spilled_j
            if abs(found_j - got_j) > 1e-6 * got_j:
                what = "left in its battery, drawn and spilled, and what it got, in J"
                self.broken(where, now_ns, what, found_j, got_j)
            self._harvest(parts.id, now_ns, left_j, charge)

    def _harvest(self, node: int, now_ns: int, left_j: float, charge: Charge) -> None:
        """Check that a battery got what there was, and holds no more than it can."""
        world, where = self.run.world, f"node {node}"
        if world.supply is None:
            return
        offered_j = world.supply.joules(node, now_ns)
        if differ(charge.harvested_j, offered_j, LEAST_J):
            self.broken(where, now_ns, "energy harvested, in J", charge.harvested_j, offered_j)
        full_j = world.batteries_j[node] or 0.0
        if left_j > full_j * (1 + TOLERANCE) or charge.stored_j < -1e-6 * full_j - A_NS_J:
            what = "its battery holds more than it can, or less than nothing, in J"
            self.broken(where, now_ns, what, charge.stored_j, full_j)
        if charge.spilled_j < 0:
            self.broken(where, now_ns, "energy spilled, in J", charge.spilled_j, 0)
