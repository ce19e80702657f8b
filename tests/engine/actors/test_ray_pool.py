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
