"""CSMA message by message beside frame by frame, from light load to more than fits.

    python benchmarks/csma_levels.py [--seeds 5] [--network domain hidden] [--rate HZ...]
        [--coherence-s S] [--m-per-s V] [--json FILE]

Nodes push models of 35 frames (802.11a, 6 Mb/s) to all whom they hear: 12 nodes that all hear each
other, and 40 nodes in a wider disc, where senders are hidden. Every seed is a network of its own,
the same for both levels. Printed for each load: the share delivered frame by frame, by how much
more is delivered at message level, the mean delay of messages that come in both and its ratio,
all with standard errors over seeds, and CPU times. `--coherence-s` lets links fade (Rayleigh) in
blocks of that length, `--m-per-s` lets nodes go from one random place to the next at half to all of
that speed.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "ns3"))

import _netsim
from _replay import mean_se

from netsim.recording import run_folder

NETWORKS = {  # nodes, radius of the disc [m], wake-ups of a node [Hz], pushed for so long [s]
    "domain": (12, 30.0, (0.02, 0.047, 0.07, 0.085), 60.0),
    "hidden": (40, 180.0, (0.02, 0.04, 0.08, 0.15), 15.0),
}
LEVELS = ("message", "packet")
COLUMNS = (
    "network",
    "wake-ups, Hz",
    "delivered, frames",
    "difference",
    "delay, frames, s",
    "ratio",
    "CPU s, messages",
    "CPU s, frames",
)


def changing(coherence_s: float | None, m_per_s: float | None, radius_m: float) -> dict[str, Any]:
    """The tables of a scenario that let its links change, to be merged into it."""
    tables: dict[str, Any] = {}
    if coherence_s is not None:
        fading = {"kind": "rayleigh", "hold": "coherence", "coherence_s": coherence_s}
        tables["radio"] = {"fading": fading}
    if m_per_s is not None:
        speeds = {"min_m_per_s": m_per_s / 2, "max_m_per_s": m_per_s}
        tables["mobility"] = {"kind": "random_waypoint"} | speeds
        tables["nodes"] = {"placement": "disc", "radius_m": radius_m}
    return tables


def played(
    network: str, rate_hz: float, seed: int, lasting_s: float, changes: dict[str, Any]
) -> dict[str, float]:
    """One network at both levels: shares delivered, mean delays of what came in both, CPU times.

    Parameters
    ----------
    network : str
    rate_hz : float
        Wake-ups of a node.
    seed : int
    lasting_s : float
        For how long models are pushed.
    changes : dict
        See `changing`.
    """
    nodes, radius_m, _, _ = NETWORKS[network]
    found: dict[str, float] = {}
    ages: dict[str, dict[tuple[Any, ...], float]] = {}
    for level in LEVELS:
        with tempfile.TemporaryDirectory() as folder:
            tables = _netsim.pushes(nodes, radius_m, rate_hz, lasting_s, seed, level)
            for name, table in changes.items():
                tables[name] = tables.get(name, {}) | table
            if "mobility" in changes:
                del tables["nodes"]["positions_m"]
            _, found[f"{level} CPU s"] = _netsim.play(tables, Path(folder) / "run")
            log = run_folder.read(Path(folder) / "run", "messages")
        sent = list(zip(log["src"], log["dst"], log["t_sent_s"], strict=True))
        came = np.asarray(log["outcome"]).astype(str) == "delivered"
        found[f"{level} delivered"] = float(came.mean())
        age_s = log["t_done_s"] - log["t_sent_s"]
        ages[level] = {one: age_s[i] for i, one in enumerate(sent) if came[i]}
    in_both = ages["message"].keys() & ages["packet"].keys()
    for level in LEVELS:
        found[f"{level} delay"] = float(np.mean([ages[level][one] for one in in_both]))
    found["difference"] = found["message delivered"] - found["packet delivered"]
    found["ratio"] = found["message delay"] / found["packet delay"]
    return found


def cell(network: str, rate_hz: float, given: argparse.Namespace) -> dict[str, Any]:
    """One load: means over seeds, and standard errors."""
    _, radius_m, _, lasting_s = NETWORKS[network]
    changes, seeds = changing(given.coherence_s, given.m_per_s, radius_m), given.seeds
    runs = [played(network, rate_hz, seed, lasting_s, changes) for seed in range(seeds)]
    row: dict[str, Any] = {"network": network, "rate_hz": rate_hz, "seeds": seeds}
    for name in runs[0]:
        row[name], row[f"{name} ±"] = mean_se([run[name] for run in runs])
    return row


def shown(c: dict[str, Any]) -> list[str]:
    """A cell as a row of the table."""
    return [
        c["network"],
        f"{c['rate_hz']:g}",
        f"{c['packet delivered']:.3f} ± {c['packet delivered ±']:.3f}",
        f"{c['difference']:+.3f} ± {c['difference ±']:.3f}",
        f"{c['packet delay']:.3f} ± {c['packet delay ±']:.3f}",
        f"{c['ratio']:.3f} ± {c['ratio ±']:.3f}",
        f"{c['message CPU s']:.2f}",
        f"{c['packet CPU s']:.2f}",
    ]


def markdown(cells: Sequence[dict[str, Any]]) -> str:
    """The cells as a table."""
    rows = [COLUMNS, ["---"] * len(COLUMNS), *map(shown, cells)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--network", choices=list(NETWORKS), nargs="+", default=list(NETWORKS))
    parser.add_argument("--rate", type=float, nargs="+", help="wake-ups of a node [Hz]")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--coherence-s", type=float, help="links fade in blocks of so many s")
    parser.add_argument("--m-per-s", type=float, help="nodes move at up to so many m/s")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    cells = [
        cell(network, rate_hz, given)
        for network in given.network
        for rate_hz in given.rate or NETWORKS[network][2]
    ]
    print(markdown(cells))
    if given.json:
        given.json.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
