"""Kill processes of sweeps, and compare their tables with those of a sweep that ran through.

    python benchmarks/killed_sweeps.py --ways through killed ray

`killed`: three workers and then the whole sweep end by SIGKILL, and the same command is said again.
`ray`: through a Ray cluster of this machine, of which one worker is killed. What is compared is
`sweep.csv` without its wall times.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _timing import save, show

from netsim.recording import run_folder

SCENARIO = """\
horizon_s = 120.0
[nodes]
count = 12
placement = "iid_links"
[exchange]
schedule = "poisson"
rate_hz = 0.5
[radio]
reachable = 5.0
[radio.fading]
kind = "rayleigh"
[data]
kind = "digits"
[model]
kind = "mlp"
[algorithm]
kind = "dpsgd"
"""

PATIENCE_S = 600.0

COLUMNS = {
    "sweep": "<28s",
    "runs": "d",
    "workers killed": "d",
    "sweeps killed": "d",
    "played again": "d",
    "orphans end s": ".1f",
    "table": "s",
    "wall s": ".0f",
}


def command(out: Path, runs: int, more: Sequence[str]) -> list[str]:
    """The command line of a sweep of so many runs."""
    scenario = out.parent / "killed.toml"
    scenario.write_text(SCENARIO)
    over = ("--over", "radio.reachable=3,6", "--seeds", f"0:{runs // 2}")
    common = ("--timing-only", "-q", "--out", str(out))
    return [sys.executable, "-P", "-m", "netsim", "sweep", str(scenario), *over, *common, *more]


def status(out: Path) -> dict[str, Any]:
    """Read the `status.json` of a sweep."""
    try:
        return json.loads((out / "status.json").read_text())
    except (OSError, ValueError):
        return {"done": 0, "running": {}, "played_again": {}}


def alive(pid: int) -> bool:
    """Return whether a process of this number exists and is not a zombie."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def kill_workers(process: subprocess.Popen[bytes], out: Path, after: Sequence[int]) -> list[int]:
    """Kill one worker each time that so many runs are done; returns whom."""
    killed: list[int] = []
    for done in after:
        until_s = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < until_s:
            found = status(out)
            pids = [run["pid"] for run in found["running"].values() if run["pid"] not in killed]
            if found["done"] >= done and pids and process.pid not in pids:
                pid = random.choice(pids)
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                break
            time.sleep(0.05)
    return killed


def kill_sweep(process: subprocess.Popen[bytes], out: Path, after: int) -> float:
    """Kill the process of a sweep once so many runs are done; returns how long orphans lived."""
    while process.poll() is None and status(out)["done"] < after:
        time.sleep(0.05)
    pids = [run["pid"] for run in status(out)["running"].values()]
    process.kill()
    process.wait()
    since_s = time.monotonic()
    while any(map(alive, pids)) and time.monotonic() < since_s + PATIENCE_S:
        time.sleep(0.05)
    return time.monotonic() - since_s


def table(out: Path) -> str:
    """SHA-256 of `sweep.csv` without the rows of wall time."""
    lines = (out / "sweep.csv").read_text().splitlines(keepends=True)
    kept = "".join(line for line in lines if ",wall_s," not in line)
    return hashlib.sha256(kept.encode()).hexdigest()[:16]


def played(name: str, out: Path, runs: int, **more: Any) -> dict[str, Any]:
    """A row of the table that this prints."""
    return {
        "sweep": name,
        "runs": sum(
            run_folder.UNFINISHED not in p.parent.parent.name  # a kill may come after the summary
            for p in out.glob("*/seed-*/*/summary.json")
        ),
        "workers killed": 0,
        "sweeps killed": 0,
        "played again": 0,
        "orphans end s": None,
        "table": table(out),
        **more,
    }


def through(folder: Path, runs: int) -> dict[str, Any]:
    """A sweep that nothing happens to."""
    out, started_s = folder / "through", time.monotonic()
    subprocess.run(command(out, runs, ("--jobs", "2")), check=True)
    return played("ran through", out, runs, **{"wall s": time.monotonic() - started_s})


def killed(folder: Path, runs: int) -> dict[str, Any]:
    """A sweep that loses three workers, then ends itself, and goes on."""
    out, started_s = folder / "killed", time.monotonic()
    process = subprocess.Popen(command(out, runs, ("--jobs", "2")))
    workers = kill_workers(process, out, [runs // 8, runs // 4, 3 * runs // 8])
    again = sum(map(len, status(out)["played_again"].values()))
    orphans_s = kill_sweep(process, out, runs // 2)
    subprocess.run(command(out, runs, ("--jobs", "2")), check=True)
    return played(
        "killed, then continued",
        out,
        runs,
        **{
            "workers killed": len(workers),
            "sweeps killed": 1,
            "played again": again,
            "orphans end s": orphans_s,
            "wall s": time.monotonic() - started_s,
        },
    )


def on_ray(folder: Path, runs: int) -> dict[str, Any]:
    """A sweep on a Ray cluster of this machine that loses a worker."""
    out, started_s = folder / "ray", time.monotonic()
    process = subprocess.Popen(command(out, runs, ("--engine", "ray", "--jobs", "4")))
    workers = kill_workers(process, out, [runs // 8])
    if process.wait() != 0:
        raise SystemExit("the sweep on Ray failed")
    again = sum(map(len, status(out)["played_again"].values()))
    return played(
        "through Ray, a worker killed",
        out,
        runs,
        **{
            "workers killed": len(workers),
            "played again": again,
            "wall s": time.monotonic() - started_s,
        },
    )


WAYS = {"through": through, "killed": killed, "ray": on_ray}


def main(argv: Sequence[str] | None = None) -> None:
    """Play the sweeps and print what their tables come to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=24, help="of each sweep, an even number")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=["through", "killed"])
    parser.add_argument("--json", type=Path, metavar="FILE")
    asked = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        cells = [WAYS[way](Path(folder), asked.runs) for way in asked.ways]
    show(cells, COLUMNS)
    same = len({cell["table"] for cell in cells}) == 1
    print("the tables are equal" if same else "THE TABLES DIFFER")
    save(asked.json, {"cells": cells, "equal": same})


if __name__ == "__main__":
    main()
