"""A small world, and one run of it that many tests look at."""

import pytest

import netsim

TABLES = {
    "name": "small",
    "horizon_s": 20.0,
    "nodes": {"count": 5},
    "topology": {"kind": "ring"},
    "exchange": {"schedule": "rounds", "interval_s": 5.0},
    "link": {"latency_s": 0.01, "rate_bps": 1e6, "loss": 0.2},
    "data": {
        "kind": "digits",
        "validation": 0.2,
        "partition": {"kind": "iid", "train_samples": 20, "test_samples": 10},
    },
    "model": {"kind": "mlp", "hidden": [4]},
    "compute": {"kind": "fixed", "step_s": 0.1},
    "metrics": {"every_s": 5.0, "common_test_samples": 5},
    "run": {"device": "cpu", "backend": "stacked"},
    "algorithm": [{"kind": "dpsgd", "local_steps": 3}, {"kind": "local", "local_steps": 3}],
}


@pytest.fixture(scope="session")
def small() -> netsim.Scenario:
    return netsim.Scenario(**TABLES)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in an empty folder, where runs/ goes."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def played(small, tmp_path_factory) -> netsim.Run:
    """Two algorithms, played once."""
    return netsim.run(small, out=tmp_path_factory.mktemp("small") / "run")
