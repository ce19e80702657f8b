"""One run: everything it needs is made, its processes play to the horizon, and it is summed up."""

from __future__ import annotations

import importlib
import time
from collections import Counter
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from simpy import Event

from netsim.clock import Clock, add_callback
from netsim.engine import backend_assembly, deadlock, equipment, method_needs
from netsim.engine.assembly import (
    age_limit_s,
    membership,
    open_learning,
    open_recorder,
    wakeup_times,
)
from netsim.engine.checkpoints.checkpoint import Moment
from netsim.engine.checkpoints.journal import Journal
from netsim.engine.checkpoints.replay import CheckpointReplay
from netsim.engine.checkpoints.writing import Checkpointing
from netsim.engine.evaluation import Evaluator, kept_of, parameters_sha256
from netsim.engine.interruption import Interruption
from netsim.engine.invariants import Observed
from netsim.engine.mid_run_changes import Changes, Drifting
from netsim.engine.network_assembly import open_network, round_times_ns
from netsim.engine.node_assembly import NodeAssembly
from netsim.engine.polling import Polling
from netsim.engine.progress import Progress, Watcher
from netsim.engine.provenance import (
    backend_name,
    environment,
    graph_summary,
    made_with,
    node_table,
    task_summary,
)
from netsim.engine.run_checks import RunChecks
from netsim.errors import ReplayError
from netsim.learning.scheduler import Backend
from netsim.messaging.barrier import Barrier
from netsim.node.decisions import Agent, Decision, Decisions, Totals
from netsim.node.node import Node
from netsim.node.process_guard import start_processes
from netsim.node.publishing_verbs import LoggedWeights
from netsim.node.run_objects import RunObjects
from netsim.protocols.declaration import declaration_of
from netsim.recording import artifacts, checksums, summary
from netsim.recording import node_states as states
from netsim.recording.whole_files import make_folder, write_text
from netsim.scenario import to_toml
from netsim.scenario.private_reads import first_private_read
from netsim.scenario.tables import AlgorithmEntry
from netsim.units import BITS_PER_MEGABYTE, to_ns, to_s
from netsim.world.builder import World


