"""Measuring on this machine which backend suits a scenario's models: the user's table of routes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from netsim.backends import route_tables
from netsim.backends.dispatch import Choice, Routes
from netsim.backends.native.backend import Native
from netsim.backends.native.support import native_support
from netsim.backends.plain import default_loss
from netsim.backends.route import PURPOSES, Purpose, Route, backends_for
from netsim.backends.route_tables import MeasuredRoute
from netsim.backends.sequential import Sequential
from netsim.backends.stacked.backend import Stacked
from netsim.engine.backend_assembly import optimizer_of
from netsim.engine.job_times import lasting, trainings
from netsim.learning.architecture import Architecture
from netsim.learning.jobs import Optimizer
from netsim.learning.refs import Cell, Ref
from netsim.learning.scheduler import Backend
from netsim.learning.shards import Shards
from netsim.recording.whole_files import write_text
from netsim.rng import Streams
from netsim.scenario import file as scenario_file
from netsim.world.builder import World

ROUNDS = 3
"""Timings of each, of which the fastest counts."""
MOST_NODES = 64
"""Greatest number of nodes that take part."""
LANES = (16, 32, 64)
"""Nodes in one stacked call that are tried."""
PREFERRED = ("native", "sequential", "stacked")
"""The first of these that is fast enough is chosen; see `WORTH`."""
WORTH = 1.05
"""Factor by which a preferred backend may be slower than the fastest: below that it is noise."""


@dataclass(frozen=True)
class Measurement:
    """Times measured of one model."""

    signature: str
    nodes: int  # how many nodes took part
    # by purpose and backend: CPU time of one core for a job, on a GPU wall time
    seconds: dict[Purpose, dict[str, float]]
    route: MeasuredRoute  # what follows from them


def tune(world: World) -> list[Measurement]:
    """Measure every model of a scenario in the minibatches of each of its algorithms."""
    scenario = world.scenario
    torch.set_num_threads(1)
    found: dict[str, Measurement] = {}
    for entry in scenario.algorithm:
        training = scenario.training_of(entry)
        shards = world.shards.in_batches_of(training.batch_size)
        for architecture in dict.fromkeys(world.architectures):
            name = route_tables.signature(architecture, shards.batch_size)
            nodes = [
                i
                for i, a in enumerate(world.architectures)
                if a is architecture and shards.train_size(i)
            ][:MOST_NODES]
            if name not in found and nodes:
                optimizer = optimizer_of(training)
                timing = RouteTiming(architecture, nodes, shards, world.streams, optimizer)
                found[name] = _measured(timing, len(nodes), name)
    return list(found.values())


def _measured(timing: RouteTiming, nodes: int, name: str) -> Measurement:
    """Time the jobs of one model by all backends, in turns."""
    lanes = [n for n in LANES if n <= max(nodes, LANES[0])]
    training = timing.seconds("train", ROUNDS, lanes)
    best = min(lanes, key=lambda most: training["stacked", most])
    seconds: dict[Purpose, dict[str, float]] = {}
    for purpose in PURPOSES:
        found = training if purpose == "train" else timing.seconds(purpose, ROUNDS, [best])
        seconds[purpose] = {
            way: took / nodes for (way, most), took in found.items() if most in (None, best)
        }
    ways = {purpose: fastest(each) for purpose, each in seconds.items()}
    route = MeasuredRoute.model_validate({**ways, "lanes": best, "native": timing.variant})
    return Measurement(name, nodes, seconds, route)


def fastest(seconds: Mapping[str, float]) -> str:
    """The backend to take: the first of `PREFERRED` that is as good as the fastest.

    `seconds`: times of the backends that can do it.
    """
    enough = WORTH * min(seconds.values())
    return next(way for way in PREFERRED if seconds.get(way, float("inf")) <= enough)


def write_table(found: Sequence[Measurement], path: Path) -> None:
    """Add measurements to the user's table; what it holds of other models stays.

    Raises
    ------
    ScenarioError
        If the table that is there can't be read.
    OSError, FolderError
        If it can't be written.
    """
    table = route_tables.read_measured(path) | {m.signature: m.route for m in found}
    tables = {"route": {n: r.model_dump(exclude_none=True) for n, r in sorted(table.items())}}
    path.parent.mkdir(parents=True, exist_ok=True)
    head = "# Written by netsim tune; which backend runs which model here.\n"
    write_text(path, head + scenario_file.write(tables))


STEPS = 5
"""Local steps of a timed job."""

Run = Callable[[], object]


class RouteTiming:
    """Times one model's jobs by each backend, on one core.

    Parameters
    ----------
    nodes : sequence of int
        Nodes of this model, which all take part.
    shards : Shards
        The samples of all nodes.

    Attributes
    ----------
    variant : str or None
        The instruction set of the native kernel; None: there is none that knows the model.
    """

    def __init__(
        self,
        architecture: Architecture,
        nodes: Sequence[int],
        shards: Shards,
        streams: Streams,
        optimizer: Optimizer,
    ) -> None:
        self._architecture, self._nodes = architecture, list(nodes)
        self._shards, self._streams, self._optimizer = shards, streams, optimizer
        self._row = architecture.row()
        support = native_support([architecture], tuple(shards.x.shape[1:]), shards.task)
        self._library = support.library
        self.variant = support.variants.get(architecture)

    def backends(self, purpose: Purpose) -> tuple[str, ...]:
        """List the backends that can do such jobs of this model."""
        known = backends_for(purpose)
        return known if self.variant else tuple(name for name in known if name != "native")

    def seconds(
        self, purpose: Purpose, rounds: int, lanes: Sequence[int | None] = (None,)
    ) -> dict[tuple[str, int | None], float]:
        """The best time of each backend, in turns; CPU time, on a GPU wall time.

        Parameters
        ----------
        purpose : {"train", "loss", "infer"}
        rounds : int
            Timings of each, after one for caches.
        lanes : sequence of int or None
            How many nodes a stacked call may take; each is timed.

        Returns
        -------
        dict of (str, int or None) to float
            By backend and its lanes.
        """
        runs = {}
        for name in self.backends(purpose):
            for most in lanes if name == "stacked" else (None,):
                runs[name, most] = self._prepared(purpose, self._backend(name, most))
        return _best(runs, rounds, self._architecture.device)

    def _backend(self, name: str, lanes: int | None) -> Backend:
        if name == "sequential":
            return Sequential(self._shards, self._streams)
        way = f"native/{self.variant}" if name == "native" else name
        ways = {p: way if name in backends_for(p) else "stacked" for p in PURPOSES}
        route = Route.model_validate({**ways, "lanes": lanes})
        routes = Routes({id(self._architecture): Choice("", route, "")})
        a = self._architecture
        stacked = Stacked(self._shards, self._streams, routes, a.device, a.dtype)
        if name == "stacked":
            return stacked
        assert self._library is not None
        return Native(stacked, routes, self._library, threads=1)

    def _prepared(self, purpose: Purpose, backend: Backend) -> Run:
        if purpose == "infer":
            starts = self._starts()
            asked = [(Ref(i, c), self._shards.split_rows(i, "train")) for i, c in starts.items()]
            return lambda: backend.predictions(asked)
        loss = default_loss if purpose == "loss" else None

        def train() -> None:
            jobs, _kept = trainings(self._starts(), self._optimizer, STEPS, loss)
            backend.execute(jobs)

        return train

    def _starts(self) -> dict[int, Cell]:
        """A model of each node."""
        nobody: Any = None  # nothing asks who computes them
        shape, row = tuple(self._row.shape), self._row
        return {i: Cell(nobody, shape, self._architecture, row.clone()) for i in self._nodes}


def _best(
    runs: Mapping[tuple[str, int | None], Run], rounds: int, device: torch.device
) -> dict[tuple[str, int | None], float]:
    """The fastest of some rounds, in which all take their turn; the first is for caches alone."""
    best = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    for _ in range(rounds):
        for key, run in runs.items():
            best[key] = min(best[key], lasting(run, device))
    return best
