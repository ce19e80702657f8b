"""Examples of docs/data.md work as shown."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from netsim import engine, world
from netsim.errors import ScenarioError
from netsim.registry import family
from netsim.scenario import from_dict, load

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
SMALL = {
    "horizon_s": 4.0,
    "nodes": {"count": 2},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "model": {"kind": "mlp", "hidden": [4]},
    "compute": {"kind": "fixed", "step_s": 0.01},
    "metrics": {"every_s": 1.0},
    "algorithm": {"kind": "dpsgd", "local_steps": 1},
}


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, flags=re.MULTILINE | re.DOTALL)


TABLE, HUB, LEAF, DRIFT = map(tomllib.loads, blocks("toml"))


def play(tables, **how):
    scenario = from_dict({**SMALL, **tables}, **how)
    built = world.build(scenario)
    return built, engine.play(built, scenario.algorithm[0], None)


@pytest.mark.slow
def test_a_table_is_given_out_by_any_of_its_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "patients").mkdir()
    (tmp_path / "patients/train.csv").write_text(blocks("csv")[0])
    built, summary = play(TABLE)
    assert built.samples.class_names == ("ill", "well")
    assert [len(rows.train) for rows in built.shards.rows] == [2, 2]
    assert summary["accuracy"]["mean"] >= 0
    wards = {**TABLE["data"], "user": "ward", "partition": {"kind": "by_user"}}
    built, _ = play({"data": wards})
    assert built.samples.groups.max() == 3
    with pytest.raises(ScenarioError, match="3 nodes, but 2 users with 1 training samples or more"):
        play({"data": wards, "nodes": {"count": 3}})


def test_leaf_is_given_out_by_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leaf").mkdir()
    (tmp_path / "leaf/all.json").write_text(blocks("json")[0])
    built, _ = play(LEAF)
    assert built.samples.input_shape == (1, 1, 2)
    assert [len(rows.train) for rows in built.shards.rows] == [1, 1]


def test_a_set_of_the_hub_is_a_scenario():
    scenario = from_dict({**SMALL, **HUB})
    assert scenario.data.user == "writer_id"


def test_drifts_happen_when_they_say(tmp_path):
    data = {"kind": "digits", **DRIFT["data"]}
    _, summary = play({"data": data, "nodes": {"count": 3}})
    assert [change["at_s"] for change in summary["drift"]] == [2.0, 2.5, 3.0]
    assert [change["nodes"] for change in summary["drift"]] == [[0, 1], [0, 1, 2], [0, 1]]


def test_a_drift_of_ones_own_is_a_file(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/blur.py").write_text(blocks("python")[0], encoding="utf-8")
    data = {"kind": "digits", "drift": [{"kind": "blur", "at_s": 1.0}]}
    built, _ = play({"data": data}, algorithms_folder=tmp_path / "own")
    rows = built.shards.rows[2]
    assert set(np.unique(built.shards.y[rows.test])) == set(range(1, 10))


def test_every_drift_is_in_the_table():
    for kind in family("netsim.data.drifts"):
        assert re.search(rf"^\| `{kind}` \|", GUIDE, re.MULTILINE), kind


@pytest.mark.slow
def test_the_shipped_scenario_shows_what_it_says():
    """After the drift those who average with all are worse than those who train alone."""
    scenario = load("small_drift")
    built = world.build(scenario)
    entries = {entry.name: entry for entry in scenario.algorithm}
    reached = {k: engine.play(built, entries[k], None) for k in ("dpsgd", "local")}
    assert reached["local"]["accuracy"]["mean"] > reached["dpsgd"]["accuracy"]["mean"]
