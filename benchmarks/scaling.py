"""Time and memory that a node, an edge, a message and a job cost.

    python benchmarks/scaling.py [--json FILE]

The gossip of `async_gossip.py` with model a, each cell in a process of its own: numbers of nodes,
neighbours and wake-ups vary, and some cells play the network without learning. Costs are those that
fit the cells best (least squares of relative errors, none negative); times are fitted to the cells
of 10,000 nodes and more, since a message costs more where a network has outgrown the caches. Times
are CPU times of the process.
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

from netsim import garbage, world
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
    Cell(10_000, degree=10, horizon_s=2.0, learns=False),
    Cell(30_000, horizon_s=2.0),
    Cell(30_000, horizon_s=2.0, learns=False),
    Cell(100_000, horizon_s=1.0, learns=False),
)

LARGE = 10_000
"""Nodes of the cells that times are fitted to."""

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
    garbage.search_seldom()
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
        "wake-ups": cell.nodes * cell.horizon_s,  # a second apart on average
        "messages": messages,
        "jobs": jobs,
        "runs": 1,
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
    networks = [c for c in cells if not c["learns"]]
    plain = {_setting(c): c for c in networks}
    pairs = [(c, plain[_setting(c)]) for c in cells if c["learns"] and _setting(c) in plain]
    # what learning adds to the same network
    learning = [
        {**c, **{key: c[key] - without[key] for key in ("assembly MiB", "play s", "play MiB")}}
        for c, without in pairs
    ]
    large = [c for c in networks if c["nodes"] >= LARGE]
    large_learning = [c for c in learning if c["nodes"] >= LARGE]
    return [
        *_costs("world", ("runs", "nodes"), "world s", large),
        *_costs("assembly", ("nodes",), "assembly s", large),
        *_costs("network", ("wake-ups", "messages"), "play s", large),
        *_costs("learning", ("jobs",), "play s", large_learning),
        *_costs("two evaluations", ("nodes",), "evaluation s", large_learning),
        *_costs("world", ("runs", "nodes"), "world MiB", networks),
        *_costs("assembly", ("nodes",), "assembly MiB", networks),
        *_costs("network", ("nodes", "edges"), "play MiB", networks),
        *_costs("learning", ("runs", "nodes"), "play MiB", learning),
    ]


def _costs(
    part: str, kinds: tuple[str, ...], of: str, cells: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Costs that fit one column best.

    Parameters
    ----------
    part : str
        Its name in the table.
    kinds : tuple of str
        Columns that hold how many there are.
    of : str
        The column.
    cells : list of dict
        More than `kinds`.
    """
    factor, unit = (1e6, "us") if of.endswith(" s") else (2.0**20, "bytes")
    if len(cells) < len(kinds):
        return []
    wanted = np.array([max(c[of] * factor, 1.0) for c in cells])
    counts = np.array([[c[kind] for kind in kinds] for c in cells], dtype=float)
    costs = _non_negative(counts, wanted)
    worst = 100 * float(np.max(np.abs(counts @ costs / wanted - 1)))
    return [
        {"part": part, "of one": kind, "cost": cost, "unit": unit, "largest error %": worst}
        for kind, cost in zip(kinds, costs.tolist(), strict=True)
    ]


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
