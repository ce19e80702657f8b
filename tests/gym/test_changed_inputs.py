"""Files that change between two episodes: an environment plays what is there, at every seed."""

import pytest

pytest.importorskip("gymnasium", reason="Gymnasium is not installed: pip install 'netsim-dfl[gym]'")
pytest.importorskip(
    "pettingzoo", reason="PettingZoo is not installed: pip install 'netsim-dfl[gym]'"
)

import netsim
import netsim.gym
from netsim.errors import NetsimError

TABLES = {
    "horizon_s": 40.0,
    "nodes": {"count": 3, "groups": [
        {"name": "clients", "count": 2}, {"name": "hub", "count": 1, "role": "server"},
    ]},
    "topology": {"kind": "hub"},
    "exchange": {"schedule": "poisson", "rate_hz": 0.1},
    "data": {
        "kind": "digits", "partition": {"kind": "iid", "train_samples": 20, "test_samples": 5},
    },
    "model": {"kind": "mlp", "hidden": []},
    "training": {"batch_size": 10},
    "compute": {"kind": "fixed", "step_s": 0.5},
    "algorithm": {"kind": "client_selection", "per_round": 1},
}  # fmt: skip


def write(folder, latency_ms):
    rows = [" ".join("0" if i == j else str(latency_ms) for j in range(3)) for i in range(3)]
    folder.mkdir(exist_ok=True)
    (folder / "latency.txt").write_text("\n".join(rows) + "\n")


def round_s(env):
    """Time of a round: there and back, a look at the loss and two steps of half a second each."""
    env.reset(seed=0)
    begun_s = env.step([1.0, 0.0])[4]["time_s"]
    return env.step([1.0, 0.0])[4]["time_s"] - begun_s


def test_a_seed_that_was_played_before_takes_the_files_as_they_are_now(tmp_path):
    write(tmp_path, 100)
    matrix = {"path": str(tmp_path / "latency.txt"), "unit": "ms"}
    scenario = netsim.Scenario(**TABLES, link={"latency_matrix": matrix})
    env = netsim.gym.make(scenario, reward={"time_s": -1.0}, timing_only=True)
    assert round_s(env) == pytest.approx(1.6)
    write(tmp_path, 400)
    assert round_s(env) == pytest.approx(1.9)
    env.close()


def test_a_seed_that_was_played_before_looks_where_data_are_now(tmp_path, monkeypatch):
    full, empty = tmp_path / "full", tmp_path / "empty"
    full.mkdir()
    empty.mkdir()
    rows = "".join(f"{k * 7 % 11 / 3:.2f},{'xy'[k % 2]}\n" for k in range(200))
    (full / "all.csv").write_text("a,label\n" + rows)
    monkeypatch.setenv("NETSIM_DATA", str(full))
    scenario = netsim.Scenario(**TABLES).replace(data__kind="table")
    with netsim.gym.make(scenario, timing_only=True, reward={}) as env:
        env.reset(seed=0)
        monkeypatch.setenv("NETSIM_DATA", str(empty))
        with pytest.raises(NetsimError, match="table"):
            env.reset(seed=0)
