"""Distribution of the time of asynchronous gossip: a table and a picture.

    python benchmarks/where_time_goes.py [--model a] [--nodes 100] [--png FILE] [--json FILE]

Profiles the run of `async_gossip.py`. A profiler makes Python's calls look dearer than they are,
tensor work cheaper; the time of a job is taken without it. A profiler sees the main thread only.
"""

import argparse
import cProfile
import time
from pathlib import Path
from typing import Any

from _profiling import own_times
from _setting import gossip, way_taken
from _timing import interleaved, options, prepare, save, show
from async_gossip import JOBS, JOBS_PER_NODE_S
from matplotlib.figure import Figure

from netsim import engine, world
from netsim.engine.simulation import Simulation

SIMPY, LINKS, RECORDING, JOBS_PART, LAYERS, TENSORS, KERNEL, EVALUATION, REST = (
    "SimPy and the loop",
    "messages and links",
    "recording",
    "jobs and index building",
    "Python around tensors and kernel",
    "tensor work",
    "native kernel",
    "evaluation",
    "the rest",
)

PARTS = (SIMPY, LINKS, RECORDING, JOBS_PART, LAYERS, TENSORS, KERNEL, EVALUATION, REST)

COLOURS = (
    *("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#F0E442"),
    *("#D55E00", "#000000", "#CC79A7", "#999999"),
)
"""Okabe and Ito's, which the colour-blind can tell apart."""

FOLDERS = {
    "simpy": SIMPY,
    "torch": TENSORS,
    "recording": RECORDING,
    "links": LINKS,
    "channels": LINKS,
    "schedules": LINKS,
    "algorithms": LINKS,
    "stacked": LAYERS,
    "native": LAYERS,
    "learning": JOBS_PART,
    "backends": JOBS_PART,
    "models": TENSORS,
}

FILES = {
    "clock": SIMPY,
    "simulation": SIMPY,
    "process_guard": SIMPY,
    "evaluation": EVALUATION,
    "rng": JOBS_PART,
    "assembly": JOBS_PART,
    # What its threads do is the kernel's own work, which a profiler of Python can't see into.
    "workers": KERNEL,
    # The backend is in the folder `stacked` but is no layer.
    "backend": JOBS_PART,
    "training": JOBS_PART,
    "mixing": JOBS_PART,
    "grouping": JOBS_PART,
}


def part_of(path: str, name: str) -> str | None:
    """The part that a function belongs to; those of torch are tensor work, builtins included."""
    if path == "~":
        return TENSORS if "torch" in name else None
    where = Path(path)
    if where.stem in FILES and ("netsim" in where.parts):
        return FILES[where.stem]
    for folder in reversed(where.parts[:-1]):
        if folder in FOLDERS:
            return FOLDERS[folder]
    return LINKS if "netsim" in where.parts else None  # nodes and their messages


def profiled(model: str, nodes: int, batch: int, chosen: argparse.Namespace) -> dict[str, Any]:
    """Seconds by part of one run, and what a job takes without the profiler."""
    horizon_s = JOBS[model] / (JOBS_PER_NODE_S * nodes)
    built = world.build(
        gossip(model, nodes, batch, horizon_s, chosen.backend, chosen.device, chosen.threads)
    )
    entry = built.scenario.algorithm[0]
    jobs = engine.play(built, entry)["local_steps"] // entry.params.local_steps
    best = interleaved(
        {"netsim": lambda: engine.play(built, entry)},
        chosen.device,
        chosen.seconds,
        threads=chosen.threads,
    )
    profile = cProfile.Profile()
    profile.enable()
    played = Simulation(built, entry, None, False, None)
    evaluating_s = _set_aside_evaluation(played, profile)
    played.to_horizon()
    played.finish(None)
    profile.disable()
    spent = own_times(profile, part_of)
    spent[EVALUATION] += sum(evaluating_s)
    total = sum(spent.values())
    return {
        "model": model,
        "nodes": nodes,
        "batch": batch,
        "backend": way_taken(played.learning),
        "threads": chosen.threads,
        "jobs": jobs,
        "us/job": 1e6 * best["netsim"] / jobs,
        "shares": {part: spent[part] / total for part in PARTS},
    }


def _set_aside_evaluation(run: Simulation, profile: cProfile.Profile) -> list[float]:
    """Time evaluations as a whole: their tensor work is theirs."""
    measure, took_s = run.evaluator.run, []

    def timed(time_ns: int) -> float | None:
        run.learning.scheduler.flush()  # pending jobs are not the evaluation's
        profile.disable()
        start = time.process_time()
        found = measure(time_ns)
        took_s.append(time.process_time() - start)
        profile.enable()
        return found

    run.evaluator.run = timed
    return took_s


def draw(cells: list[dict[str, Any]], path: Path) -> None:
    """One stacked bar a cell."""
    figure = Figure(figsize=(9, 1.8 + 0.6 * len(cells)), layout="constrained")
    axes = figure.add_subplot()
    names = [
        f"model {c['model']}, {c['nodes']} nodes, B = {c['batch']}\n{c['us/job']:,.0f} µs a job"
        for c in cells
    ]
    left = [0.0] * len(cells)
    for part, colour in zip(PARTS, COLOURS, strict=True):
        widths = [100 * c["shares"][part] for c in cells]
        bars = axes.barh(names, widths, left=left, color=colour, label=part, height=0.6)
        texts = [f"{w:.0f}" if w >= 3 else "" for w in widths]
        ink = "white" if part in (SIMPY, TENSORS, KERNEL) else "black"
        axes.bar_label(bars, texts, label_type="center", fontsize=9, color=ink)
        left = [at + width for at, width in zip(left, widths, strict=True)]
    axes.set_xlim(0, 100)
    axes.set_xlabel("Share of the run's time, by profile [%]")
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=4, fontsize=9, frameon=False)
    figure.savefig(path, dpi=150)


def main(arguments: list[str] | None = None) -> None:
    """Print the table, draw the picture, write the JSON."""
    parser = options(__doc__, nodes=(100,), models="a")
    parser.add_argument("--png", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0, help="of rounds for each cell")
    chosen = parser.parse_args(arguments)
    prepare(chosen.device)
    cells = [
        profiled(model, nodes, batch, chosen)
        for model in chosen.model
        for nodes in chosen.nodes
        for batch in chosen.batch
    ]
    columns = {"model": "s", "nodes": ",", "batch": "d"}
    columns |= {"backend": "s", "threads": "", "jobs": ",", "us/job": ",.0f"}
    parts = dict.fromkeys(PARTS, ".1%")
    show([c | c["shares"] for c in cells], columns | parts)
    if chosen.png:
        draw(cells, chosen.png)
    save(chosen.json, {"device": chosen.device, "cells": cells})


if __name__ == "__main__":
    main()
