"""Cost of a delivery: whole messages against packets, and growth with the network.

    python benchmarks/network.py [--nodes 100 1000 10000] [--json FILE]

Nodes in a disc, of the same density whatever their number, push 4 MB to each neighbour in range
whenever their Poisson clock rings: unicasts, packets of 1,448 bytes, up to seven attempts each.
The channel is `still` (20 Mb/s, a tenth of the attempts lost) or `fading` (Rayleigh, a block every
100 ms, a rate that follows the SNR: a message is drawn block by block). Nothing is learned. Every
cell is a run of its own in this process, in CPU time; the layout of the network is timed apart. At
the smallest number of nodes the same scenarios are also played packet by packet.
"""

import argparse
import gc
import math
import time
from pathlib import Path
from typing import Any

from _setting import Drawn
from _timing import prepare, save, show

from netsim import engine, world
from netsim.scenario import Scenario, from_dict

MESSAGE_BITS = 32_000_000
NEIGHBOURS = 10
RANGE_M = 100.0
RATE_HZ = 0.01
LEAST_HORIZON_S = 120.0

CHANNELS: dict[str, dict[str, Any]] = {
    "still": {
        "fading": {"kind": "none"},
        "rate": {"kind": "fixed", "rate_bps": 20e6},
        "packet_error": {"kind": "fixed", "loss": 0.1},
    },
    "fading": {
        "fading": {"kind": "rayleigh", "coherence_s": 0.1},
        "rate": {"kind": "shannon_gap", "min_rate_bps": 1e6},
        "packet_error": {"kind": "exponential_snr"},
    },
}

COLUMNS = {
    "channel": "s",
    "nodes": ",",
    "fidelity": "s",
    "neighbours": ".1f",
    "horizon s": ",.0f",
    "delivered": ",",
    "delivered %": ".1f",
    "delay s": ".3f",
    "events/delivery": ".1f",
    "us/delivery": ",.1f",
    "deliveries/s": ",.0f",
    "layout s": ".2f",
}


def crowd(nodes: int, horizon_s: float, fidelity: str, channel: str) -> Scenario:
    """The scenario: a disc in which a node has `NEIGHBOURS` others within `RANGE_M` on average.

    Border effects aside: nodes near the rim have fewer.
    """
    radius_m = RANGE_M * math.sqrt(nodes / NEIGHBOURS)
    tables = {
        "horizon_s": horizon_s,
        "nodes": {"count": nodes, "placement": "disc", "radius_m": radius_m},
        "topology": {"kind": "geometric", "radius_m": RANGE_M},
        "exchange": {"schedule": "poisson", "rate_hz": RATE_HZ},
        "radio": {
            "fidelity": fidelity,
            "control_bits": MESSAGE_BITS,
            "tx_power_dbm": 20.0,
            "ttl_s": 60.0,
            **CHANNELS[channel],
            "arq": {"kind": "abort", "max_attempts": 7},
        },
        "data": {"kind": "digits"},
        "model": {"kind": "mlp", "hidden": []},
        "metrics": {"every_s": horizon_s, "common_test_samples": 10},
        "run": {"log_messages": False},
        "algorithm": {"kind": "push"},
    }
    folder = Path(__file__).parent / "algorithms"
    scenario = from_dict(tables, "network", algorithms_folder=folder)
    data = scenario.data.model_copy(update={"partition": Drawn(train_samples=10)})
    return scenario.model_copy(update={"data": data})


def played(nodes: int, deliveries: int, fidelity: str, channel: str) -> dict[str, Any]:
    """One run that is to deliver about so many messages: what it cost."""
    horizon_s = max(LEAST_HORIZON_S, deliveries / (nodes * RATE_HZ * NEIGHBOURS))
    scenario = crowd(nodes, horizon_s, fidelity, channel)
    gc.collect()
    start = time.process_time()
    built = world.build(scenario)
    laid_out = time.process_time()
    found = engine.play(built, scenario.algorithm[0], timing_only=True)
    cpu_s = time.process_time() - laid_out
    delivered, events = found["messages"]["delivered"], found["engine"]["events"]
    return {
        "channel": channel,
        "nodes": nodes,
        "fidelity": fidelity,
        "neighbours": sum(map(len, built.neighbours)) / nodes,
        "horizon s": horizon_s,
        "delivered": delivered,
        "delivered %": 100 * delivered / found["messages"]["sent"],
        "delay s": found["delay"]["mean_s"],
        "events/delivery": events / delivered,
        "us/delivery": 1e6 * cpu_s / delivered,
        "deliveries/s": delivered / cpu_s,
        "cpu s": cpu_s,
        "layout s": laid_out - start,
    }


def main(arguments: list[str] | None = None) -> None:
    """Print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", nargs="+", type=int, default=[100, 1_000, 10_000])
    parser.add_argument("--deliveries", type=int, default=20_000, help="at least, of each run")
    parser.add_argument("--packets", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    prepare("cpu")
    sizes = sorted(chosen.nodes)
    cells: list[dict[str, Any]] = []
    exponents: dict[str, float] = {}
    ratios: dict[str, float] = {}
    for channel in CHANNELS:
        whole = [played(nodes, chosen.deliveries, "message", channel) for nodes in sizes]
        cells += whole
        if len(sizes) > 1:
            growth = math.log(whole[-1]["us/delivery"] / whole[0]["us/delivery"])
            exponents[channel] = growth / math.log(sizes[-1] / sizes[0])
        if chosen.packets:
            cells.append(played(sizes[0], 0, "packet", channel))
            ratios[channel] = cells[-1]["us/delivery"] / whole[0]["us/delivery"]
    show(cells, COLUMNS)
    for channel, exponent in exponents.items():
        print(f"{channel}: a delivery's cost grows with the number of nodes to the {exponent:.2f}")
    for channel, ratio in ratios.items():
        print(f"{channel}: packet by packet {ratio:,.0f} times the cost")
    save(chosen.json, {"cells": cells, "exponents": exponents, "packets_over_messages": ratios})


if __name__ == "__main__":
    main()
