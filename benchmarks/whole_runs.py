"""Whole runs of shipped scenarios with each backend: seconds, accuracy, equal event logs.

    python benchmarks/whole_runs.py [SCENARIO[=HORIZON_S]...] [--algorithms NAME...]
        [--backends sequential stacked auto] [--before REV] [--rounds] [--json FILE]

Every algorithm of a scenario is played once with each backend in turn, on one core, the event log
and the parameters only in memory; a ratio is over the first backend. `--before REV` plays all of
them with another commit's code, too, by the backend that it chooses. `--rounds` plays each run over
once and over twice the horizon and says from the difference how many core-hours the scenario's
whole horizon would take: what the first rounds alone do (a search for peers, the first minibatches)
is counted once.
CPU seconds, evaluation included, building the world not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _timing import prepare, save

from netsim import engine, scenario, world

ROOT = Path(__file__).resolve().parents[1]

SCENARIOS = {
    "quickstart": 300.0,
    "kd_pdfl_iot": 3000.0,
    "small_dpfl": None,
    "small_mapl": None,
    "small_pfedgraph": None,
    "small_l2c": None,
    "small_meta_l2c": None,
}
"""Scenarios that are played unless named, with their ends; None: the scenario's horizon."""

Cell = dict[str, Any]


def main(arguments: list[str] | None = None) -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("scenario", nargs="*", metavar="SCENARIO[=HORIZON_S]")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", dest="values")
    parser.add_argument("--algorithms", nargs="+", metavar="NAME", help="only these entries")
    parser.add_argument("--backends", nargs="+", default=["sequential", "auto"])
    parser.add_argument("--before", metavar="REV", help="a commit that plays them, too")
    parser.add_argument("--rounds", action="store_true", help="core-hours of the whole horizon")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    prepare("cpu")
    asked = dict(_named(text) for text in given.scenario) or SCENARIOS
    cells = []
    for name, horizon_s in asked.items():
        for cell in played(name, horizon_s, given):
            print(described(cell), flush=True)
            cells.append(cell)
    save(given.json, {"cells": cells})


def _named(text: str) -> tuple[str, float | None]:
    name, _, horizon_s = text.partition("=")
    return name, float(horizon_s) if horizon_s else None


def played(name: str, horizon_s: float | None, given: argparse.Namespace) -> list[Cell]:
    """A cell for each algorithm of a scenario.

    Parameters
    ----------
    name : str
        A shipped scenario, or a file.
    horizon_s : float or None
        When a run ends; None: as the scenario says.
    given : argparse.Namespace
        The command's options.
    """
    whole_s = scenario.load(name, given.values).horizon_s
    until_s = horizon_s or whole_s
    cells: dict[str, Cell] = {}
    for backend in given.backends:
        for entry, runs in _plays(name, backend, until_s, given).items():
            cell = cells.setdefault(entry, {"scenario": name, "algorithm": entry, "until": until_s})
            cell[backend] = runs
            if given.rounds:
                once, twice = runs[0]["cpu_s"], runs[1]["cpu_s"]
                hours = (once + (twice - once) * (whole_s / until_s - 1)) / 3600
                cell[backend][0]["core_hours"] = hours
    if given.before is not None:
        for entry, cpu_s in _played_at(given.before, name, until_s, given).items():
            cells[entry]["before_cpu_s"] = cpu_s
    return list(cells.values())


def _plays(
    name: str, backend: str, until_s: float, given: argparse.Namespace
) -> dict[str, list[Cell]]:
    """Play a scenario with one backend, by algorithm: over the horizon, and over twice that."""
    found: dict[str, list[Cell]] = {}
    for factor in (1, 2) if given.rounds else (1,):
        values = [f"horizon_s={factor * until_s}", f"run.backend={backend}", "run.threads=1"]
        asked = scenario.load(name, [*given.values, *values])
        folder = os.environ.get("NETSIM_DATA")
        built = world.build(asked, None if folder is None else Path(folder))
        for entry in asked.algorithm:
            if entry.set or (given.algorithms and entry.name not in given.algorithms):
                continue
            start = time.process_time()
            summary: dict[str, Any] = engine.play(built, entry)
            cpu_s = time.process_time() - start
            found.setdefault(entry.name, []).append(
                {
                    "cpu_s": cpu_s,
                    "accuracy": summary["accuracy"]["mean"],
                    "std_nodes": summary["accuracy"]["std"],
                    "local_steps": summary["local_steps"],
                    "event_log_sha256": summary["event_log_sha256"],
                }
            )
    return found


def _played_at(
    revision: str, name: str, until_s: float, given: argparse.Namespace
) -> dict[str, float]:
    """CPU seconds of the same runs with another commit's code, `[run] backend = "auto"`."""
    code = (
        "import json, os, sys, time; from pathlib import Path\n"
        "from netsim import engine, scenario, world\n"
        "name, only, *values = sys.argv[1:]; asked = scenario.load(name, values)\n"
        "built = world.build(asked, Path(os.environ['NETSIM_DATA']))\n"
        "found = {}\n"
        "for entry in asked.algorithm:\n"
        "    if getattr(entry, 'set', None): continue\n"
        "    if only and entry.name not in only.split(','): continue\n"
        "    start = time.process_time(); engine.play(built, entry)\n"
        "    found[entry.name] = time.process_time() - start\n"
        "print(json.dumps(found))\n"
    )
    values = [*given.values, f"horizon_s={until_s}", "run.threads=1"]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", tree, revision], check=True)
        try:
            printed = subprocess.run(
                [sys.executable, "-c", code, name, ",".join(given.algorithms or []), *values],
                env={"NETSIM_DATA": "data", **os.environ, "PYTHONPATH": str(tree)},
                cwd=tree,
                capture_output=True,
                check=True,
                text=True,
            ).stdout
        finally:
            subprocess.run([*git, "remove", "--force", tree], check=True)
    found: dict[str, float] = json.loads(printed.splitlines()[-1])
    return found


def described(cell: Cell) -> str:
    """A line of the table."""
    backends = [key for key, value in cell.items() if isinstance(value, list)]
    first = cell[backends[0]][0]
    words = [f"{cell['scenario']}/{cell['algorithm']}".ljust(32), f"{cell['until']:g} s"]
    if "before_cpu_s" in cell:
        words.append(f"before {cell['before_cpu_s']:.2f} s")
    for backend in backends:
        run = cell[backend][0]
        words.append(f"{backend} {run['cpu_s']:.2f} s ({first['cpu_s'] / run['cpu_s']:.2f})")
        if "core_hours" in run:
            words.append(f"whole {run['core_hours']:.3g} core-hours")
        words.append(f"{100 * run['accuracy']:.2f} +- {100 * run['std_nodes']:.2f} %")
    logs = {cell[backend][0]["event_log_sha256"] for backend in backends}
    words.append("equal logs" if len(logs) == 1 else "LOGS DIFFER")
    return "  ".join(words)


if __name__ == "__main__":
    main()
