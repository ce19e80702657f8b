"""Speed of local training without a network, against a plain PyTorch loop of the same run.

    python benchmarks/local_sgd.py [--model a resnet18] [--nodes 100] [--batch 10] [--json FILE]
    python benchmarks/local_sgd.py --cores 2 [--busy 2]     one thread against two, wall time

N nodes take k local steps each of SGD with momentum, on their own data, from their own start.
netsim's side records N training jobs with the scheduler and runs them, as in a simulation; the
plain loop trains one `torch.nn.Module` after another with autograd and `torch.optim.SGD`.
"""

import argparse
import hashlib
from collections.abc import Callable
from itertools import product
from typing import Any
from weakref import ref as weak

import _cores
import torch
from _setting import MODELS, SHIPPED, PlainLoop, flop_per_step, own_starts, way_taken
from _timing import available_bytes, interleaved, options, peak_flop_per_s, prepare, save, show

from netsim.backends.job_type import job_type
from netsim.backends.job_types.train import Train
from netsim.engine.assembly import Learning, open_learning
from netsim.learning.jobs import Batches, Job
from netsim.learning.optimizers import state_size
from netsim.learning.refs import Cell, Ref
from netsim.world.builder import World

ROWS_A_NODE = 9
"""Most rows of parameters in memory at a time. The plain loop has parameters, gradients and
velocities; netsim has starts and results in slabs, which grow by half and are copied as they do."""

COLUMNS = {
    "model": "s",
    "nodes": ",",
    "batch": "d",
    "backend": "s",
    "threads": "",
    "jobs/call": ".1f",
    "plain us/step": ",.1f",
    "us/step": ",.1f",
    "ratio": ".2f",
    "kernel us/step": ",.1f",
    "kernel ratio": ".2f",
    "plain GFLOP/s": ",.1f",
    "GFLOP/s": ",.1f",
    "% of peak": ".1f",
}


class Jobs:
    """Training jobs, one per node, recorded and run again and again."""

    def __init__(self, learning: Learning, steps: int) -> None:
        self.learning, self.steps = learning, steps
        self._first = 0
        self.results: list[Cell] = []

    def run(self) -> None:
        """Record a job for each node and run all of them."""
        learning, scheduler = self.learning, self.learning.scheduler
        results = []
        for node, cell in enumerate(learning.initial):
            new, state = _outputs(learning, cell)
            scheduler.submit(self._work(node), node, (Ref(node, cell),), (new, state))
            results.append(new)
        scheduler.flush()
        self._first += self.steps
        assert all(cell.is_computed for cell in results)
        self.results = results

    def kernel(self) -> Callable[[], None]:
        """The same work without scheduler and grouping: the backend's call itself."""
        learning, backend = self.learning, self.learning.scheduler.backend
        way = learning.routes.backend_name(learning.initial[0].architecture, "train")
        resources = backend._resources if way == "native" else backend.resources
        kernel, (example, _) = job_type(Train).kernels[way], self._job(0)
        call = kernel.prepare(kernel.signature(example, resources), [example], resources)

        def run() -> None:
            jobs, _results = zip(*map(self._job, range(len(learning.initial))), strict=True)
            for first in range(0, len(jobs), call.most):
                call.run(jobs[first : first + call.most], call.most)

        return run

    def digest(self) -> str:
        """Run the jobs; a hash of what they give."""
        self.run()
        found = hashlib.sha256()
        for cell in self.results:
            found.update(cell.materialise().numpy().tobytes())
        return found.hexdigest()

    def _job(self, node: int) -> tuple[Job, Cell]:
        start = self.learning.initial[node]
        new, state = _outputs(self.learning, start)
        outputs, shapes = (weak(new), weak(state)), (new.shape, state.shape)
        return Job(self._work(node), node, 0, (Ref(node, start),), outputs, shapes), new

    def _work(self, node: int) -> Train:
        batches = Batches(node, "train", self._first, self.steps)
        return Train(batches, self.learning.optimizer, None, (), 0, (), None, False)


def _outputs(learning: Learning, start: Cell) -> tuple[Cell, Cell]:
    architecture = start.architecture
    size = state_size(learning.optimizer.kind, architecture.num_parameters)
    return Cell(learning.scheduler, start.shape, architecture), Cell(learning.scheduler, (size,))


def too_large(world_bytes: int, device: str) -> str | None:
    """Why a cell can't be measured; None if it can."""
    available = available_bytes(device)
    if world_bytes < 0.9 * available:
        return None
    return f"needs some {world_bytes / 2**30:.0f} GiB, {available / 2**30:.0f} GiB are free"


