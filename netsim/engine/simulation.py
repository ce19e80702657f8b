"""The SimPy run: processes of all nodes to the horizon, then the run folder."""

from __future__ import annotations

import gc
import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from netsim.devices.energy import Energy
from netsim.engine import deadlock
from netsim.engine.assembly import open_context
from netsim.engine.evaluation import Evaluator, parameters_sha256
from netsim.engine.provenance import backend_name, environment, graph_summary, node_table
from netsim.messaging.barrier import Barrier
from netsim.node.node import Node
from netsim.node.process_guard import blamed, name_of, named
from netsim.recording import artifacts
from netsim.results import summary
from netsim.scenario import to_toml
from netsim.scenario.tables import AlgorithmEntry
from netsim.units import to_ns, to_s
from netsim.world.builder import World

PROGRESS_EVERY = 4096
"""Events between two looks at the wall clock."""

COLLECTED_EVERY = (20_000, 20, 100)
"""New objects, and younger collections, between two collections of Python's garbage."""


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    virtual_s: float
    horizon_s: float
    events: int
    node_steps: int
    accuracy: float | None
    wall_s: float


Watcher = Callable[[Progress], None]


def play(
    world: World,
    entry: AlgorithmEntry,
    folder: Path | None = None,
    timing_only: bool = False,
    on_progress: Watcher | None = None,
) -> dict[str, Any]:
    """Play one algorithm on a world.

    Parameters
    ----------
    world : World
    entry : AlgorithmEntry
        Names the algorithm and holds its Params.
    folder : Path or None
        The run folder; None keeps nothing but the summary.
    timing_only : bool
        Without tensor work: what is asked is in seconds, bits and losses.
    on_progress : callable
        Told now and then.

    Returns
    -------
    dict
        The summary.

    Raises
    ------
    NetsimError
        If the run fails; what was written stays readable.
    """
    torch.set_num_threads(world.scenario.run.threads)
    torch.backends.cuda.matmul.allow_tf32 = world.scenario.run.tf32
    torch.backends.cudnn.allow_tf32 = world.scenario.run.tf32
    with _seldom_collected():
        return _played(Simulation(world, entry, folder, timing_only, on_progress), folder)


def _played(run: Simulation, folder: Path | None) -> dict[str, Any]:
    """The summary of a run, which goes to its folder with all else."""
    status: dict[str, Any] = {"state": "running"}
    try:
        if folder is not None:
            run.write_inputs(folder)
            summary.write_json(folder / "status.json", status)
        run.to_horizon()
        status = {"state": "done"}
        return run.finish(folder)
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        status = {"state": "interrupted" if interrupted else "failed", "error": str(error)}
        raise
    finally:
        run.ctx.recorder.close()
        if folder is not None and folder.exists():
            status |= {"virtual_s": to_s(run.ctx.env.now)}
            summary.write_json(folder / "status.json", status)


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Garbage of a run is nearly all counted out at once: looking for cycles may wait.

    What is there before outlives the run, and need not be looked at again and again. What is left
    of the run goes at its end, before another one asks for as much memory.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*COLLECTED_EVERY)
    try:
        yield
    finally:
        gc.collect()
        gc.set_threshold(*thresholds)
        gc.unfreeze()


