"""Memory: what is available, what is refused before it is made, how near estimates come."""

import json
import subprocess
import sys

import pytest
import torch

from netsim import scenario, world
from netsim.errors import ScenarioError
from netsim.world import memory

BASE = {
    "horizon_s": 2.0,
    "nodes": {"count": 4},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [16]},
    "algorithm": {"kind": "dpsgd", "local_steps": 2},
}
GIB = 1 << 30


def cgroup(monkeypatch, tmp_path, line, files):
    """A machine of 16 GiB with files of control groups below it."""
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable: {16 << 20} kB\n")
    (proc / "self" / "cgroup").write_text(line)
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(f"{text}\n")
    monkeypatch.setattr(memory, "_PROC", proc)
    monkeypatch.setattr(memory, "_CGROUPS", groups)


@pytest.mark.parametrize(
    ("line", "files", "left"),
    [
        ("0::/\n", {}, 16 * GIB),
        ("0::/a/b\n", {"a/b/memory.max": "max", "a/b/memory.current": 1}, 16 * GIB),
        ("0::/a/b\n", {"a/memory.max": 4 * GIB, "a/memory.current": GIB}, 3 * GIB),
        (
            "0::/a\n",
            {
                "a/memory.max": 4 * GIB,
                "a/memory.current": 3 * GIB,
                "a/memory.stat": f"anon 5\ninactive_file {GIB}",
            },
            2 * GIB,
        ),
        ("0::/elsewhere\n", {"memory.max": 2 * GIB, "memory.current": 0}, 2 * GIB),
        (
            "5:cpu:/\n4:memory:/x\n",
            {"memory/x/memory.limit_in_bytes": GIB, "memory/x/memory.usage_in_bytes": GIB // 2},
            GIB // 2,
        ),
    ],
)
def test_what_is_available_is_that_of_machine_and_groups(monkeypatch, tmp_path, line, files, left):
    cgroup(monkeypatch, tmp_path, line, files)
    assert memory.available_bytes() == left


def test_a_model_that_cannot_fit_is_refused_before_it_is_made(monkeypatch):
    made = []
    monkeypatch.setattr(torch.nn.Linear, "reset_parameters", lambda self: made.append(self.weight))
    tables = {**BASE, "model": {"kind": "mlp", "hidden": [10_000_000]}}
    monkeypatch.setattr(memory, "available_bytes", lambda: 16.0 * GIB)
    with pytest.raises(ScenarioError, match=r"has 750,000,010 parameters, and a run needs about"):
        world.build(scenario.from_dict(tables))
    assert all(weight.is_meta for weight in made)


def test_data_that_cannot_fit_are_refused_before_they_are_read(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000.0)
    with pytest.raises(ScenarioError, match=r"\[data\]: needs about 1 MiB of memory"):
        world.build(scenario.from_dict(BASE))


def test_more_than_half_is_warned_of(monkeypatch):
    need = world.build(scenario.from_dict(BASE)).need
    assert need.remark is None
    close = memory.Need(need.parts, need.size * 1.5, "this machine")
    assert close.remark is not None
    assert "this machine has" in close.remark
    close.require("nothing")


PLAY = """
import json, os, sys
from netsim import engine, scenario, world
from netsim.engine import runner
from netsim.world import builder, memory
def told(key):
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith(key)) << 10
read, seen = memory.of_models, []
memory.of_models = lambda *a: seen.append(told("VmRSS")) or read(*a)
for line in sys.stdin:
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
        continue
    made = world.build(scenario.from_dict(json.loads(line)))
    engine.play(made, made.scenario.algorithm[0])
    print(json.dumps([seen[0] + made.need.size, told("VmHWM")]), flush=True)
    os._exit(0)
"""
"""Each in a process of its own, as nothing but a new one has no peak behind it."""
PLAYED = {
    "small": {},
    "many nodes": {"nodes": {"count": 500}, "topology": {"kind": "ring"}},
    "many nodes, larger model": {
        "nodes": {"count": 200},
        "topology": {"kind": "ring"},
        "model": {"kind": "mlp", "hidden": [500]},
    },
    "few nodes, large model": {"model": {"kind": "mlp", "hidden": [60_000]}, "horizon_s": 1.0},
    "own models, Adam": {
        "model": {"kind": "mlp", "hidden": [30_000]},
        "nodes": {"count": 8},
        "training": {"common_initial": False, "optimizer": "adam"},
    },
    "many messages": {
        "nodes": {"count": 40},
        "exchange": {"schedule": "poisson", "rate_hz": 5.0},
        "horizon_s": 15.0,
    },
}


@pytest.fixture(scope="module")
def peaks():
    """Bytes estimated and measured, by name."""
    tables = "\n".join(json.dumps({**BASE, **changed}) for changed in PLAYED.values())
    done = subprocess.run(
        [sys.executable, "-c", PLAY], input=tables, capture_output=True, text=True, check=True
    )
    return dict(zip(PLAYED, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
def test_the_estimate_is_within_its_factor_of_the_measured_peak(name, peaks):
    estimated, measured = peaks[name]
    assert 1 / memory.FACTOR < estimated / measured < memory.FACTOR


def test_a_minibatch_of_all_samples_takes_no_more_than_these(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: GIB)
    huge = {"training": {"batch_size": 10**12}, "metrics": {"common_test_samples": 10**12}}
    world.build(scenario.from_dict(BASE | huge))
