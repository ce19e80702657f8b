"""One run over several machines, which a cluster of Ray on this one simulates."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import netsim

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'netsim-dfl[ray]'")
pytestmark = pytest.mark.slow

ROOT = Path(netsim.__path__[0]).parent

SCENARIO = """\
horizon_s = 60.0
[nodes]
count = 12
placement = "disc"
radius_m = 60.0
[churn]
kind = "exponential"
mean_on_s = 20.0
mean_off_s = 5.0
[radio]
[exchange]
schedule = "poisson"
rate_hz = 0.5
[data]
kind = "digits"
validation = 0.2
[model]
kind = "mlp"
hidden = [32]
[metrics]
every_s = 20.0
common_test_samples = 50
[[algorithm]]
kind = "own"
[[algorithm]]
kind = "fedavg"
[[algorithm]]
kind = "dpsgd"
"""

OWN = '''"""Own: trains by a loss of its own, and mixes what has come."""
from dataclasses import dataclass

from netsim.api import Message, Params as Base, Ref

from ._helper import loss


class Params(Base):
    steps: int = 3


@dataclass(frozen=True)
class Model(Message):
    theta: Ref


def processes(node, params):
    return [on_wakeup(node, params)]


def on_wakeup(node, params):
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, steps=params.steps, loss=loss)).theta
        got = yield node.exchange(Model(theta))
        models = [theta, *(one.msg.theta for one in got.values())]
        theta = node.mix(models, [1 / len(models)] * len(models))
        node.publish(theta, "mixed")
'''

HELPER = """from torch.nn import functional as F


def loss(model, batch, learned):
    return F.cross_entropy(model(batch.x), batch.y) + 0.1 * model(batch.x).square().mean()
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own.py").write_text(OWN)
    (tmp_path / "own" / "_helper.py").write_text(HELPER)
    return tmp_path


@pytest.fixture
def cluster():
    """Three machines of one core each; the first one is the head."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    for _ in range(2):
        made.add_node(num_cpus=1)
    yield made
    made.shutdown()


def command(folder, *given):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "netsim", *given, "--components", "own", "--quiet"],
        cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def done(process):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, out + err


def hashes(run):
    found = {}
    for path in sorted(run.glob("*/summary.json")):
        summary = json.loads(path.read_text())
        found[path.parent.name] = summary["event_log_sha256"], summary["parameters_sha256"]
    return found


def actors_of(folder):
    """The processes of the actors of a run's algorithm that has begun last."""
    records = sorted(folder.glob("*/environment.json"), key=lambda p: p.stat().st_mtime)
    return json.loads(records[-1].read_text())["actors"] if records else []


def test_three_machines_play_what_one_process_plays_also_when_actors_and_a_machine_die(
    folder, cluster
):
    done(command(folder, "run", "s.toml", "--out", "alone"))
    process = command(
        folder, "run", "s.toml", "--out", "shared", "--engine", "ray", "--actors", "3",
        "--address", cluster.address,
    )  # fmt: skip
    killed = 0
    while process.poll() is None and killed < 3:
        here = actors_of(folder / "shared")
        if len(here) > killed % 3:
            time.sleep(1.0)
            try:
                os.kill(here[killed % 3]["process"], signal.SIGKILL)
            except ProcessLookupError:
                continue
            killed += 1
        time.sleep(0.2)
    done(process)
    assert killed
    assert hashes(folder / "shared") == hashes(folder / "alone")
    assert len(hashes(folder / "alone")) == 3


def test_a_run_whose_event_loop_dies_goes_on(folder):
    done(command(folder, "run", "s.toml", "--out", "alone"))
    process = command(
        folder, "run", "s.toml", "--out", "shared", "--engine", "ray", "--actors", "2"
    )
    while process.poll() is None and not list((folder / "shared").glob("*/journal/checkpoint-*")):
        time.sleep(0.1)
    process.kill()
    process.communicate()
    if not (folder / "shared" / "dpsgd" / "summary.json").exists():
        done(command(folder, "resume", "shared"))
    assert hashes(folder / "shared") == hashes(folder / "alone")


def test_actors_that_die_while_they_begin_are_begun_anew(folder):
    process = command(folder, "run", "s.toml", "--out", "r", "--engine", "ray", "--actors", "2")
    killed = set()
    while process.poll() is None and len(killed) < 3:
        killed |= {pid for pid in actors_below(process.pid) - killed if ended(pid)}
        time.sleep(0.05)
    done(process)
    assert len(killed) == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_event_loop_that_ends_leaves_no_actor(folder, number):
    process = command(folder, "run", "s.toml", "--out", "r", "--engine", "ray", "--actors", "2")
    while process.poll() is None and len(actors_of(folder / "r")) < 2:
        time.sleep(0.1)
    actors = {one["process"] for one in actors_of(folder / "r")}
    time.sleep(1.0)
    process.send_signal(number)
    process.communicate(timeout=120)
    deadline_s = time.monotonic() + 10.0
    while time.monotonic() < deadline_s and any(map(is_actor, actors)):
        time.sleep(0.1)
    assert len(actors) == 2
    assert not list(filter(is_actor, actors))


def is_actor(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::ShardActor")
    except OSError:
        return False


def ended(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def actors_below(pid):
    """The actors among the processes that a process has begun, those of its own included."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    below = {pid}
    while more := {one for one, above in found.items() if above in below} - below:
        below |= more
    return {one for one in below if is_actor(one)}