def measure(
    cell: dict[str, Any], chosen: argparse.Namespace, peak_flop_per_s: float
) -> dict[str, Any]:
    """One cell of the table."""
    model, nodes, batch = cell["model"], cell["nodes"], cell["batch"]
    backend, device = chosen.backend, chosen.device
    probe = own_starts(model, 2, batch, backend, device)
    row_bytes = 4 * probe.architectures[0].num_values
    reason = too_large(ROWS_A_NODE * nodes * row_bytes, device)
    if reason is not None:
        return cell | {"left_out": reason}
    world = own_starts(model, nodes, batch, backend, device, chosen.threads)
    timed = _timed(world, (MODELS | SHIPPED)[model].steps, chosen)
    return cell | timed | _speeds(timed, flop_per_step(model, batch), peak_flop_per_s)


def _timed(world: World, steps: int, chosen: argparse.Namespace) -> dict[str, Any]:
    device = world.shards.x.device.type
    nodes = len(world.initial)
    plain = PlainLoop(world)
    learning = open_learning(world, world.scenario.algorithm[0], False, lambda: 0)
    jobs = Jobs(learning, steps)

    def plain_loop() -> None:
        for node in range(nodes):
            plain.train(node, steps)

    jobs.run()
    width = learning.scheduler.mean_batch_width
    runs = {"plain": plain_loop, "netsim": jobs.run}
    way = way_taken(learning)
    if chosen.kernel and way != "sequential":
        runs["kernel"] = jobs.kernel()
    best = interleaved(runs, device, chosen.seconds, threads=chosen.threads)
    us = {name: 1e6 * found / (nodes * steps) for name, found in best.items()}
    kernel = us.get("kernel")
    return {
        "steps": steps,
        "parameters": world.architectures[0].num_parameters,
        "backend": way,
        "threads": chosen.threads,
        "jobs/call": width,
        "plain us/step": us["plain"],
        "us/step": us["netsim"],
        "ratio": us["plain"] / us["netsim"],
        "kernel us/step": kernel,
        "kernel ratio": kernel and us["plain"] / kernel,
    }


def _speeds(timed: dict[str, Any], flop: int, peak_flop_per_s: float) -> dict[str, Any]:
    """Return the share of the machine's peak that both sides reach."""
    reached = 1e6 * flop / timed["us/step"]
    return {
        "flop/step": flop,
        "plain GFLOP/s": flop / timed["plain us/step"] / 1e3,
        "GFLOP/s": reached / 1e9,
        "% of peak": 100 * reached / peak_flop_per_s,
    }


def compare_threads(chosen: argparse.Namespace) -> None:
    """The table of one thread against several."""

    def prepared(model: str, nodes: int, batch: int, threads: int) -> _cores.Work:
        world = own_starts(model, nodes, batch, chosen.backend, chosen.device, threads)
        learning = open_learning(world, world.scenario.algorithm[0], False, lambda: 0)
        jobs = Jobs(learning, (MODELS | SHIPPED)[model].steps)
        return _cores.Work(way_taken(learning), jobs.run, jobs.digest)

    _cores.report(chosen, chosen.model or "cd", prepared)


def main(arguments: list[str] | None = None) -> None:
    """Print the table, write the JSON."""
    parser = options(__doc__, nodes=(10, 100, 1000), choices=[*MODELS, *SHIPPED])
    parser.set_defaults(batch=[10, 16, 64], model=None)
    parser.add_argument("--kernel", action="store_true", help="time the backend's call alone, too")
    parser.add_argument("--seconds", type=float, default=10.0, help="of rounds for each cell")
    _cores.options(parser)
    chosen = parser.parse_args(arguments)
    prepare(chosen.device)
    if chosen.cores:
        compare_threads(chosen)
        return
    peak = peak_flop_per_s(chosen.device, min(3.0, chosen.seconds))
    cells = []
    for model, nodes, batch in product(chosen.model or "abcd", chosen.nodes, chosen.batch):
        cell = {"model": model, "nodes": nodes, "batch": batch}
        cells.append(measure(cell, chosen, peak))
        print(f"measured {model}, {nodes} nodes, batches of {batch}", flush=True)
        save(chosen.json, {"peak_gflop_per_s": peak / 1e9, "device": chosen.device, "cells": cells})
    threads = torch.get_num_threads()
    print(f"peak: {peak / 1e9:,.0f} GFLOP/s, a large float32 matrix product, {threads} thread(s)")
    show(cells, COLUMNS)


if __name__ == "__main__":
    main()
