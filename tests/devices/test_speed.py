"""Time of a local step on each node."""

import json
import statistics

import numpy as np
import pandas as pd
import pytest
import torch

from netsim import world
from netsim.devices.speed.devices import Devices
from netsim.devices.speed.flops import Flops
from netsim.devices.speed.stragglers import Stragglers
from netsim.engine.simulation import Simulation
from netsim.errors import ScenarioError
from netsim.learning.architecture import Architecture
from netsim.learning.flops import step_flops
from netsim.models.lenet import LeNet
from netsim.models.mlp import Mlp
from netsim.rng import Streams
from netsim.scenario import from_dict

STREAMS = Streams(0)


def architecture(kind, shape):
    module = kind.build(shape, 10)
    return Architecture(kind.kind, module, torch.device("cpu"), torch.float32, 10)


def test_operations_of_a_fully_connected_step_by_hand():
    """64 -> 20 -> 10, batch 5: forward, weight gradients, and one gradient of an input."""
    forward = 2 * 5 * (64 * 20 + 20 * 10)
    inner = 2 * 5 * 20 * 10
    counted = step_flops(architecture(Mlp(hidden=(20,)), (1, 8, 8)), (1, 8, 8), 5)
    assert counted == 2 * forward + inner


def test_operations_of_a_convolution_by_hand():
    """LeNet-5 on 32 x 32 x 3: the forward pass is 651,720 multiply-accumulates a sample."""
    first = 28 * 28 * 6 * 3 * 25
    rest = 10 * 10 * 16 * 6 * 25 + 400 * 120 + 120 * 84 + 84 * 10
    assert first + rest == 651_720
    counted = step_flops(architecture(LeNet(), (3, 32, 32)), (3, 32, 32), 8)
    # backward: every layer's weights, and the input of all but the first
    assert counted == 2 * 8 * (2 * (first + rest) + rest)
    assert step_flops(architecture(LeNet(), (3, 32, 32)), (3, 32, 32), 16) == 2 * counted


def test_the_time_of_a_step_follows_from_model_and_batch():
    law, speeds = Flops(flops_per_s=1e9, utilisation=0.5).for_models(
        (1.0, 2.0, 1.0), [1e6, 1e6, 4e6].__getitem__
    )
    took = [law.train_s(10, v, STREAMS, i, 0) for i, v in enumerate(speeds)]
    assert took == pytest.approx([0.02, 0.01, 0.08])
    assert law.mean_step_s() == pytest.approx((2e-3 + 1e-3 + 8e-3) / 3)


def test_a_share_of_the_nodes_straggles():
    law = Stragglers(step_s=0.1, share=0.3, slowdown=4.0)
    speeds = law.relative([1.0] * 9 + [2.0], STREAMS, None)
    times = [law.train_s(5, v, STREAMS, i, 0) for i, v in enumerate(speeds)]
    nominal = [0.5] * 9 + [0.25]
    ratio = [t / n for t, n in zip(times, nominal, strict=True)]
    assert sorted(ratio) == pytest.approx([1.0] * 7 + [4.0] * 3)
    assert law.relative([1.0] * 10, Streams(1), None) != law.relative([1.0] * 10, STREAMS, None)
    assert Stragglers(share=0.0).relative([1.0] * 4, STREAMS, None) == (1.0,) * 4


def test_servers_are_no_stragglers():
    """Three of ten clients, whichever of twelve nodes are servers."""
    law = Stragglers(step_s=0.1, share=0.3, slowdown=4.0)
    for seed in range(20):
        servers = {seed % 12, (seed + 5) % 12}
        clients = [node for node in range(12) if node not in servers]
        speeds = law.of_nodes([1.0] * 12, clients, Streams(seed), None)
        assert sum(speeds[node] == 0.25 for node in clients) == 3
        assert all(speeds[node] == 1.0 for node in servers)


