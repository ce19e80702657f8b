"""Worker processes that are killed, orphaned, interrupted, or lured by files of the folder."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import netsim

pytestmark = pytest.mark.slow

ENDS = signal.SIGTERM, signal.SIGINT, signal.SIGHUP

ROOT = Path(netsim.__path__[0]).parent

COMMAND = (
    sys.executable, "-P", "-m", "netsim", "sweep", "s.toml", "--jobs", "2", "--out", "out",
    "--no-report", "--algorithms", "own",
)  # fmt: skip

SCENARIO = """\
horizon_s = {horizon}
[nodes]
count = 8
[exchange]
schedule = "poisson"
rate_hz = 1.0
[data]
kind = "digits"
[model]
kind = "mlp"
[algorithm]
kind = "waits"
"""

WAITS = '''"""Waits: trains at every wake-up, and takes its time where there is a file `slowly`."""
import time
from pathlib import Path

from netsim import api

class Params(api.Params):
    pass

def processes(node, params):
    return [on_wakeup(node)]

def on_wakeup(node):
    theta = node.initial()
    while True:
        yield node.wakeup()
        if Path("slowly").exists():
            time.sleep(0.05)
        theta = (yield node.train(theta, steps=1)).theta
        node.publish(theta, "trained")
'''

PATIENCE_S = 300.0


@pytest.fixture
def sweep(tmp_path):
    """Starts `netsim sweep` of runs, two at a time, in a process of its own."""
    started = []
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "waits.py").write_text(WAITS)

    def start(horizon, *more, runs=4):
        (tmp_path / "s.toml").write_text(SCENARIO.format(horizon=horizon))
        process = subprocess.Popen(
            [*COMMAND, "--seeds", f"0:{runs}", *(more or ("--timing-only",))],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def status(tmp_path):
    def read():
        try:
            return json.loads((tmp_path / "out" / "status.json").read_text())
        except OSError:
            return {"done": 0, "running": {}}

    return read


def wait_for(condition):
    until_s = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < until_s
        time.sleep(0.05)
    return found


def two_pids(status):
    """The processes of two runs that are under way."""
    runs = wait_for(lambda: (r := status()["running"]) and len(r) == 2 and r)
    return [run["pid"] for run in runs.values()]


def alive(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return stat[0] not in "ZX"


def test_nothing_is_imported_from_the_working_folder(sweep, tmp_path):
    for name in ("signal", "netsim", "selectors", "torch", "queue"):
        (tmp_path / f"{name}.py").write_text("open('lured', 'w')\nraise SystemExit('lured')\n")
    process = sweep(2, runs=2)
    text, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, text
    assert not (tmp_path / "lured").exists()


def test_a_killed_worker_costs_no_run_and_is_named(sweep, status, tmp_path):
    (tmp_path / "slowly").touch()  # none ends before its worker is killed
    process = sweep(200)
    pids = two_pids(status)
    wait_for(lambda: len(list(tmp_path.glob("out/base/*/waits/status.json"))) == 2)
    os.kill(pids[0], signal.SIGKILL)
    (tmp_path / "slowly").unlink()
    text, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, text
    assert "its process was killed by SIGKILL (out of memory?); played again" in text
    assert "played more than once, as a process was lost:" in text
    found = status()
    assert (found["done"], found["failed"], found["state"]) == (4, {}, "done")
    assert sum(map(len, found["played_again"].values())) == 1
    assert len(list(tmp_path.glob("out/base/*.unfinished-1/waits"))) == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, *ENDS])
def test_no_worker_outlives_its_sweep(sweep, status, number):
    process = sweep(1e6)
    pids = two_pids(status)
    time.sleep(0.2)  # amid a run
    process.send_signal(number)
    wait_for(lambda: not any(map(alive, pids)))
    text, _ = process.communicate(timeout=PATIENCE_S)
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number, text
        assert "0 of 4 runs had ended" in text
        assert "to go on: the same command with --out out" in text
        assert status()["state"] == "interrupted"


def test_a_sweep_that_was_stopped_counts_what_was_done_and_goes_on(sweep, status):
    process = sweep(100)
    wait_for(lambda: status()["done"] >= 1)
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=PATIENCE_S)
    if process.returncode == 130:  # else all had ended
        done = status()["done"]
        assert f"{done} of 4 runs had ended" in text
        assert text.count("not ended: ") == 4 - done
    again = sweep(100)
    text, _ = again.communicate(timeout=PATIENCE_S)
    assert again.returncode == 0, text
    assert status()["done"] == 4


def test_a_run_that_was_under_way_goes_on_from_its_checkpoint(sweep, status, tmp_path):
    more = ("--set", "training.batch_size=20")
    (tmp_path / "slowly").touch()
    first = sweep(200, *more, runs=2)
    checkpoints = "out/base/*/waits/journal/checkpoint-*.json"
    wait_for(lambda: len(list(tmp_path.glob(checkpoints))) or status()["done"])
    first.send_signal(signal.SIGTERM)
    text, _ = first.communicate(timeout=PATIENCE_S)
    assert first.returncode == 143, text
    (tmp_path / "slowly").unlink()
    second = sweep(200, *more, runs=2)
    text, _ = second.communicate(timeout=PATIENCE_S)
    assert second.returncode == 0, text
    assert not list(tmp_path.glob("out/base/*.unfinished-*"))
    found = [json.loads(p.read_text()) for p in tmp_path.glob("out/base/*/waits/environment.json")]
    assert any("resumed" in environment for environment in found)
