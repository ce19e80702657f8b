"""Runs as tasks of a real Ray cluster of this machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import netsim

pytest.importorskip("ray", reason="Ray is not installed: pip install 'netsim-dfl[ray]'")
pytestmark = pytest.mark.slow

ROOT = Path(netsim.__path__[0]).parent

COMMAND = (
    sys.executable, "-P", "-m", "netsim", "sweep", "s.toml", "--algorithms", "own",
)  # fmt: skip

SCENARIO = """\
horizon_s = 4.0
[nodes]
count = 3
[exchange]
schedule = "poisson"
rate_hz = 1.0
[data]
kind = "digits"
[model]
kind = "mlp"
[algorithm]
kind = "own"
"""

OWN = '''"""Own: trains at every wake-up."""
from netsim.api import Params as Base

from ._helper import once


class Params(Base):
    trouble: str = ""


def processes(node, params):
    return [on_wakeup(node, params)]


def on_wakeup(node, params):
    theta = node.initial()
    while True:
        yield node.wakeup()
        if params.trouble == "error":
            raise ValueError("on purpose")
        theta = (yield once(node, theta)).theta
        node.publish(theta, "trained")
'''

HELPER = "def once(node, theta):\n    return node.train(theta, steps=1)\n"


def test_results_come_back_and_own_algorithms_go_along(tmp_path):
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own.py").write_text(OWN)
    (tmp_path / "own" / "_helper.py").write_text(HELPER)
    for name in ("signal", "csv", "netsim"):
        (tmp_path / f"{name}.py").write_text("open('lured', 'w')\n")

    def sweep(*more):
        return subprocess.run(
            [*COMMAND, "--over", "algorithm.trouble=none,error", "--out", "out", *more],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )

    found = sweep("--engine", "ray", "--ray-cpus", "0.5")
    assert found.returncode == 1, found.stderr
    assert "2 runs, into out" in found.stderr
    assert "1 of 2 runs; the others are in out" in found.stderr
    assert "trouble=error, seed 0: node " in found.stderr
    summary = json.loads((tmp_path / "out/trouble=none/seed-0/own/summary.json").read_text())
    assert summary["local_steps"] > 0
    assert (tmp_path / "out/sweep.csv").is_file()
    failed = json.loads((tmp_path / "out/trouble=error/seed-0/own/status.json").read_text())
    assert failed["state"] == "failed"
    assert not list(tmp_path.rglob("lured"))
