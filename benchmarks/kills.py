"""Kills runs at random moments, lets them go on, and compares with the run that was never killed.

    python benchmarks/kills.py [--kills N] [--seed S] [--only NAME...] [--json FILE]

Plays each case once in peace and without a checkpoint. Then, as often as `--kills` says in all, it
plays a case again in a process of its own, sends SIGKILL at a random moment, and calls
`netsim resume`, which every second time is killed, too. Event log, parameters, summary and every
table must be those of the first run. Checkpoints are written far more often than they are by
default, so that kills meet them, too. Exits with 1 if anything differs.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import netsim.engine.playing  # noqa: F401 # so that children need not import torch
from netsim.console.app import app
from netsim.engine.checkpoints import writing
from netsim.recording import run_folder
from netsim.scenario import from_dict, to_toml

ROUNDS: dict[str, Any] = {"exchange": {"schedule": "rounds"}}
RADIO: dict[str, Any] = {
    "exchange": {"schedule": "poisson", "rate_hz": 0.4},
    "radio": {"fading": {"kind": "rayleigh"}},
}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], float]] = {
    "kd_pdfl radio": ({"kind": "kd_pdfl"}, RADIO, 60.0),
    "kd_pdfl star": (
        {"kind": "kd_pdfl"},
        {"exchange": {"schedule": "star", "slots_per_exchange": 4}},
        150.0,
    ),
    "dpfl radio": ({"kind": "dpfl", "budget": 3}, RADIO, 30.0),
    "dpfl rounds": ({"kind": "dpfl", "budget": 3}, ROUNDS, 15.0),
    "mapl radio": ({"kind": "mapl"}, RADIO, 12.0),
    "mapl rounds": ({"kind": "mapl"}, ROUNDS, 8.0),
    "pfedgraph radio": ({"kind": "pfedgraph", "steps": 10}, RADIO, 15.0),
    "pfedgraph rounds": ({"kind": "pfedgraph", "steps": 10}, ROUNDS, 8.0),
    "l2c radio": ({"kind": "l2c"}, RADIO, 20.0),
    "l2c rounds": ({"kind": "l2c"}, ROUNDS, 20.0),
    "meta_l2c rounds": ({"kind": "meta_l2c"}, ROUNDS, 8.0),
    "fedavg radio": ({"kind": "fedavg"}, RADIO, 80.0),
    "fedavg rounds": ({"kind": "fedavg"}, ROUNDS, 60.0),
    "dpsgd radio": ({"kind": "dpsgd"}, RADIO, 80.0),
    "dpsgd rounds": ({"kind": "dpsgd"}, ROUNDS, 60.0),
    "local radio": ({"kind": "local"}, RADIO, 150.0),
}
"""By name: the algorithm, its network, and for how long it is played [s]."""

SHARED: dict[str, Any] = {
    "nodes": {"count": 6, "placement": "disc"},
    "data": {
        "kind": "digits",
        "validation": 0.2,
        "partition": {"kind": "class_mix", "train_max": 20, "test_samples": 30},
    },
    "model": {"kind": "mlp", "hidden": [32]},
}

TABLES = ("messages", "wakes", "metrics", "traffic", "graph")
OFTEN_S = 0.2
"""Wall time between two checkpoints."""

OF_THE_CLOCK = ("wall_s", "engine")
"""Fields of a summary that depend on the wall clock; of `engine` its counts are compared."""


def main(arguments: list[str] | None = None) -> int:
    """Play, kill, resume, compare; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=50, metavar="N")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table there, too")
    given = parser.parse_args(arguments)
    draw = random.Random(given.seed)  # the moments of kills
    names = [given.only[k % len(given.only)] for k in range(given.kills)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in given.only:
            rows += case(name, Path(folder), names.count(name), draw)
    different = sum(1 for row in rows if row["different"])
    print(f"{len(rows)} kills, {different} of them with a difference")
    if given.json is not None:
        given.json.write_text(json.dumps({"kills": rows}, indent=1), encoding="utf-8")
    return 1 if different else 0


def case(name: str, folder: Path, kills: int, draw: random.Random) -> list[dict[str, Any]]:
    """Play one case in peace and kill it so many times; a row for each kill."""
    algorithm, network, horizon_s = CASES[name]
    tables = {**SHARED, **network, "algorithm": algorithm, "horizon_s": horizon_s}
    tables["metrics"] = {"every_s": horizon_s / 4, "weights": True}
    scenario = folder / "case.toml"
    scenario.write_text(to_toml(from_dict(tables)), encoding="utf-8")
    peaceful, run = folder / "peaceful", folder / "run"
    rows = []
    for k in range(kills):
        if k == 0:
            shutil.rmtree(peaceful, ignore_errors=True)
            code, said = child(["run", str(scenario), "--out", str(peaceful)], often=False)
            assert code == 0, f"{name}: does not play: {said}"
            took_s = run_folder.summary(peaceful)["wall_s"]
        shutil.rmtree(run, ignore_errors=True)
        kill_s = [draw.uniform(0.0, took_s)]
        begun = run / ("status.json" if draw.random() < 0.9 else "scenario.toml")
        code, _ = child(["run", str(scenario), "--out", str(run)], kill_s[0], begun)
        left = sorted(p.name for p in run.glob("journal/checkpoint-*.json"))
        if code and k % 2:
            kill_s.append(draw.uniform(0.0, took_s))
            code, _ = child(["resume", str(run)], kill_s[1], begun)
        if code or not (run / "summary.json").is_file():
            again = "resume" if (run / "scenario.toml").is_file() else "run"
            tail = [str(run)] if again == "resume" else [str(scenario), "--out", str(run)]
            if again == "run":
                shutil.rmtree(run, ignore_errors=True)
            code, said = child([again, *tail])
        found = differences(peaceful, run) if code == 0 else [f"exit code {code}: {said}"]
        row = {"case": name, "kill_s": kill_s, "took_s": took_s, "checkpoints": left}
        rows.append({**row, "different": found})
        at = ", then ".join(f"{s:.2f}" for s in kill_s)
        print(
            f"{name:18} killed at {at} of {took_s:.1f} s, from "
            f"{left[-1][11:17] if left else 'the beginning'}: {found or 'the same'}",
            flush=True,
        )
    return rows


def child(
    arguments: Sequence[str],
    kill_s: float | None = None,
    begun: Path | None = None,
    often: bool = True,
) -> tuple[int, str]:
    """Call netsim in a process of its own; its exit code, and what it said.

    Parameters
    ----------
    arguments : sequence of str
    kill_s : float or None
        After how long it is killed.
    begun : Path or None
        From when this file is there.
    often : bool
        Whether checkpoints are written often, or never.
    """
    with tempfile.TemporaryFile("w+") as said:
        pid = os.fork()
        if pid == 0:
            _called(arguments, said.fileno(), often)
        until_s = None
        while True:
            if until_s is None and kill_s is not None and (begun is None or begun.exists()):
                until_s = time.monotonic() + kill_s
            ended, how = os.waitpid(pid, os.WNOHANG)
            if ended:
                break
            if until_s is not None and time.monotonic() > until_s:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.005)
        said.seek(0)
        return os.waitstatus_to_exitcode(how), said.read()[-2000:]


