"""Large networks: time and memory of a run, each in a process of its own.

    python benchmarks/scale.py [--case a-10000 c-2000] [--backend auto] [--json FILE]

The gossip of `async_gossip.py` for a few wake-ups a node. At most 1.4 to 1.9 models a node are
alive at once in such a run (those that nodes have, and those in flight); a model takes a row of
parameters and running statistics. What the slabs held at most is set against that estimate.
"""

import argparse
import json
import multiprocessing
import resource
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from _setting import gossip, way_taken
from _timing import BACKENDS, prepare, save, show

from netsim import world
from netsim.engine.simulation import Simulation

LIVE = (1.4, 1.9)
"""Models alive at once, per node."""

CASES = {"a-10000": ("a", 10_000), "c-2000": ("c", 2_000)}

COLUMNS = {
    "case": "s",
    "backend": "s",
    "threads": "d",
    "jobs/call": ".1f",
    "node-steps": ",",
    "wall s": ".1f",
    "cpu s": ".1f",
    "node-steps/s": ",.0f",
    "peak RSS GiB": ".2f",
    "before GiB": ".2f",
    "slab peak GiB": ".2f",
    "models a node": ".1f",
    "estimate GiB": "s",
}


def played(
    model: str, nodes: int, batch: int, horizon_s: float, backend: str, threads: int
) -> dict[str, Any]:
    """One run in this process; parameters as of `_setting.gossip`."""
    prepare("cpu")
    built = world.build(gossip(model, nodes, batch, horizon_s, backend, threads=threads))
    before = _peak_rss_gib()
    start, start_cpu = time.perf_counter(), time.process_time()
    run = Simulation(built, built.scenario.algorithm[0], None, False, None)
    run.to_horizon()
    summary = run.finish(None)
    wall_s, cpu_s = time.perf_counter() - start, time.process_time() - start_cpu
    store = getattr(run.learning.scheduler.backend, "store", None)
    slab_gib = None if store is None else store.peak_bytes / 2**30
    row_gib = 4 * built.architectures[0].num_values / 2**30
    return {
        "case": f"{model}-{nodes}",
        "backend": way_taken(run.learning),
        "threads": threads,
        "jobs/call": summary["engine"]["mean_batch_width"],
        "node-steps": summary["local_steps"],
        "accuracy": summary["accuracy"]["mean"],
        "wall s": wall_s,
        "cpu s": cpu_s,
        "node-steps/s": summary["local_steps"] / wall_s,
        "peak RSS GiB": _peak_rss_gib(),
        "before GiB": before,
        "slab peak GiB": slab_gib,
        "models a node": slab_gib and slab_gib / (nodes * row_gib),
        "estimate GiB": " to ".join(f"{factor * nodes * row_gib:.2f}" for factor in LIVE),
    }


def _peak_rss_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _send(pipe: Connection, *arguments: Any) -> None:
    pipe.send(played(*arguments))


def in_a_child(*arguments: Any) -> dict[str, Any]:
    """`played` in a fresh process, whose peak memory is that of the run."""
    spawn = multiprocessing.get_context("spawn")
    receiving, sending = spawn.Pipe(duplex=False)
    child = spawn.Process(target=_send, args=(sending, *arguments))
    child.start()
    sending.close()
    try:
        found: dict[str, Any] = receiving.recv()
    except EOFError:
        child.join()
        raise SystemExit(f"the run ended with exit code {child.exitcode}") from None
    child.join()
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--nodes", type=int, help="instead of the case's")
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--horizon-s", type=float, default=4.0, help="a wake-up a second")
    parser.add_argument("--backend", choices=BACKENDS, default="auto")
    parser.add_argument("--threads", type=int, default=1, help="of the native kernel")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    cells = []
    for case in chosen.case:
        model, nodes = CASES[case]
        setting = model, chosen.nodes or nodes, chosen.batch, chosen.horizon_s
        cells.append(in_a_child(*setting, chosen.backend, chosen.threads))
        print(json.dumps(cells[-1]), flush=True)
    show(cells, COLUMNS)
    save(chosen.json, {"cells": cells})


if __name__ == "__main__":
    main()
