"""Checks beside a run: its invariants, and the warnings to its user."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from netsim.engine import deadlock
from netsim.engine.invariants import Observed, kinds
from netsim.learning.global_draws import GlobalGenerators
from netsim.links.radio.table import Radio
from netsim.messaging.barrier import Barrier
from netsim.recording.run_warnings import queued_share
from netsim.registry import kind_of
from netsim.units import to_ns, to_s
from netsim.world import SERVER


class RunChecks:
    """Checks and warnings of one run.

    `thorough`: whether to check the invariants while the run goes on, too. `generators`: what
    agents and observers draw from them is left out.
    """

    def __init__(self, run: Observed, thorough: bool) -> None:
        self._run, self._thorough = run, thorough
        self._invariants = [kind(run) for kind in kinds()]
        self.generators = GlobalGenerators()
        for invariant in self._invariants if thorough else ():
            invariant.watch()

    def after(self, summary: Mapping[str, Any]) -> None:
        """Check the invariants at the end of the run, by what its summary will say."""
        for invariant in self._invariants:
            invariant.after(summary)

    def left_behind(self) -> list[Callable[[], None]]:
        """Return the checks to call when the run has been dropped."""
        found = (one.left_behind() for one in self._invariants if self._thorough)
        return [check for check in found if check is not None]

    def evaluated(self, time_ns: int) -> None:
        """Look at an evaluation.

        Raises
        ------
        InvariantError
        """
        if self._thorough:
            self._run.recorder.flush_messages()
            for invariant in self._invariants:
                invariant.at_evaluation(time_ns)
        at_actors = getattr(self._run.scheduler.backend, "that_drew", list[str])()
        for generator in dict.fromkeys([*self.generators.that_drew(), *at_actors]):
            self._run.recorder.warnings.once(
                f"draws of {generator}",
                f"by {to_s(time_ns):g} s something had drawn from {generator}'s global random "
                "numbers, which no seed sets, so two runs may differ; an algorithm's draws are "
                "those of node.uniform",
            )

    def nothing_left(self, nodes: Sequence[deadlock.Processes]) -> None:
        """Look at a run at whose end nothing is left to happen."""
        now_ns, horizon_s = self._run.clock.now, self._run.world.scenario.horizon_s
        off = self._run.availability.off
        found = deadlock.in_vain(nodes, off, now_ns, horizon_s)
        if found is not None:
            self._run.recorder.warnings.once("nobody sends", found)

    def rounds(
        self, barrier: Barrier | None, end_ns: int, totals: Mapping[str, Any], in_flight: int
    ) -> dict[str, int]:
        """Count the rounds that outlast their interval; warn where nodes' work alone is why.

        Work alone is why if no message took any time: each arrived at once, or none was sent.

        Parameters
        ----------
        barrier : Barrier or None
            None under other schedules.
        totals : mapping
            What `Recorder.close` counted.
        in_flight : int
            Messages that have not ended.
        """
        outlasting = 0 if barrier is None else barrier.overlong_rounds(end_ns)
        if barrier is None or not outlasting:
            return {}
        messages = totals["messages"]
        all_came = messages["sent"] == messages["delivered"] and not in_flight
        if all_came and not totals["delay"].get("max_s", 0.0):
            self._warn_of_rounds(outlasting, barrier)
        return {"rounds_outlasting_interval": outlasting}

    def _warn_of_rounds(self, outlasting: int, barrier: Barrier) -> None:
        self._run.recorder.warnings.once(
            "rounds outlast the interval",
            f"{outlasting:,} of {barrier.round:,} rounds lasted longer than [exchange] interval_s "
            f"= {to_s(barrier.interval_ns):g}, by the nodes' own work: methods that do less in a "
            "round play more of them in the same horizon_s. A longer interval_s or a shorter "
            "[compute] step_s gives all as many",
        )

    def _unended(self, in_flight: int) -> str:
        """Time that the first message would have taken, as far as the link knows."""
        horizon_s = self._run.world.scenario.horizon_s
        end_ns = self._run.clock.next_call_ns("netsim.links")
        needed = "" if end_ns is None else f"at least {to_s(end_ns):,.4g} s needed, "
        few = "message was on its" if in_flight == 1 else "messages were on their"
        return (
            f"no message ended: {needed}{horizon_s:,.12g} s there; {in_flight:,} {few} "
            "way at the end. Shares and delays of messages are those of none; send less, over "
            "faster links, or lengthen horizon_s"
        )

    def warnings(self, totals: Mapping[str, Any], in_flight: int) -> list[str]:
        """Return the warnings that the user should know before reading the numbers.

        `totals`: what `Recorder.close` counted. `in_flight`: messages that have not ended.
        """
        ended, nodes = totals["messages"]["sent"], len(self._run.parts)
        horizon_s = self._run.world.scenario.horizon_s
        stuck = in_flight > 0 and not ended
        if stuck:
            self._run.recorder.warnings.once("no message ended", self._unended(in_flight))
        share = queued_share(in_flight, ended, totals["wakes"]["woke"], nodes)
        if share >= 0.05 and ended:
            self._run.recorder.warnings.once(
                "messages queue",
                f"{in_flight:,} of {in_flight + ended:,} messages had not come through at the end: "
                "nodes ask for more than their links carry, and queues grow. Counts, shares and "
                "delays are of messages that have ended; send less often, or less",
            )
        roles = self._run.world.roles
        servers = [i for i, role in enumerate(roles) if role == SERVER]
        for subject, text in self._run.recorder.uses.warnings(to_ns(horizon_s), servers):
            self._run.recorder.warnings.once(subject, text)
        shards = self._run.world.shards
        learners = [parts for parts in self._run.parts if shards.train_size(parts.id)]
        silent = [parts.id for parts in learners if not parts.publishing.published]
        if silent and len(silent) == len(learners):
            why = "an algorithm shows its model by node.publish(theta, stage)"
            if all(parts.id in self._run.availability.off for parts in learners):
                why = "all were off at the end"
            elif not totals["wakes"]["woke"]:
                why = "no node has woken"
            elif stuck:
                why = "no message has come through, for which they may wait"
            elif all(p.processor.busy_until_ns > self._run.clock.now for p in learners):
                free_ns = min(parts.processor.busy_until_ns for parts in learners)
                why = f"all were training, the first until {to_s(free_ns):,.4g} s"
            self._run.recorder.warnings.once(
                "never published",
                f"none of {len(learners)} nodes with data has published a model in "
                f"{horizon_s:g} s, so none was measured; {why}",
            )
        elif silent:
            self._run.recorder.warnings.once(
                "some never published",
                f"{len(silent)} of {len(learners)} nodes with data published no model in "
                f"{horizon_s:g} s (node {silent[0]} is one): means over nodes are without them",
            )
        self._warn_of_single_steps()
        self._warn_of_work_without_time()
        self._warn_of_batteries()
        if ended or in_flight:
            self._warn_of_reach()
        return self._run.recorder.warnings.all()

    def _warn_of_reach(self) -> None:
        """Warn where it matters to nothing whom nodes reach, and the scenario says how they do."""
        radio = self._run.world.scenario.radio
        if radio is None:
            return
        asked = any(parts.neighbourhood.has_asked for parts in self._run.parts)
        stated = _own_threshold(radio)
        by_threshold = asked and radio.discovery == "oracle"
        if stated and not (by_threshold or radio.routing.relays or _reads_threshold(radio)):
            why = "the method has never asked whom a node reaches (node.reachable), it sends to "
            why += "neighbours, in reach or not"
            if asked:
                why = "whom a node reaches (node.reachable), the answers to its probes say"
            self._run.recorder.warnings.once(
                "reach matters to nothing",
                f"[radio] {stated} has kept no message from any node: {why}; and packet_error "
                f'"{radio.packet_error.kind}" goes by no threshold',
            )
        if radio.discovery == "probe" and not asked:
            self._run.recorder.warnings.once(
                "no probes",
                '[radio] discovery = "probe" has had no effect: the method has never asked whom a '
                "node reaches (node.reachable); it sends to neighbours, in reach or not",
            )

    def _warn_of_work_without_time(self) -> None:
        """Warn where nodes' work takes no time, and the scenario says who is slow at it."""
        scenario, processors = self._run.world.scenario, [p.processor for p in self._run.parts]
        if any(p.has_worked for p in processors) or not any(p.local_steps for p in processors):
            return
        stated = []
        if (compute := kind_of(scenario.compute)) != "fixed":
            stated.append(f'[compute] kind = "{compute}"')
        if any(speed != 1.0 for speed in scenario.nodes.of_groups("speed")):
            stated.append("[nodes.groups] speed")
        if stated:
            self._run.recorder.warnings.once(
                "work without time",
                f"{' and '.join(stated)} had no effect: a local step takes no time; state "
                "[compute] step_s",
            )

    def _warn_of_batteries(self) -> None:
        """Warn where what emptied batteries took far more than they held."""
        unpaid_j, drawn_j = self._run.meter.unpaid_j, self._run.meter.total_j(self._run.clock.now)
        if unpaid_j > 1e-3 * drawn_j:
            self._run.recorder.warnings.once(
                "paid at the end",
                f"nodes did work for {unpaid_j:.3g} J more than their batteries held, beside the "
                f'{drawn_j:.3g} J that all drew: what [energy.radio] kind = "first_order" counts '
                "by bits, what is overheard, frames played one by one, and local steps of no time "
                "are paid for when they have ended, so what empties a battery is done to its end",
            )

    def _warn_of_single_steps(self) -> None:
        """Warn of an optimizer's memory where each training is one step, before it has any."""
        trained = [p.training for p in self._run.parts if p.training.single_steps is not None]
        if not trained or not all(training.single_steps for training in trained):
            return
        constants, without = trained[0].optimizer, None
        if constants.kind == "adam":
            without = (
                'optimizer = "adam" has moved each parameter by learning_rate in the direction of '
                "its gradient's sign, about, whatever beta1 and beta2"
            )
        elif constants.momentum > 0.0:
            without = f"momentum = {constants.momentum:g} has had no effect"
        if without is not None:
            self._run.recorder.warnings.once(
                "single steps",
                f"[training] {without}: each training was one local step, and its optimizer starts "
                "anew; it needs more local steps in one training",
            )


def _own_threshold(radio: Radio) -> str:
    """Return the scenario's words on the threshold of the SNR; empty if it has none of its own."""
    if radio.reachable is not None:
        return f"reachable = {radio.reachable:g}" if radio.calibrate == "threshold" else ""
    if "threshold_db" in radio.preset.radio() or not radio.changed(("threshold_db",)):
        return ""
    return f"threshold_db = {radio.threshold_db:g}"


def _reads_threshold(radio: Radio) -> bool:
    """Return whether a threshold of the SNR matters to packets, or to who is heard."""
    rule = radio.packet_error
    if rule.by_rate or radio.mac.one_channel:
        return True
    return bool(rule.probability(1.0, 1000, 0.1) != rule.probability(1.0, 1000, 10.0))