def _called(arguments: Sequence[str], said: int, often: bool) -> None:
    """In the child: call netsim and exit."""
    writing.FIRST_S = writing.LEAST_S = OFTEN_S if often else 1e9
    writing.SHARE_SPENT, writing.SHARE_LOST = 1.0, 0.0
    os.dup2(said, 1)
    os.dup2(said, 2)
    code = 99
    try:
        app([*arguments, "--quiet", "--no-figures", "--no-report"])
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def differences(one: Path, other: Path) -> list[str]:
    """List the differences of two run folders, without those of the wall clock."""
    before, after = run_folder.summary(one), run_folder.summary(other)
    found = [f"summary: {k}" for k in before if k not in OF_THE_CLOCK and before[k] != after.get(k)]
    found += [
        f"summary: engine.{count}"
        for count in ("events", "flushes", "mean_batch_width", "one_by_one")
        if before["engine"][count] != after["engine"][count]
    ]
    for table in TABLES:
        rows, others = run_folder.read(one, table), run_folder.read(other, table)
        found += [
            f"{table}: {column}"
            for column in {**rows, **others}
            if column not in rows or column not in others or not _same(rows[column], others[column])
        ]
    return found


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    is_real = one.dtype.kind == other.dtype.kind == "f"
    return np.array_equal(one, other, equal_nan=is_real)


if __name__ == "__main__":
    sys.exit(main())
