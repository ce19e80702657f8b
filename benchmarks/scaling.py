"""What a node, an edge, a message and a job cost, in time and memory.

    python benchmarks/scaling.py [--json FILE]

The gossip of `async_gossip.py` with model a, each cell in a process of its own: numbers of nodes,
neighbours and wake-ups vary, and some cells play the network without learning. Costs are those that
fit all cells best (least squares of relative errors, none negative). CPU time of the process.
"""

import argparse
import gc
import json
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _setting import gossip
from _timing import prepare, save, show

from netsim import world
from netsim.engine.playing import COLLECTED_EVERY
from netsim.engine.simulation import Simulation


class Cell(NamedTuple):
    """One run."""

    nodes: int
    degree: int = 5
    horizon_s: float = 4.0
    learns: bool = True


CELLS = (
    Cell(1_000),
    Cell(3_000),
    Cell(10_000),
    Cell(3_000, degree=10),
    Cell(3_000, horizon_s=8.0),
    Cell(1_000, learns=False),
    Cell(3_000, learns=False),
    Cell(10_000, learns=False),
    Cell(3_000, degree=10, learns=False),
    Cell(3_000, horizon_s=8.0, learns=False),
)

COLUMNS = {
    "nodes": ",",
    "edges": ",",
    "messages": ",",
    "jobs": ",",
    **{f"{phase} s": ".2f" for phase in ("world", "assembly", "play", "evaluation")},
    "world MiB": ",.0f",
    "assembly MiB": ",.0f",
    "play MiB": ",.0f",
    "rows a node": ".2f",
}


def played(cell: Cell) -> dict[str, Any]:
    """One run in this process: seconds, MiB by which the process grew, and counts."""
    prepare("cpu")
    topology = {"kind": "random_regular", "degree": cell.degree}
    scenario = gossip("a", cell.nodes, 10, cell.horizon_s, topology=topology)
    marks = [(time.process_time(), _resident_mib())]
    built = world.build(scenario)
    marks.append((time.process_time(), _resident_mib()))
    gc.freeze()
    gc.set_threshold(*COLLECTED_EVERY)
    run = Simulation(built, scenario.algorithm[0], None, not cell.learns, None)
    marks.append((time.process_time(), _resident_mib()))
    measuring_s = _timed_evaluation(run)
    run.to_horizon()
    marks.append((time.process_time(), _resident_mib()))
    scheduler = run.learning.scheduler
    jobs, store = scheduler.jobs, getattr(scheduler.backend, "store", None)
    slab_mib = 0.0 if store is None else store.peak_bytes / 2**20
    messages = run.finish(None)["messages"]["sent"]
    grown = {
        name: (after[0] - before[0], after[1] - before[1])
        for name, before, after in zip(
            ("world", "assembly", "play"), marks[:-1], marks[1:], strict=True
        )
    }
    return {
        **cell._asdict(),
        "edges": cell.nodes * cell.degree // 2,
        "messages": messages,
        "jobs": jobs,
        **{f"{name} s": cpu_s for name, (cpu_s, _) in grown.items()},
        **{f"{name} MiB": mib for name, (_, mib) in grown.items()},
        "play s": grown["play"][0] - sum(measuring_s),
        "evaluation s": sum(measuring_s),
        "slab MiB": slab_mib,
        "rows a node": slab_mib * 2**20 / (4 * built.architectures[0].num_values) / cell.nodes,
    }


def _timed_evaluation(run: Simulation) -> list[float]:
    """CPU seconds of each evaluation, as they come; what was pending counts as play."""
    spent: list[float] = []
    evaluate = run.evaluator.run

    def timed(time_ns: int) -> float | None:
        run.learning.scheduler.flush()
        start_s = time.process_time()
        found = evaluate(time_ns)
        spent.append(time.process_time() - start_s)
        return found

    run.evaluator.run = timed  # type: ignore[method-assign]
    return spent


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def fitted(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Costs of one of each, in us of CPU and in bytes."""
    plain = {_setting(c): c for c in cells if not c["learns"]}
    learning = [c for c in cells if c["learns"]]
    found: list[dict[str, Any]] = []

    def add(part: str, kinds: tuple[str, ...], some: list[dict[str, Any]], unit: str) -> None:
        wanted = np.array([max(c["wanted"], 0.0) for c in some])
        counts = np.array([[c[kind] for kind in kinds] for c in some], dtype=float)
        costs = _non_negative(counts, wanted)
        worst = float(np.max(np.abs(counts @ costs / wanted - 1))) if wanted.all() else float("nan")
        found.extend(
            {
                "part": part,
                "of one": kind,
                "cost": cost,
                "unit": unit,
                "largest error %": 100 * worst,
            }
            for kind, cost in zip(kinds, costs.tolist(), strict=True)
        )

    def with_(some: list[dict[str, Any]], key: str, factor: float) -> list[dict[str, Any]]:
        return [{**c, "wanted": c[key] * factor} for c in some]

    networks = list(plain.values())
    add("world", ("nodes", "edges"), with_(cells, "world s", 1e6), "us")
    add("assembly", ("nodes", "edges"), with_(cells, "assembly s", 1e6), "us")
    add("network", ("nodes", "messages"), with_(networks, "play s", 1e6), "us")
    add(
        "learning",
        ("jobs",),
        [
            {**c, "wanted": 1e6 * (c["play s"] - plain[_setting(c)]["play s"])}
            for c in learning
            if _setting(c) in plain
        ],
        "us",
    )
    add("two evaluations", ("nodes",), with_(learning, "evaluation s", 1e6), "us")
    add("world", ("nodes", "edges"), with_(cells, "world MiB", 2**20), "bytes")
    add("assembly", ("nodes", "edges"), with_(networks, "assembly MiB", 2**20), "bytes")
    add("network", ("nodes", "edges"), with_(networks, "play MiB", 2**20), "bytes")
    add(
        "learning",
        ("nodes",),
        [
            {
                **c,
                "wanted": 2**20
                * (
                    c["play MiB"]
                    + c["assembly MiB"]
                    - plain[_setting(c)]["play MiB"]
                    - plain[_setting(c)]["assembly MiB"]
                ),
            }
            for c in learning
            if _setting(c) in plain
        ],
        "bytes",
    )
    return found


def _setting(cell: dict[str, Any]) -> tuple[Any, ...]:
    return cell["nodes"], cell["degree"], cell["horizon_s"]


def _non_negative(counts: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Costs of least squared relative error; one that came out negative is 0."""
    use = np.ones(counts.shape[1], dtype=bool)
    while True:
        costs = np.zeros(counts.shape[1])
        scaled = counts[:, use] / wanted[:, None]
        costs[use] = np.linalg.lstsq(scaled, np.ones(len(wanted)), rcond=None)[0]
        if (costs >= 0).all():
            return costs
        use &= costs >= 0


def main(arguments: list[str] | None = None) -> None:
    """Print the tables, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--most-nodes", type=int, help="leave out larger cells")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    cells = []
    for cell in CELLS:
        if chosen.most_nodes is None or cell.nodes <= chosen.most_nodes:
            with multiprocessing.get_context("spawn").Pool(1) as child:
                cells.append(child.apply(played, (cell,)))
            print(json.dumps(cells[-1]), flush=True)
    show(cells, COLUMNS)
    costs = fitted(cells)
    show(costs, {"part": "s", "of one": "s", "cost": ",.0f", "unit": "s", "largest error %": ".0f"})
    save(chosen.json, {"cells": cells, "costs": costs})


if __name__ == "__main__":
    main()
