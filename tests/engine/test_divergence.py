"""Models that are not finite: who broke, who caught it from whom, and what numbers say."""

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from rich.console import Console

import netsim
from netsim.engine.scores import Pass, Scores
from netsim.learning.shards import NodeRows, Shards
from netsim.learning.tasks.classification import Classification
from netsim.learning.tasks.labelling import Labelling
from netsim.learning.tasks.next_token import NextToken
from netsim.learning.tasks.regression import Regression
from netsim.node.publishing_verbs import Publication
from netsim.recording import metrics as measured
from netsim.recording import run_folder
from netsim.recording.main_metric import ACCURACY
from netsim.recording.reader import RunFolder
from netsim.recording.run_warnings import warnings_of
from netsim.rng import Streams
from netsim.views import Ask, cdf, compare
from netsim.views.explaining import explained
from netsim.views.gathering import comparison, frames
from netsim.views.gathering.comparison import time_to_target
from netsim.views.render.figure.sheets import paper
from netsim.views.render.page.run_page import gather
from netsim.views.render.terminal import WrappedTable

BACKENDS = ("sequential", "stacked", "native")
NODES = 5
COLUMN = paper(3.5)


def data(factor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three classes at five users, of whom the first one's inputs are scaled."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 30 * NODES)
    x = (rng.normal(size=(len(y), 5)) + 2 * np.eye(3, 5)[y]).astype(np.float32)
    user = np.arange(len(y)) % NODES
    x[user == 0] *= factor
    return x, y, user


def play(folder: Path, backend: str, factor: float = 1e20, **tables: Any) -> dict[str, Any]:
    """Gossip on a ring of five; node 0 leaves the finite numbers in its first training."""
    base = {
        "horizon_s": 50.0,
        "nodes": {"count": NODES},
        "topology": {"kind": "ring"},
        "exchange": {"schedule": "rounds", "interval_s": 10.0},
        "data": {
            "kind": data(factor),
            "test_fraction": 0.3,
            "validation": 0.2,
            "partition": {"kind": "by_user"},
        },
        "metrics": {"every_s": 10.0},
        "model": {"kind": "mlp", "hidden": [8]},
        "compute": {"kind": "fixed", "step_s": 0.001},
        "algorithm": {"kind": "dpsgd"},
        "run": {"backend": backend},
    }
    made = netsim.Scenario(name="spread", **{**base, **tables})
    netsim.run(made, out=folder)
    return dict(json.loads((folder / "summary.json").read_text()))


@pytest.mark.thinned(2)
@pytest.mark.filterwarnings("ignore::netsim.python_api.playing.RunWarning")
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_broken_model_spreads_by_one_hop_a_round_and_each_sender_is_named(tmp_path, backend):
    """On a ring 0-1-2-3-4-0, one round later nodes 1 and 4 have mixed it in, then 2 and 3."""
    summary = play(tmp_path / "run", backend)
    assert [(one["node"], one["t_s"]) for one in summary["diverged"]] == [(0, 0.0)]
    caught = {
        one["node"]: (one["sender"], int(one["t_s"])) for one in summary["diverged_by_message"]
    }
    assert caught == {1: (0, 10), 4: (0, 10), 2: (1, 20), 3: (4, 20)}

    rows = run_folder.read(tmp_path / "run", "metrics")
    value = {
        (name, node, t_s): number
        for name, node, t_s, number in zip(
            *(rows[c].tolist() for c in ("metric", "node", "t_s", "value")), strict=True
        )
    }
    broken_from = {0: 10.0, 1: 30.0, 4: 30.0, 2: 40.0, 3: 40.0}
    for (name, node, t_s), number in value.items():
        if t_s >= broken_from[node] or name in ("accuracy", "loss"):
            # a huge model is nan on node 0's samples, which all share, before it is on others
            assert math.isnan(number) == (t_s >= broken_from[node]), (name, node, t_s)

    accuracy = summary["accuracy"]
    assert accuracy["nodes"] == accuracy["nodes_not_finite"] == NODES
    assert [accuracy[k] for k in ("mean", "std", "worst_10pct", "best_on_validation")] == [None] * 4
    assert accuracy["best"] == {"t_s": None, "mean": None, "std": None}
    assert time_to_target(tmp_path / "run", 0.01)["target_reached"] == 0.0

    told = " ".join(warnings_of([tmp_path / "run"]))
    assert "1 of 5 nodes diverged by their own training" in told
    assert "4 of 5 nodes caught it by a message, node 1 first, from node 0 at 10" in told
    assert "Diverged: " in " ".join(one.text for one in explained(tmp_path / "run")[1])
    assert "4 of 5 nodes caught it" in " ".join(gather(tmp_path / "run", False).notices)


@pytest.mark.thinned(8)
@pytest.mark.filterwarnings("ignore::netsim.python_api.playing.RunWarning")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("algorithm", ["ditto", "fedproto"])
def test_training_on_what_another_sent_is_catching_it(tmp_path, backend, algorithm):
    """Anchors and prototypes that are not finite: training began with a sound model."""
    summary = play(
        tmp_path / "run", backend, algorithm={"kind": algorithm}, topology={"kind": "complete"}
    )
    assert [one["node"] for one in summary["diverged"]] == [0]
    assert {one["sender"] for one in summary["diverged_by_message"]} == {0}
    assert [one["node"] for one in summary["diverged_by_message"]] == [1, 2, 3, 4]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_run_of_sound_models_says_nothing(tmp_path, backend):
    summary = play(tmp_path / "run", backend, 1.0)
    assert summary["diverged"] == summary["diverged_by_message"] == []
    assert "nodes_not_finite" not in summary["accuracy"]
    assert not [text for text in warnings_of([tmp_path / "run"]) if "diverged" in text]


class Masked(torch.nn.Module):
    """Model with a buffer of which a half is one large number."""

    masked = -1e9

    def __init__(self) -> None:
        super().__init__()
        self.features, self.head = torch.nn.Linear(5, 4), torch.nn.Linear(4, 3)
        self.register_buffer("mask", torch.full((4, 4), self.masked).triu(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.features(x)) @ self.mask.softmax(1).T)


class InfinitelyMasked(Masked):
    """The same function, by the number that causal attention takes."""

    masked = -math.inf


@pytest.mark.filterwarnings("ignore::netsim.python_api.playing.RunWarning")
@pytest.mark.parametrize("rate", [0.01, 30.0])
@pytest.mark.slow
def test_a_buffer_that_is_infinite_by_intent_changes_nothing_that_is_told(tmp_path, rate):
    told = [
        play(
            tmp_path / model.__name__, "sequential", 1.0, model={"kind": model},
            algorithm={"kind": "fedclassavg"}, training={"learning_rate": rate},
        )
        for model in (Masked, InfinitelyMasked)
    ]  # fmt: skip
    for key in ("diverged", "diverged_by_message", "accuracy"):
        assert told[0][key] == told[1][key]
    assert bool(told[0]["diverged"]) == (rate > 1.0)


def scored(task: Any, outputs: torch.Tensor, y: np.ndarray, classes: int = 3) -> dict[str, float]:
    """Metrics of one model on the test samples of one node."""
    rows = np.arange(len(y))
    none = rows[:0]
    shards = Shards(
        torch.zeros(len(y), 1),
        torch.from_numpy(y),
        [NodeRows(rows, none, rows)],
        {"common_test": rows, "common_validation": none},
        4,
        Streams(0),
        None,
        task,
    )
    found: dict[str, float] = {}
    for split in ("test", "common_test"):
        one = Pass(split, Publication(None, "", None, ()), rows, [(0, found)])  # type: ignore[arg-type]
        Scores(shards, classes).add([one], [outputs])
    return found


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("bad", [NAN, INF])
@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("task", [Classification(), Labelling(), NextToken(), Regression()])
def test_no_metric_of_any_task_is_a_number_where_outputs_are_not(task, bad, every):
    y = np.array([[0, 1], [2, 1], [0, 0]])
    y = {"classification": y[:, 0], "regression": y.astype(np.float64)}.get(task.kind, y)
    shape = {"classification": (3, 3), "regression": (3, 2)}.get(task.kind, (3, 2, 3))
    good, outputs = torch.zeros(shape), torch.zeros(shape)
    outputs[... if every else (0,) * len(shape)] = bad
    sound, broken = scored(task, good, y), scored(task, outputs, y)
    assert sound.keys() == broken.keys()
    assert len(sound) >= 3
    assert all(map(math.isfinite, sound.values()))
    assert all(map(math.isnan, broken.values()))


def test_minus_infinity_is_no_chance_and_an_infinite_loss_leaves_the_accuracy():
    y = np.array([0, 1, 0])
    masked = torch.tensor([[1.0, -INF, 0.0], [2.0, 3.0, -INF], [-INF, 1.0, -INF]])
    found = scored(Classification(), masked, y)
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["loss"] == INF
    assert math.isnan(scored(Classification(), torch.full((3, 3), -INF), y)["accuracy"])


def test_samples_without_a_target_that_counts_are_in_no_metric():
    """The mean loss of uniform scores over three classes is log 3, whatever is left out."""
    task, y = Labelling(ignore=9), np.array([[0, 1], [-100, -100], [2, -100]])
    found = scored(task, torch.zeros(3, 2, 3), y)
    assert found["loss"] == pytest.approx(math.log(3))
    assert scored(task, torch.zeros(3, 2, 3), np.full((3, 2), -100)) == {}


def rows_of(values: dict[tuple[float, int], float], metric: str = "accuracy") -> dict[str, Any]:
    t_s, node = np.array(list(values)).T
    n = len(values)
    return {
        "t_s": t_s,
        "node": node.astype(int),
        "metric": np.array([metric] * n),
        "stage": np.array([""] * n),
        "value": np.array(list(values.values())),
        "steps": np.zeros(n),
        "energy_j": np.zeros(n),
    }


@pytest.mark.parametrize("metric", ["accuracy", "loss"])
def test_statistics_over_nodes_are_none_where_a_node_has_no_number(metric):
    """The best is that of the evaluation at which all have one."""
    values = {(1.0, 0): 0.4, (1.0, 1): 0.6, (2.0, 0): 0.9, (2.0, 1): NAN}
    block = measured.summary_block(rows_of(values, metric), metric, "first", ACCURACY)
    assert block["nodes_not_finite"] == 1
    for name in ("mean", "std", "variance", "worst_10pct", "worst_20pct"):
        assert math.isnan(block[name])
    assert block["best"] == {"t_s": 1.0, "mean": 0.5, "std": pytest.approx(0.1)}


def test_a_node_without_a_number_on_validation_leaves_no_mean_of_the_others():
    tested = rows_of({(1.0, 0): 0.4, (1.0, 1): NAN})
    validated = rows_of({(1.0, 0): 0.5, (1.0, 1): NAN}, "accuracy_validation")
    both = {k: np.concatenate([tested[k], validated[k]]) for k in tested}
    assert math.isnan(measured.best_on_validation(both, "accuracy") or 0.0)


def test_the_table_of_runs_says_why_a_cell_is_empty():
    row = {"run": "x", "accuracy": None, "nodes_diverged": 1, "nodes_caught": 3}
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(WrappedTable(compare.printed([row])))
    assert "x: 1 nodes diverged, 3 caught it by a message" in console.export_text()


def test_a_paired_comparison_has_no_mean_where_a_node_has_no_number():
    by_node = pd.DataFrame(
        {
            "seed": [0, 0, 1, 1],
            "algorithm": "a",
            "other_algorithm": "b",
            "node": [0, 1, 0, 1],
            "t_s": 1.0,
            "value": [0.5, NAN, 0.5, 0.5],
            "other": 0.25,
        }
    )
    by_node["diff"] = by_node.value - by_node.other
    (found,) = frames._by_algorithm(by_node, is_lower_better=False).to_dict("records")
    assert math.isnan(found["value"])
    assert found["other"] == 0.25
    for name in ("diff", "diff_low", "diff_high", "std_nodes", "better"):
        assert math.isnan(found[name])


def test_a_sweep_has_no_mean_over_the_seeds_that_did_not_diverge():
    """Counts over every run, and a target that was not reached, are another matter."""
    sound = {"accuracy": 0.9, "best": 0.9, "delay_s": 1.0, "time_to_target_s": 5.0}
    sound |= {"nodes_diverged": 0, "nodes_caught": 0}
    broken = {"accuracy": None, "best": 0.5, "delay_s": 1.0, "time_to_target_s": None}
    cells = comparison.estimates({0: sound, 1: {**broken, "nodes_diverged": 1}}, {})
    assert "accuracy" not in cells
    assert cells["best"].mean == pytest.approx(0.7)
    assert (cells["delay_s"].seeds, cells["time_to_target_s"].seeds) == (2, 1)
    assert (
        comparison.estimates({0: sound, 1: {**sound, "accuracy": None}}, {})["accuracy"].seeds == 1
    )


@pytest.mark.parametrize("value", [NAN, math.inf, None])
def test_no_mean_and_no_difference_is_over_the_seeds_that_did_not_diverge(value):
    """A lead is worked out of two runs: it is nan where the rival alone diverged, too."""
    sound = {"accuracy": 0.9, "lead": 0.1, "nodes_diverged": 0, "nodes_caught": 0}
    own = value is None
    broken = {**sound, "accuracy" if own else "lead": value, "nodes_diverged": int(own)}
    name = "accuracy" if own else "lead"
    assert name not in comparison.estimates({0: sound, 1: broken}, {})
    found = comparison.estimates({0: sound, 1: sound}, {0: sound, 1: broken})
    assert found[name].seeds == 2
    assert found[name].difference is None
    assert found["nodes_diverged"].difference.seeds == 2


@pytest.mark.filterwarnings("ignore::netsim.python_api.playing.RunWarning")
def test_a_distribution_says_how_many_nodes_it_leaves_out(tmp_path):
    play(tmp_path / "run", "stacked", horizon_s=20.0)
    shown = cdf.of_runs([RunFolder.ended(tmp_path / "run")], Ask(("accuracy",)))
    assert "left out of accuracy: 1 of 5 nodes have no finite number" in shown.about
