"""Examples of docs/messages.md work as shown."""

import re
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from netsim import engine, world
from netsim.scenario import from_dict

GUIDE = (Path(__file__).resolve().parents[1] / "docs" / "messages.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, flags=re.MULTILINE | re.DOTALL)


PARTS, COMPRESSED, READING, PRIVATE = blocks("python")
TABLES = {
    "horizon_s": 4.0,
    "nodes": {"count": 3},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": {"kind": "digits", "partition": {"kind": "iid", "train_samples": 20}},
    "model": {"kind": "mlp", "hidden": [4]},  # 310 numbers, 50 of them in the head
    "compute": {"kind": "fixed", "step_s": 0.01},
    "metrics": {"every_s": 2.0},
}


def play(source, tmp_path, **algorithm):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "mine.py").write_text("from netsim import api\n" + source, encoding="utf-8")
    tables = TABLES | {"algorithm": {"kind": "mine", **algorithm}}
    scenario = from_dict(tables, algorithms_folder=folder)
    run = tmp_path / "run"
    summary = engine.play(world.build(scenario), scenario.algorithm[0], run)
    return summary, run


def test_a_part_is_trained_and_sent_and_counted(tmp_path):
    summary, run = play(PARTS, tmp_path)
    assert set(pd.read_parquet(run / "messages").bits) == {50 * 32}
    assert summary["recorded"]["heard"]["mean"] == 2.0
    names = {"run": run, "pd": pd}
    exec(READING, names)
    assert set(names["heard"]) == {2.0}


def test_a_compressed_change_is_sent(tmp_path):
    (text,) = blocks("toml")
    (entry,) = tomllib.loads(text)["algorithm"]
    _, run = play(COMPRESSED, tmp_path, compression=entry["compression"])
    assert set(pd.read_parquet(run / "messages").bits) == {3 * (32 + 9)}


def test_epsilon_grows(tmp_path):
    pytest.importorskip("opacus", reason="the extra `privacy` is not installed")
    summary, run = play(PRIVATE, tmp_path)
    metrics = pd.read_parquet(run / "metrics")
    epsilon = metrics[(metrics.metric == "epsilon") & (metrics.node == 0)].value
    assert epsilon.is_monotonic_increasing
    assert summary["recorded"]["epsilon"]["min"] > 0


def test_every_kind_is_in_the_tables():
    for package in ("compression", "learning_rates"):
        folder = Path(__file__).resolve().parents[1] / "netsim" / "protocols" / package
        for path in folder.glob("[a-z]*.py"):
            assert re.search(rf"^\| `{path.stem}`", GUIDE, re.MULTILINE), path.stem