class Simulation:
    """One run: what is made for it, the loop to its horizon, and what it leaves behind.

    Parameters
    ----------
    world, entry, folder, timing_only, on_progress, replay, check, agent
        As `engine.play` takes them.
    interruption : Interruption or None
        What may ask the run to end early.
    backend : Backend or None
        In place of the one that the scenario asks for.

    Attributes
    ----------
    objects : RunObjects
        What nodes have made that exists once in the run.
    decisions : Decisions
        Whom nodes ask for decisions.
    replay : CheckpointReplay or None
        None once the run is where it was broken off.
    nodes : list of Node
        As the algorithm sees them.
    parts : list of NodeInternals
        As the engine sees them.
    counts : Counter
        What nodes counted for the summary: skipped wake-ups, late replies, overwritten trainings.
    weights_due : list of LoggedWeights
        Collaboration weights that are to be written once they are computed.
    barrier : Barrier or None
        Of the schedule `rounds`.
    """

    def __init__(
        self,
        world: World,
        entry: AlgorithmEntry,
        folder: Path | None,
        timing_only: bool,
        on_progress: Watcher | None,
        interruption: Interruption | None = None,
        replay: CheckpointReplay | None = None,
        check: bool = False,
        agent: Agent | None = None,
        backend: Backend | None = None,
    ) -> None:
        self.world, self.entry = world, entry
        self.objects = RunObjects()
        self.on_progress = on_progress
        self.replay, self._interruption = replay, interruption or Interruption()
        self.started_s, self._started_cpu_s = time.perf_counter(), time.process_time()
        self.events = self.evaluations = 0
        self.score: float | None = None
        self.counts: Counter[str] = Counter()
        self.weights_due: list[LoggedWeights] = []
        self._algorithm = importlib.import_module(type(entry.params).__module__)
        algorithm = self._algorithm
        self.membership = membership(world, algorithm)
        method_needs.require(world, entry, algorithm, self.membership.left_out)

        self.clock, self.changes = Clock(), Changes(world, entry)
        self._interruption.when_asked = self.clock.stop
        self.recorder = open_recorder(world, entry, folder, is_replay=replay is not None)
        for_scheduler = None if replay is None else replay.for_scheduler
        self.learning = open_learning(
            world, entry, timing_only, lambda: self.clock.now, for_scheduler, backend
        )
        try:
            self._assemble(algorithm, folder, check, agent)
        except BaseException:
            self.learning.close()
            raise

    def _assemble(
        self, algorithm: ModuleType, folder: Path | None, check: bool, agent: Agent | None
    ) -> None:
        """Make nodes and what links them, and start their processes; arguments as of the class."""
        world, entry, params, replay = self.world, self.entry, self.entry.params, self.replay
        times = wakeup_times(world)
        last_wakeup = self._last_round if times is None else times.last_wakeup
        self.link, self.devices = open_network(world, entry, self.clock, self.recorder, last_wakeup)
        self.barrier = self._open_barrier() if times is None else None
        wakeups = self.barrier or times
        assert wakeups is not None
        declared = declaration_of(algorithm)
        decided = declared.decisions(params, world.roles)
        self.decisions = Decisions(decided, agent, self.totals, self._answer)
        assembly = NodeAssembly(
            world, self.clock, self.recorder, self.learning, self.membership, self.link,
            self.devices, wakeups, self.counts, self.weights_due, declared.tasks,
            age_limit_s(self.changes.params, world.scenario.exchange, len(world.roles)),
            objects=self.objects, decisions=self.decisions,
        )  # fmt: skip
        self.parts = [assembly.internals(i) for i in range(len(world.roles))]
        self.nodes = [assembly.node(parts) for parts in self.parts]
        self.evaluator = Evaluator(
            self.parts, self.learning, self.recorder, self.link.bits_transmitted_by,
            self.devices.meter.spent_j, world.malicious, self.weights_due,
            world.samples.num_classes, world.scenario.stages_of(entry), world.scenario.metrics.main,
        )  # fmt: skip
        self.changes.plan(
            self.clock, self.link, self.devices, self.learning, self.barrier, self.recorder,
            self.parts, self.nodes,
        )  # fmt: skip
        shards = self.learning.shards
        self._drifting = Drifting(self.clock, shards, self.nodes, world.data_changes)
        self._polling, self._checkpointing = Polling(), None
        if folder is not None and not self.learning.timing_only:
            journal = Journal(folder) if replay is None else replay.journal
            versions, scheduler = made_with(world, algorithm), self.learning.scheduler
            self._checkpointing = Checkpointing(journal, scheduler, self.recorder, versions)
        observed = Observed(
            world, self.clock, self.recorder, self.link, self.devices.availability,
            self.devices.meter, self.parts, self.learning.scheduler, self.evaluator,
            declared.mixes_to_one,
        )  # fmt: skip
        self.checks = RunChecks(observed, check)
        if reading := first_private_read(algorithm):
            self.recorder.warnings.once(
                "private reads",
                f"{reading}, which is no part of netsim.api: what it takes there, as test samples "
                "or values of other nodes, is in no other warning, no message and no virtual time",
            )
        self._processes = [self._start(node, algorithm) for node in self.nodes]

    def _answer(self, agent: Agent, asked: Decision) -> Any:
        return self.checks.generators.leave_out(agent, asked)[0]

    def _start(self, node: Node, algorithm: ModuleType) -> deadlock.Processes:
        if node.id in self.membership.left_out:
            return []
        availability, params = self.devices.availability, self.changes.params
        make = partial(algorithm.processes, node, params)
        started = start_processes(node.id, make, self.clock, availability)
        self.decisions.note_processes(node.id, len(started))
        for _, process in started:
            add_callback(process, partial(self._process_ended, node.id))
        return started

    def _process_ended(self, node: int, process: Event) -> None:
        """Take note of a process that has ended; one that failed ends the run instead."""
        if not process.ok:
            return
        self.decisions.process_ended(node)
        if self.barrier is not None:
            self.barrier.recheck()  # nobody waits for the node if it was the last

    # -- rounds ----------------------------------------------------------------------------------

    def _open_barrier(self) -> Barrier:
        """The barrier of `rounds`, told when a device is switched."""
        availability = self.devices.availability
        barrier = Barrier(
            self.clock,
            len(self.world.roles),
            *round_times_ns(self.world.scenario.exchange),
            self.devices.slot_ns,
            availability.off,
            in_flight=lambda: self.link.in_flight,
            idle=lambda i: deadlock.only_listens(self._processes[i]),
            started=lambda i, wake: self.parts[i].wakeups.note_round_start(wake),
            skipped=self._skipped,
        )
        availability.add_listener(lambda _node, _on: barrier.recheck())
        return barrier

    def _last_round(self, node: int, time_ns: int) -> tuple[int, int]:
        """Return a link's limits for a node's last wake-up under `rounds`: the round decides."""
        assert self.barrier is not None
        return 0, self.barrier.round

    def _skipped(self, node: int, number: int) -> None:
        self.counts["wakeups_skipped"] += 1
        self.recorder.wake(self.clock.now, node, number, "skipped")

    # -- the loop --------------------------------------------------------------------------------

    def to_horizon(self) -> None:
        """Play until the horizon, evaluating on the way.

        Raises
        ------
        DeadlockError
            If nothing is left to happen while processes wait.
        ReplayError
            If a run that goes on does not come to where it was.
        """
        clock, scenario = self.clock, self.world.scenario
        horizon_ns, every_ns = to_ns(scenario.horizon_s), to_ns(scenario.evaluate_every_s)
        for evaluation_ns in range(0, horizon_ns + 1, every_ns):
            self._play(evaluation_ns)
            self._evaluate(evaluation_ns)
        self._play(horizon_ns)
        if self.replay is not None:
            raise ReplayError(f"it ended after {self.events} events")
        availability, meter = self.devices.availability, self.devices.meter
        if clock.num_queued == availability.planned + meter.planned:
            deadlock.require_no_deadlock(self._processes, availability.off, clock.now)
            self.checks.nothing_left(self._processes)
        self._evaluate(horizon_ns, last=True)
        self.decisions.end(self.totals(horizon_ns))
        self.tell()

    def _play(self, until_ns: int) -> None:
        """Let all events up to an instant happen, telling of the progress now and then.

        Raises
        ------
        Interrupted
            If the run was asked to end; it can go on.
        """
        passing = deadlock.TimePasses(self.clock, self._processes, until_ns)
        while True:
            most = self._do_what_is_due()
            happened = self.clock.play(until_ns, most)
            self.events += happened
            if happened < most and not self.clock.is_stopped:
                return
            passing.count(happened)
            if self._polling.is_progress_due():
                self.tell()

    def _do_what_is_due(self) -> int:
        """See between two events what is due; how many events may happen until the next look."""
        if self.replay is not None:
            self._interruption.require_none()
            ahead = self.replay.events_until_look(self.events, self.evaluations)
            if ahead:
                return min(ahead, self._polling.events())
            self._go_on(self.replay)
        if self._checkpointing is None:
            self._interruption.require_none()
            return self._polling.events()
        is_asked = self._interruption.signal is not None
        if self._checkpointing.is_due() or is_asked:
            # A run that is about to fail would fail again; it goes on from before the mistake.
            if not self.clock.is_failing:
                self._checkpointing.write(self._moment())
            self._interruption.require_none()
        return self._polling.events()

    def _moment(self) -> Moment:
        return Moment(
            events=self.events,
            evaluations=self.evaluations,
            time_ns=self.clock.now,
            accuracy=self.score,
            wall_s=time.perf_counter() - self.started_s,
            evaluation_wall_s=self.evaluator.wall_s,
        )

    def _go_on(self, replay: CheckpointReplay) -> None:
        """End the replay: from here on the run is played as any other."""
        device = self.world.shards.x.device
        replay.go_on(self._moment(), self.learning.scheduler, self.recorder, device)
        then = replay.checkpoint.moment
        self.score, self.evaluator.wall_s = then.accuracy, then.evaluation_wall_s
        self.started_s -= then.wall_s
        if self._checkpointing is not None:
            self._checkpointing.go_on(replay.checkpoint.numbers)
        self.replay = None

    def _evaluate(self, time_ns: int, last: bool = False) -> None:
        if not (last and time_ns % to_ns(self.world.scenario.evaluate_every_s) == 0):
            self.score = self.evaluator.run(time_ns)
            if time_ns < to_ns(self.world.scenario.horizon_s):
                self.tell("" if self.events else "first events")
        if self.world.scenario.metrics.weights:
            self.evaluator.log_weights()
        self.evaluations += 1
        self.checks.evaluated(time_ns)
        self.recorder.checkpoint()

    def tell(self, doing: str = "") -> None:
        """Tell how far the run has come, and what it does while there are no events."""
        if self.on_progress is not None:
            self.on_progress(
                Progress(
                    to_s(min(self.clock.now, to_ns(self.world.scenario.horizon_s))),
                    self.world.scenario.horizon_s,
                    self.events,
                    self.recorder.local_steps,
                    self.score,
                    time.perf_counter() - self.started_s,
                    self.evaluator.means,
                    to_s(self.evaluator.time_ns),
                    self.world.scenario.main_metric.name,
                    self.evaluator.wall_s,
                    doing,
                )
            )

    def totals(self, time_ns: int | None = None) -> Totals:
        """Count what the run has spent and reached by now, or a later time, for agents' rewards."""
        now_ns, nodes = self.clock.now if time_ns is None else time_ns, range(len(self.nodes))
        each = np.array(list(self.evaluator.main_values.values()), dtype=np.float64)
        squares = float((each**2).sum())
        return Totals(
            to_s(now_ns),
            sum(self.devices.meter.spent_j(i, now_ns) for i in nodes),
            sum(self.link.bits_transmitted_by(i) for i in nodes) / BITS_PER_MEGABYTE,
            float(each.mean()) if len(each) else 0.0,
            float(each.sum()) ** 2 / (len(each) * squares) if squares > 0 else 1.0,
        )

    # -- run folder ------------------------------------------------------------------------------

    def write_inputs(self, folder: Path) -> None:
        """Write what the run is made of: scenario, environment, nodes."""
        make_folder(folder)
        world, scenario = self.world, self.world.scenario
        played = scenario.run.model_copy(update={"routes": self.learning.routes.by_signature()})
        scenario = scenario.model_copy(update={"run": played})
        text = to_toml(scenario, self.entry)
        Journal(folder).keep_scenario(text)
        write_text(folder / "scenario.toml", text)
        made_of = environment(world, self.learning, self.link.discovery, self._algorithm)
        summary.write_json(folder / "environment.json", made_of)
        self.recorder.nodes(node_table(world, self.devices))

    def finish(self, folder: Path | None) -> dict[str, Any]:
        """Close the log and sum up.

        `folder`: where the summary and the values kept are written.

        Returns
        -------
        dict
            The summary.
        """
        found, ties = self._summary_fields(), self.world.scenario.metrics.ties
        self.checks.after(found)
        shards = self.learning.shards
        tested = {p.id: len(shards.split_rows(shards.held[p.id], "test")) for p in self.parts}
        if folder is None:
            return summary.summarise(self.recorder.metric_rows(), found, ties, tested)
        checksums.require_as_written(folder, checksums.results(folder))
        if not self.learning.timing_only:
            keep = self.world.scenario.metrics.keep
            kept = {
                parts.id: parts.publishing.kept_values() | kept_of(parts, shards, keep)
                for parts in self.parts
            }
            artifacts.write(folder / "kept", kept)
        if self.recorder.intervals is not None:
            found["time_s"] = states.totals(folder, to_ns(self.world.scenario.horizon_s))
        return summary.write(folder, found, ties, tested)

    def _summary_fields(self) -> dict[str, Any]:
        """Return the fields of the summary that are not read from the metrics."""
        world, scenario = self.world, self.world.scenario
        availability, meter = self.devices.availability, self.devices.meter
        scheduler = self.learning.scheduler
        wall_s = time.perf_counter() - self.started_s
        end_ns = to_ns(scenario.horizon_s)
        if self.recorder.intervals is not None:
            self.recorder.intervals.end(end_ns)
        self.recorder.uses.end(min(self.clock.now, end_ns))
        totals = self.recorder.close()
        backend_fields = backend_assembly.record_fields(scheduler.backend)
        found: dict[str, Any] = {
            "name": scenario.name,
            "algorithm": self.entry.name,
            "seed": scenario.seed,
            "nodes": len(self.nodes),
            "task": task_summary(scenario),
            "virtual_s": scenario.horizon_s,
            "wall_s": wall_s,
            **totals,
            "energy_j": meter.total_j(end_ns),
            "counts": {
                "messages_unread": sum(parts.inbox.unread_count() for parts in self.parts),
                "messages_in_flight": self.link.in_flight,
                "messages_superseded": sum(parts.inbox.superseded_count() for parts in self.parts),
                **self.counts,
                **self.checks.rounds(self.barrier, end_ns, totals, self.link.in_flight),
            },
            "engine": {
                "events": self.events,
                "events_per_s": self.events / wall_s,
                "cpu_s": time.process_time() - self._started_cpu_s,
                "node_steps_per_s": totals["local_steps"] / wall_s,
                "evaluation_wall_s": self.evaluator.wall_s,
                "evaluation_share": self.evaluator.wall_s / wall_s,
                "mean_batch_width": scheduler.mean_batch_width,
                "flushes": scheduler.flushes,
                "backend": backend_name(scheduler),
                "one_by_one": scheduler.one_by_one,
                "ways": scheduler.ways,
                "device": str(world.shards.x.device),
            },
            "topology": graph_summary(self.membership),
            "diverged": scheduler.diverged_entries(),
            "diverged_by_message": scheduler.caught_entries(),
            "warnings": [
                *self.checks.warnings(totals, self.link.in_flight),
                *self.evaluator.without_main(),
                *self.evaluator.without_stages(bool(self.entry.stages)),
                *self.evaluator.partly_measured(),
            ],
            "parameters_sha256": parameters_sha256(self.parts, scheduler),
        }
        found["engine"] |= backend_fields
        if "other_processors" in backend_fields:
            found["warnings"].append(
                f"actors ran on {', '.join(backend_fields['other_processors'])}, the event loop on "
                f"{equipment.processor()}: numbers may differ in the last bits from those of one "
                "machine"
            )
        if "spilled_bytes" in backend_fields:
            found["warnings"].append(
                f"models took {backend_fields['spilled_bytes'] / 1e9:.1f} GB in files of "
                f"{scenario.run.spill_dir}; a process gives memory of them back to the system "
                f"beyond {scenario.run.spill_above_gb:g} GB"
            )
        if self.decisions.count:
            found["decisions"] = {"by": self.decisions.by, "count": self.decisions.count}
        if world.positions_m is not None and world.budget is not None:
            found["links"] = world.budget.as_dict()
        if not availability.always_on:
            found["power"] = availability.summary(end_ns)
        found["energy"] = meter.summary(end_ns)
        if world.data_changes:
            found["drift"] = self._drifting.summary()
        if scenario.changes:
            found["changes"] = self.changes.summary()
        if scenario.attack is not None:
            attack = scenario.attack.model_dump()
            found["attack"] = {**attack, "malicious": sorted(world.malicious)}
        return found