def devices(path, folder=None, nodes=3, **keys):
    law = Devices(path=str(path), **keys)
    speeds = law.relative([1.0] * nodes, STREAMS, folder)
    return [law.train_s(1, v, STREAMS, i, 0) for i, v in enumerate(speeds)]


def test_devices_from_scores(tmp_path):
    scores = {"slow": 10, "middle": 20.0, "fast": 80}
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    times = devices("scores.json", tmp_path, nodes=300, step_s=0.5)
    assert set(times) == {1.0, 0.5, 0.125}
    assert 70 < times.count(0.5) < 130


def test_devices_from_seconds_of_a_step(tmp_path):
    (tmp_path / "pool.csv").write_text("name,step_s\na,0.25\nb,4\n")
    assert set(devices(tmp_path / "pool.csv", nodes=40)) == {0.25, 4.0}
    (tmp_path / "own.csv").write_text("node,step_s\n2,0.5\n0,0.25\n1,3\n9,1\n")
    assert devices(tmp_path / "own.csv") == pytest.approx([0.25, 3.0, 0.5])
    assert devices(tmp_path / "own.csv", step_s=7.0) == pytest.approx([0.25, 3.0, 0.5])


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.csv", "seconds\n1\n", "no column step_s; it has none of step_s"),
        ("a.csv", "step_s\n1\n0\n", "line 3: step_s must be greater than 0"),
        ("a.csv", "node,step_s\n0,1\n1,1\n0,2\n", "line 4: this node has a row already"),
        ("a.csv", "node,step_s\n0,1\n2,1\n", "no row for node 1; every node from 0 to 2 needs one"),
        ("a.json", "[1, 2]", "must be one object {device: score}"),
        ("a.json", "{}", "must be one object {device: score}"),
        ("a.json", '{"x": "fast"}', "score 1 is no number"),
        ("a.json", '{"x": 0}', 'the score of "x" is 0; must be greater than 0'),
        ("a.json", "{", "can't be read as JSON"),
    ],
)
def test_bad_device_files_are_told(tmp_path, name, text, problem):
    (tmp_path / name).write_text(text)
    with pytest.raises(ScenarioError) as caught:
        devices(tmp_path / name)
    assert str(caught.value).startswith(f'[compute] path = "{tmp_path / name}": ')
    assert problem in str(caught.value)


def test_devices_that_are_not_there_say_where_they_were_looked_for(tmp_path):
    with pytest.raises(ScenarioError, match=r"^\[compute\] path = .* no such file; looked for"):
        devices("traces/devices/benchmark2score.json", tmp_path)


TABLES = {
    "horizon_s": 20.0,
    "nodes": {"count": 6, "groups": [{"name": "quick", "count": 2, "speed": 2.0}]},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": {
        "kind": "digits",
        "partition": {"kind": "iid", "train_samples": 20, "test_samples": 5},
    },
    "model": [{"kind": "mlp", "hidden": [4]}, {"kind": "mlp", "hidden": [40]}],
    "algorithm": {"kind": "local", "local_steps": 2},
    "metrics": {"common_test_samples": 5},
    "training": {"batch_size": 7},
}


def test_a_run_records_every_nodes_speed(tmp_path):
    compute = {"kind": "flops", "flops_per_s": 1e6}
    scenario = from_dict(TABLES | {"compute": compute})
    run = Simulation(world.build(scenario), scenario.algorithm[0], tmp_path / "run", True, None)
    run.write_inputs(tmp_path / "run")
    nodes = pd.read_parquet(tmp_path / "run" / "nodes.parquet")
    flops = [2 * 7 * (2 * (64 * h + 10 * h) + 10 * h) for h in (4, 40)]
    expected = [flops[i % 2] / 1e6 / (2 if i < 2 else 1) for i in range(6)]
    assert nodes.step_s.tolist() == pytest.approx(expected)
    assert nodes.speed.tolist() == pytest.approx(statistics.mean(expected) / np.array(expected))
