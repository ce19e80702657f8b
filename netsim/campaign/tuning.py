"""Measuring on this machine which backend suits a scenario's models: the user's table of routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from netsim.backends import route_tables
from netsim.backends.route import PURPOSES, Purpose
from netsim.backends.route_tables import MeasuredRoute
from netsim.campaign.route_timing import RouteTiming
from netsim.engine.assembly import optimizer_of
from netsim.recording.whole_files import write_text
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
    """Times measured of one model.

    Attributes
    ----------
    signature : str
    nodes : int
        How many nodes took part.
    seconds : dict of str to dict of str to float
        By purpose and backend: CPU time of one core for a job, on a GPU wall time.
    route : MeasuredRoute
        What follows from them.
    """

    signature: str
    nodes: int
    seconds: dict[Purpose, dict[str, float]]
    route: MeasuredRoute


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

    Parameters
    ----------
    seconds : mapping of str to float
        Times of the backends that can do it.
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