class Simulation:
    """One run in progress."""

    def __init__(
        self,
        world: World,
        entry: AlgorithmEntry,
        folder: Path | None,
        timing_only: bool,
        on_progress: Watcher | None,
    ) -> None:
        self.world, self.entry = world, entry
        self.on_progress = on_progress
        self.ctx = open_context(world, entry, folder, timing_only)
        self.evaluator = Evaluator(self.ctx, world.scenario.stages_of(entry))
        self.events = 0
        self.accuracy: float | None = None
        self.started_s = time.perf_counter()
        self._processes: list[deadlock.Processes] = []
        self._start_nodes()

    def _start_nodes(self) -> None:
        ctx = self.ctx
        module = importlib.import_module(type(self.entry.params).__module__)
        ctx.nodes.extend(Node(i, ctx) for i in range(len(ctx.roles)))
        for node in ctx.nodes:
            if node.id in ctx.left_out:
                self._processes.append([])
                continue
            try:
                generators = list(module.processes(node, self.entry.params))
            except Exception as error:
                raise blamed(ctx.env, node.id, "processes", error) from error
            self._processes.append(
                [(name_of(g), ctx.env.process(named(ctx.power, node.id, g))) for g in generators]
            )
        if ctx.schedule.barrier:
            deadline_s = ctx.schedule.deadline_s  # type: ignore[attr-defined]
            ctx.barrier = Barrier(
                ctx.env,
                len(ctx.nodes),
                to_ns(ctx.schedule.interval_s),  # type: ignore[attr-defined]
                None if deadline_s is None else to_ns(deadline_s),
                ctx.slot_ns,
                ctx.power.off,
                lambda: ctx.link.in_flight,
                lambda i: deadlock.is_idle(self._processes[i]),
                lambda i, wake: ctx.nodes[i].started(wake),
                self._skipped,
            )
            look = ctx.barrier.look
            ctx.power.tell(lambda _node, _on: look())

    def _skipped(self, node: int, number: int) -> None:
        self.ctx.counts["wakeups_skipped"] += 1
        self.ctx.recorder.wake(self.ctx.env.now, node, number, "skipped")

    def to_horizon(self) -> None:
        """Play until the horizon, evaluating on the way.

        Raises
        ------
        DeadlockError
            If nothing is left to happen while processes wait.
        """
        env, scenario = self.ctx.env, self.world.scenario
        horizon_ns, every_ns = to_ns(scenario.horizon_s), to_ns(scenario.evaluate_every_s)
        next_evaluation_ns, events, step, peek = 0, 0, env.step, env.peek
        while True:
            next_ns = peek()
            while next_evaluation_ns < next_ns and next_evaluation_ns <= horizon_ns:
                self._evaluate(next_evaluation_ns)
                next_evaluation_ns += every_ns
            if next_ns > horizon_ns:
                break
            step()
            events += 1
            if events % PROGRESS_EVERY == 0:
                self.events = events
                self._tell()
        self.events = events
        if env.waiting == self.ctx.power.planned + self.ctx.meter.planned:
            deadlock.require_nobody(self._processes, self.ctx.power.off, env.now)
        self._evaluate(horizon_ns, last=True)
        self._tell()

    def _evaluate(self, time_ns: int, last: bool = False) -> None:
        if not (last and time_ns % to_ns(self.world.scenario.evaluate_every_s) == 0):
            self.accuracy = self.evaluator.run(time_ns)
        if self.world.scenario.metrics.weights:
            self.evaluator.log_weights()
        self.ctx.recorder.checkpoint()

    def _tell(self) -> None:
        if self.on_progress is not None:
            self.on_progress(
                Progress(
                    to_s(min(self.ctx.env.now, to_ns(self.world.scenario.horizon_s))),
                    self.world.scenario.horizon_s,
                    self.events,
                    self.ctx.recorder.local_steps,
                    self.accuracy,
                    time.perf_counter() - self.started_s,
                )
            )

    # -- run folder ------------------------------------------------------------------------------

    def write_inputs(self, folder: Path) -> None:
        """What the run was made of: scenario, environment, nodes."""
        folder.mkdir(parents=True, exist_ok=True)
        scenario = self.world.scenario
        played = scenario.run.model_copy(update={"routes": self.ctx.routes.by_signature()})
        scenario = scenario.model_copy(update={"run": played})
        (folder / "scenario.toml").write_text(to_toml(scenario, self.entry), encoding="utf-8")
        summary.write_json(folder / "environment.json", environment(self.world, self.ctx))
        self.ctx.recorder.nodes(node_table(self.world, self.ctx))

    def finish(self, folder: Path | None) -> dict[str, Any]:
        """Close the log and sum up."""
        ctx, scenario = self.ctx, self.world.scenario
        wall_s = time.perf_counter() - self.started_s
        unread = sum(node.unread() for node in ctx.nodes)
        totals, end_ns = ctx.recorder.close(), to_ns(scenario.horizon_s)
        extra = {
            "name": scenario.name,
            "algorithm": self.entry.name,
            "seed": scenario.seed,
            "nodes": len(ctx.nodes),
            "virtual_s": scenario.horizon_s,
            "wall_s": wall_s,
            **totals,
            "energy_j": ctx.meter.total_j(end_ns),
            "counts": {
                "messages_unread": unread,
                "messages_in_flight": ctx.link.in_flight,
                "messages_superseded": sum(node.superseded() for node in ctx.nodes),
                **ctx.counts,
            },
            "engine": {
                "events": self.events,
                "events_per_s": self.events / wall_s,
                "node_steps_per_s": totals["local_steps"] / wall_s,
                "mean_batch_width": ctx.scheduler.mean_batch_width,
                "flushes": ctx.scheduler.flushes,
                "backend": backend_name(ctx),
                "one_by_one": ctx.scheduler.one_by_one,
                "device": str(self.world.shards.x.device),
            },
            "topology": graph_summary(ctx),
            "diverged": ctx.scheduler.diverged(),
            "parameters_sha256": parameters_sha256(ctx),
        }
        if self.world.positions_m is not None and self.world.budget is not None:
            extra["links"] = self.world.budget.described()
        if not ctx.power.always_on:
            extra["power"] = ctx.power.summary(end_ns)
        if scenario.energy != Energy() or any(self.world.batteries_j):
            extra["energy"] = ctx.meter.summary(end_ns)
        if scenario.attack is not None:
            extra["attack"] = {**scenario.attack.model_dump(), "malicious": sorted(ctx.malicious)}
        if folder is None:
            return summary.summarise(ctx.recorder.metric_rows(), extra)
        if not ctx.timing_only:
            artifacts.write(folder / "kept", {node.id: node.kept_values() for node in ctx.nodes})
        return summary.write(folder, extra)
