"""Asynchronous gossip from end to end, against a plain PyTorch loop that learns as much.

    python benchmarks/async_gossip.py [--model a] [--nodes 100] [--batch 10] [--json FILE]
    python benchmarks/async_gossip.py --cores 2 [--busy 2]  one thread against two, wall time

At the ticks of a Poisson clock each node sends its model to its five peers, averages what has come
and takes five local steps. netsim's side is a whole run: SimPy, messages, links, event log, an
evaluation at the beginning and one at the end. The plain loop averages six modules in place and
trains, as often, and evaluates as often; it has no time, no messages in flight and no log.
"""

import argparse
from collections.abc import Callable
from typing import Any

import _cores
import numpy as np
from _setting import PlainLoop, gossip, way_taken
from _timing import interleaved, options, prepare, save, show

from netsim import engine, world
from netsim.engine.assembly import open_learning
from netsim.world.builder import World

JOBS = {"a": 6000, "b": 3000, "c": 600, "d": 150}
"""Trainings of a run, about."""

JOBS_PER_NODE_S = 0.83
"""A node trains 0.2 s, on average once in 1.2 s."""

COLUMNS = {
    "model": "s",
    "nodes": ",",
    "batch": "d",
    "backend": "s",
    "threads": "",
    "jobs": ",",
    "jobs/call": ".1f",
    "plain us/job": ",.0f",
    "us/job": ",.0f",
    "ratio": ".2f",
    "sequential us/job": ",.0f",
    "over sequential": ".2f",
    "us/job without learning": ",.0f",
}


def plain_gossip(built: World, steps: int, jobs: int) -> Callable[[], object]:
    """The plain loop: so many times, a node averages and trains; all are measured twice."""
    loop = PlainLoop(built)
    order = np.random.default_rng(0).integers(len(loop.models), size=jobs).tolist()

    def run() -> None:
        loop.evaluate()
        for node in order:
            loop.average(node, built.neighbours[node])
            loop.train(node, steps)
        loop.evaluate()

    return run


def measure(
    model: str,
    nodes: int,
    batch: int,
    backend: str,
    device: str,
    seconds: float,
    jobs: int,
    threads: int | str = 1,
) -> dict[str, Any]:
    """One cell of the table.

    Parameters
    ----------
    model, nodes, batch, backend, device, threads
        As of `_setting.gossip`.
    seconds : float
        Of rounds.
    jobs : int
        Trainings of a run, about.
    """
    horizon_s = jobs / (JOBS_PER_NODE_S * nodes)
    built = world.build(gossip(model, nodes, batch, horizon_s, backend, device, threads))
    one_by_one = world.build(gossip(model, nodes, batch, horizon_s, "sequential", device))
    entry = built.scenario.algorithm[0]
    summary = engine.play(built, entry)
    steps = entry.params.local_steps
    jobs = summary["local_steps"] // steps
    best = interleaved(
        {
            "plain": plain_gossip(built, steps, jobs),
            "netsim": lambda: engine.play(built, entry),
            "sequential": lambda: engine.play(one_by_one, entry),
            "network": lambda: engine.play(built, entry, timing_only=True),
        },
        device,
        seconds,
        threads=threads,
    )
    us = {name: 1e6 * found / jobs for name, found in best.items()}
    return {
        "model": model,
        "nodes": nodes,
        "batch": batch,
        "backend": way_taken(open_learning(built, entry, False, lambda: 0)),
        "threads": threads,
        "jobs": jobs,
        "jobs/call": summary["engine"]["mean_batch_width"],
        "messages": summary["messages"]["delivered"],
        "plain us/job": us["plain"],
        "us/job": us["netsim"],
        "ratio": us["plain"] / us["netsim"],
        "sequential us/job": us["sequential"],
        "over sequential": us["sequential"] / us["netsim"],
        "us/job without learning": us["network"],
    }


def compare_threads(chosen: argparse.Namespace) -> None:
    """The table of one thread against several."""

    def prepared(model: str, nodes: int, batch: int, threads: int) -> _cores.Work:
        horizon_s = (chosen.jobs or JOBS[model]) / (JOBS_PER_NODE_S * nodes)
        settings = model, nodes, batch, horizon_s, chosen.backend, chosen.device, threads
        built = world.build(gossip(*settings))
        entry = built.scenario.algorithm[0]
        way = way_taken(open_learning(built, entry, False, lambda: 0))

        def digest() -> str:
            return str(engine.play(built, entry)["parameters_sha256"])

        return _cores.Work(way, lambda: engine.play(built, entry), digest)

    _cores.report(chosen, chosen.model or "cd", prepared)


def main(arguments: list[str] | None = None) -> None:
    """Print the table, write the JSON."""
    parser = options(__doc__, nodes=(100,), models="a")
    parser.set_defaults(model=None)
    parser.add_argument("--jobs", type=int, help="trainings of a run, about")
    parser.add_argument("--seconds", type=float, default=100.0, help="of rounds for each cell")
    _cores.options(parser)
    chosen = parser.parse_args(arguments)
    prepare(chosen.device)
    if chosen.cores:
        compare_threads(chosen)
        return
    cells = []
    for model in chosen.model or "a":
        jobs = chosen.jobs or JOBS[model]
        for nodes in chosen.nodes:
            for batch in chosen.batch:
                cells.append(
                    measure(
                        model,
                        nodes,
                        batch,
                        chosen.backend,
                        chosen.device,
                        chosen.seconds,
                        jobs,
                        chosen.threads,
                    )
                )
                print(f"measured {model}, {nodes} nodes, batches of {batch}", flush=True)
    show(cells, COLUMNS)
    save(chosen.json, {"device": chosen.device, "cells": cells})


if __name__ == "__main__":
    main()
