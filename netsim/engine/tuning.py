"""Measuring on this machine which backend suits a scenario's models: the user's table of routes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from netsim.backends import dispatch
from netsim.backends.dispatch import Route, Way
from netsim.backends.job_types.replace_columns import ReplaceColumns
from netsim.backends.job_types.train import Train
from netsim.backends.plain import cross_entropy
from netsim.backends.sequential import Sequential
from netsim.backends.stacked.backend import Stacked
from netsim.engine.assembly import optimizer_of
from netsim.learning.architecture import Architecture
from netsim.learning.jobs import Batches, Optimizer
from netsim.learning.optimizers import state_size
from netsim.learning.refs import Cell, Ref
from netsim.learning.scheduler import Backend, Limits, Scheduler
from netsim.learning.shards import Shards
from netsim.rng import Streams
from netsim.scenario import file as scenario_file
from netsim.world.builder import World

STEPS = 5
"""Local steps of a timed job."""
ROUNDS = 3
"""Timings of each, of which the fastest counts."""
MOST_NODES = 64
"""How many nodes take part at most."""
LANES = (16, 32, 64)
"""Nodes in one stacked call that are tried."""
WORTH = 1.05
"""Stacked must be so much faster to be chosen: below that it is noise."""


@dataclass(frozen=True)
class Measurement:
    """What was measured of one model.

    Attributes
    ----------
    signature : str
    nodes : int
        How many nodes took part.
    ratios : dict of str to float
        By purpose: time node after node over time stacked.
    route : Route
        What follows from them.
    """

    signature: str
    nodes: int
    ratios: dict[str, float]
    route: Route


def tune(world: World) -> list[Measurement]:
    """Measure every model of a scenario in the minibatches of each of its algorithms."""
    scenario = world.scenario
    torch.set_num_threads(1)
    found: dict[str, Measurement] = {}
    for entry in scenario.algorithm:
        training = scenario.training_of(entry)
        shards = world.shards.in_batches_of(training.batch_size)
        for architecture in dict.fromkeys(world.architectures):
            name = dispatch.signature(architecture, shards.batch_size)
            nodes = [
                i
                for i, a in enumerate(world.architectures)
                if a is architecture and shards.train_size(i)
            ]
            if name not in found and nodes:
                constants = optimizer_of(training)
                found[name] = _measured(architecture, nodes, shards, world.streams, constants, name)
    return list(found.values())


def _measured(
    architecture: Architecture,
    nodes: Sequence[int],
    shards: Shards,
    streams: Streams,
    optimizer: Optimizer,
    name: str,
) -> Measurement:
    """Time the jobs of one model on both backends, in turns."""
    nodes = nodes[:MOST_NODES]
    timings = _Timings(architecture, nodes, shards, streams, optimizer)
    by_lanes = {
        n: timings.training_speedup(None, n) for n in LANES if n <= max(len(nodes), LANES[0])
    }
    best = max(by_lanes, key=by_lanes.__getitem__)
    ratios = {
        "train": by_lanes[best],
        "loss": timings.training_speedup(cross_entropy, best),
        "look": timings.inference_speedup(),
    }

    def way(purpose: str) -> Way:
        return "stacked" if ratios[purpose] >= WORTH else "sequential"

    route = Route(train=way("train"), loss=way("loss"), look=way("look"), lanes=best)
    return Measurement(name, len(nodes), ratios, route)


class _Timings:
    """Times one model's jobs on both backends, recorded as a run would."""

    def __init__(
        self,
        architecture: Architecture,
        nodes: Sequence[int],
        shards: Shards,
        streams: Streams,
        optimizer: Optimizer,
    ) -> None:
        self._architecture, self._nodes = architecture, nodes
        self._shards, self._streams, self._optimizer = shards, streams, optimizer
        self._row = architecture.row()

    def training_speedup(self, loss: Callable[..., torch.Tensor] | None, lanes: int) -> float:
        """How many times faster local steps are stacked."""
        return self._ratio(lanes, lambda backend: lambda: self._train(backend, loss))

    def inference_speedup(self) -> float:
        """How many times faster models are measured stacked."""

        def look(backend: Backend) -> Callable[[], None]:
            scheduler = Scheduler(backend, Limits(1, 1), lambda: 0, ReplaceColumns)
            asked = [
                (Ref(i, self._cell(scheduler)), self._shards.split_rows(i, "train"))
                for i in self._nodes
            ]

            def run() -> None:
                backend.predictions(asked)

            return run

        return self._ratio(None, look)

    def _ratio(self, lanes: int | None, prepared: Callable[[Backend], Callable[[], None]]) -> float:
        chosen = dispatch.Routes({id(self._architecture): ("", Route(lanes=lanes), "")})
        a = self._architecture
        ways = [
            prepared(Sequential(self._shards, self._streams)),
            prepared(Stacked(self._shards, self._streams, chosen, a.device, a.dtype)),
        ]
        best = [float("inf")] * 2
        for _ in range(ROUNDS + 1):  # the first is for caches, and is never the best
            for i, run in enumerate(ways):
                best[i] = min(best[i], _seconds(run, a.device))
        return best[0] / best[1]

    def _cell(self, scheduler: Scheduler) -> Cell:
        return Cell(scheduler, tuple(self._row.shape), self._architecture, self._row.clone())

    def _train(self, backend: Backend, loss: Callable[..., torch.Tensor] | None) -> None:
        limits = Limits(MOST_NODES + 1, MOST_NODES + 1)
        scheduler = Scheduler(backend, limits, lambda: 0, ReplaceColumns)
        size = state_size(self._optimizer.kind, self._architecture.num_parameters)
        kept = []
        for node in self._nodes:
            start, end = self._cell(scheduler), self._cell(scheduler)
            batches = Batches(node, "train", 0, STEPS)
            work = Train(batches, self._optimizer, loss, (), 0, (), None, False)
            scheduler.submit(work, node, (Ref(node, start),), (end, Cell(scheduler, (size,))))
            kept.append(end)
        scheduler.flush()


def _seconds(run: Callable[[], None], device: torch.device) -> float:
    on_gpu = device.type == "cuda"
    if on_gpu:
        torch.cuda.synchronize(device)
    clock = time.perf_counter if on_gpu else time.process_time
    start = clock()
    run()
    if on_gpu:
        torch.cuda.synchronize(device)
    return clock() - start


def write_table(found: Sequence[Measurement], path: Path) -> None:
    """Add measurements to the user's table; what it holds of other models stays.

    Raises
    ------
    ScenarioError
        If the table that is there can't be read.
    OSError
        If it can't be written.
    """
    table = dispatch.read_measured(path) | {m.signature: m.route for m in found}
    tables = {"route": {n: r.model_dump(exclude_none=True) for n, r in sorted(table.items())}}
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    partial.write_text(
        "# Written by netsim tune; which backend runs which model here.\n"
        + scenario_file.write(tables),
        encoding="utf-8",
    )
    partial.replace(path)
