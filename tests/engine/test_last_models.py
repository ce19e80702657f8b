"""Last published models that a run keeps."""

import numpy as np
import pytest
import torch

from netsim import engine, world
from netsim.engine import evaluation
from netsim.scenario import from_dict


@pytest.fixture(autouse=True)
def small_passes(monkeypatch):
    monkeypatch.setattr(evaluation, "AT_ONCE", 64)


def kept(folder, keep, algorithm="local", timing_only=False, **tables):
    base = {
        "horizon_s": 2.5,
        "nodes": {"count": 3},
        "exchange": {"schedule": "rounds", "interval_s": 1.0},
        "data": {
            "kind": "digits",
            "partition": {"kind": "iid", "train_samples": 20, "test_samples": 150},
        },
        "model": {"kind": "mlp", "hidden": [8]},
        "compute": {"kind": "fixed", "step_s": 0.1},
        "metrics": {"keep": keep},
        "algorithm": {"kind": algorithm},
    }
    scenario = from_dict(base | tables)
    built = world.build(scenario)
    entry = scenario.algorithm[0]
    run = engine.Simulation(built, entry, folder, timing_only, None)
    run.to_horizon()
    run.finish(folder)
    files = {path.stem: np.load(path) for path in sorted((folder / "kept").glob("*.npz"))}
    return run, files


def test_features_are_what_the_head_takes_of_the_nodes_own_test_samples(tmp_path):
    run, files = kept(tmp_path, ["features", "head"])
    assert set(files) == {"features", "labels", "head.weight", "head.bias"}
    for node in run.parts:
        name, test = f"node_{node.id}", run.learning.shards.split(node.id, "test")
        row = node.publishing.last_published().ref
        model = row.architecture.bind(row.tensor())
        of = {key: torch.from_numpy(file[name]) for key, file in files.items()}
        assert of["features"].shape == (150, 8)
        assert torch.equal(of["labels"], test.y)
        with torch.no_grad():
            logits = of["features"] @ of["head.weight"].T + of["head.bias"]
            torch.testing.assert_close(logits, model(test.x))


def test_nothing_is_kept_unless_it_is_asked_for(tmp_path):
    assert kept(tmp_path / "a", [])[1] == {}
    assert set(kept(tmp_path / "b", ["head"])[1]) == {"head.weight", "head.bias"}


def test_a_server_has_no_model_to_keep(tmp_path):
    groups = [{"name": "clients", "count": 3}, {"name": "server", "count": 1, "role": "server"}]
    tables = {"nodes": {"count": 4, "groups": groups}, "topology": {"kind": "hub"}}
    _, files = kept(tmp_path, ["head"], "fedavg", **tables)
    assert sorted(files["head.weight"]) == ["node_0", "node_1", "node_2"]


def test_without_tensor_work_there_is_nothing_to_keep(tmp_path):
    assert kept(tmp_path, ["features"], timing_only=True)[1] == {}


def test_features_of_a_model_with_a_projection(tmp_path):
    model = {"kind": "mapl", "projection": 4, "backbone": {"kind": "mlp", "hidden": [6]}}
    _, files = kept(tmp_path, ["features"], model=model)
    assert files["features"]["node_0"].shape == (150, 6)
    assert (files["features"]["node_0"] >= 0).all()
