"""Cost of a message over CSMA as a network grows, under light load.

    python benchmarks/csma_growth.py [--nodes 10 100 1000] [--seeds 3] [--json FILE]

Nodes anywhere in a disc push models of 35 frames (802.11a, 6 Mb/s) to all whom they hear, five on
average: a network is as large as makes that so, whatever its number of nodes. Wake-ups of a node
come at 0.04 Hz, so that each is on the air for some 1.5 % of the time. CPU times are of playing
alone, message by message. A small network still differs from a part of a large one: at ten nodes
hardly anybody is hidden.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _timing import save, show
from scipy.spatial.distance import pdist

sys.path.insert(0, str(Path(__file__).parent / "ns3"))

import _netsim
from _replay import mean_se

HEARD = 5
"""Others that a node hears, on average."""
RATE_HZ = 0.04
UNIT_M = 10_000.0
"""Radius at which places are drawn before a network gets its size."""

COLUMNS = {
    "nodes": ",",
    "delivered": ",.0f",
    "delivered %": ".1f",
    "us/delivery": ",.0f",
    "us/delivery ±": ",.0f",
    "deliveries/CPU s": ",.0f",
}


def radius_m(nodes: int, seed: int) -> float:
    """Radius of the disc in which nodes hear `HEARD` others on average."""
    places = np.array(_netsim.in_disc(nodes, UNIT_M, seed))
    pairs = nodes * HEARD // 2
    farthest, next_one = np.partition(pdist(places), (pairs - 1, pairs))[pairs - 1 : pairs + 1]
    return UNIT_M * _netsim.RANGE_M / (0.5 * float(farthest + next_one))


def played(nodes: int, messages: int, seed: int) -> dict[str, float]:
    """One network in which some `messages` are sent: what each one that came in has cost."""
    lasting_s = messages / (nodes * RATE_HZ * HEARD)
    size_m = radius_m(nodes, seed)
    tables = _netsim.pushes(nodes, size_m, RATE_HZ, lasting_s, seed, "message")
    summary, cpu_s = _netsim.play(tables)
    found = summary["messages"]
    return {
        "delivered": found["delivered"],
        "delivered %": 100.0 * found["delivered"] / found["sent"],
        "us/delivery": 1e6 * cpu_s / found["delivered"],
        "deliveries/CPU s": found["delivered"] / cpu_s,
    }


def cell(nodes: int, messages: int, seeds: int) -> dict[str, Any]:
    """One size: means over seeds, and standard errors."""
    runs = [played(nodes, messages, seed) for seed in range(seeds)]
    row: dict[str, Any] = {"nodes": nodes}
    for name in runs[0]:
        row[name], row[f"{name} ±"] = mean_se([run[name] for run in runs])
    return row


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table and what growing costs, write the JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", nargs="+", type=int, default=[10, 100, 1_000])
    parser.add_argument("--messages", type=int, default=10_000, help="of each run, about")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    played(min(chosen.nodes), 10, 0)  # imports
    cells = [cell(nodes, chosen.messages, chosen.seeds) for nodes in sorted(chosen.nodes)]
    show(cells, COLUMNS)
    first, last = cells[0], cells[-1]
    ratio = last["us/delivery"] / first["us/delivery"]
    print(f"{last['nodes']:,} nodes cost {ratio:.1f} times what {first['nodes']} do, a delivery")
    exponent = math.log(ratio) / math.log(last["nodes"] / first["nodes"]) if ratio != 1.0 else 0.0
    save(chosen.json, {"cells": cells, "ratio": ratio, "exponent": exponent})


if __name__ == "__main__":
    main()
