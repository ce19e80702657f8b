"""One thread against several of the same work, in wall time, alone or beside busy processes."""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any, NamedTuple

from _timing import save, show

from netsim.backends.native import cores

COLUMNS = {
    "model": "s",
    "nodes": ",",
    "batch": "d",
    "backend": "s",
    "threads": "d",
    "busy": "d",
    "ms": ",.2f",
    "ms by threads": ",.2f",
    "ratio": ".2f",
    "ratio of means": ".2f",
    "equal bits": "s",
}

HASHED = (1, 2, 3)
"""Threads whose results are compared."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this mode."""
    parser.add_argument(
        "--cores",
        type=int,
        metavar="N",
        help="one thread against N, in turns, wall time; whether 1, 2 and 3 give equal bits",
    )
    parser.add_argument(
        "--busy",
        type=int,
        default=0,
        metavar="N",
        help="with --cores: beside so many processes that do nothing but keep a core busy",
    )


def remark(threads: int) -> str:
    """Return a sentence on the machine and how far such a comparison can be trusted."""
    has = cores.available()
    found = f"cores of this process: {has}"
    if has < threads:
        found += f"; {threads} THREADS CAN'T BE FASTER THAN {has} HERE: ratios show their cost"
    return found


class Work(NamedTuple):
    """Work that is timed, by a number of threads.

    Attributes
    ----------
    way : str
        The backend that does it.
    run : callable
    digest : callable
        Does it once and gives a hash of the results.
    """

    way: str
    run: Callable[[], object]
    digest: Callable[[], str]


def report(
    chosen: argparse.Namespace,
    models: Sequence[str],
    prepared: Callable[[str, int, int, int], Work],
) -> None:
    """Measure, print the table, write the JSON.

    Parameters
    ----------
    chosen : argparse.Namespace
        The options: `nodes`, `batch`, `cores`, `busy`, `seconds`, `json`.
    models : sequence of str
    prepared : callable
        prepared(model, nodes, batch, threads), anew at each call.
    """
    cells = []
    for model, nodes, batch in product(models, chosen.nodes, chosen.batch):
        cell = {"model": model, "nodes": nodes, "batch": batch}
        works = {n: prepared(model, nodes, batch, n) for n in (1, chosen.cores)}
        hashes = {prepared(model, nodes, batch, n).digest() for n in HASHED}
        cell |= {"backend": works[1].way, "equal bits": "yes" if len(hashes) == 1 else "NO"}
        with busy_processes(chosen.busy):
            took = _in_turns({n: work.run for n, work in works.items()}, chosen.seconds)
        cells.append(cell | _compared(took, chosen))
        print(f"measured {model}, {nodes} nodes, batches of {batch}", flush=True)
    print(remark(chosen.cores))
    show(cells, COLUMNS)
    save(chosen.json, {"remark": remark(chosen.cores), "cells": cells})


def _compared(took: dict[int, list[float]], chosen: argparse.Namespace) -> dict[str, Any]:
    one, several = (1e3 * statistics.median(each) for each in took.values())
    means = [statistics.fmean(each) for each in took.values()]
    return {
        "threads": chosen.cores,
        "busy": chosen.busy,
        "ms": one,
        "ms by threads": several,
        "ratio": one / several,
        "ratio of means": means[0] / means[1],
    }


def _in_turns(runs: Mapping[int, Callable[[], object]], seconds: float) -> dict[int, list[float]]:
    """Wall times, after a call each to warm up; at least three rounds."""
    for run in runs.values():
        run()
    took: dict[int, list[float]] = {key: [] for key in runs}
    end = time.perf_counter() + seconds
    while len(took[1]) < 3 or time.perf_counter() < end:
        for key, run in runs.items():
            start = time.perf_counter()
            run()
            took[key].append(time.perf_counter() - start)
    return took


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Some processes that do nothing but keep a core busy."""
    found = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in found:
            process.kill()
            process.wait()
