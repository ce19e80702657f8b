"""Whole runs of every task: against loops by hand, over both schedules, by every backend."""

from types import SimpleNamespace
from typing import Literal

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from netsim import world
from netsim.data.partitions.iid import Iid
from netsim.data.sets import Samples
from netsim.engine.simulation import Simulation
from netsim.errors import ScenarioError, UnsuitableError
from netsim.learning.jobs import BatchKey
from netsim.learning.tasks.labelling import Labelling
from netsim.models import ModelKind, Network
from netsim.scenario import from_dict

SCHEDULES = {
    "rounds": {"exchange": {"schedule": "rounds", "interval_s": 1.0}},
    "poisson": {
        "exchange": {"schedule": "poisson", "rate_hz": 1.0, "slot_s": 0.1},
        "radio": {
            "reachable": 2.0,
            "ttl_s": 0.5,
            "fading": {"kind": "rayleigh", "coherence_s": 0.05},
            "rate": {"kind": "fixed", "rate_bps": 1e6},
        },
    },
}
REGRESSION = {
    "data": {
        "kind": "diabetes",
        "validation": 0.2,
        "partition": {"kind": "iid", "train_samples": 24, "test_samples": 10},
    },
    "task": {"kind": "regression"},
    "model": {"kind": "mlp", "hidden": [5]},
}
NEXT_TOKEN = {
    "data": {
        "kind": "text",
        "length": 8,
        "validation": 0.2,
        "partition": {"kind": "iid", "train_samples": 12, "test_samples": 6},
    },
    "task": {"kind": "next_token"},
    "model": {"kind": "transformer", "width": 8, "heads": 2},
}
TASKS = {"regression": REGRESSION, "next_token": NEXT_TOKEN}


def tables(task, schedule="rounds", **changed):
    base = {
        "horizon_s": 3.5,
        "nodes": {"count": 4},
        "compute": {"kind": "fixed", "step_s": 0.01},
        "training": {"learning_rate": 0.05, "batch_size": 5, "dtype": "float64"},
        "metrics": {"every_s": 2.0, "common_test_samples": 20},
        "run": {"device": "cpu", "backend": "sequential"},
        "algorithm": {"kind": "dpsgd"},
    }
    return base | SCHEDULES[schedule] | TASKS[task] | changed


def play(scenario):
    torch.set_num_threads(1)
    run = Simulation(world.build(scenario), scenario.algorithm[0], None, False, None)
    run.to_horizon()
    return SimpleNamespace(run=run, summary=run.finish(None), world=run.world)


def models(played):
    last = (parts.publishing.last_published() for parts in played.run.parts)
    return [one.ref.tensor() for one in last]


def batches(played, node, steps):
    """The row numbers of a node's minibatches, in order."""
    shards = played.run.learning.shards
    return [torch.from_numpy(shards.batch_rows(BatchKey(node, "train", k))) for k in range(steps)]


def steps_of(played, node):
    return played.run.parts[node].processor.local_steps


@pytest.mark.slow
def test_one_node_learns_a_regression_as_a_loop_in_numpy_does():
    """A linear model: d mean((xw + b - y)^2) = 2 mean(error x), 2 mean(error)."""
    played = play(
        from_dict(tables("regression", model={"kind": "mlp", "hidden": []}, algorithm=LOCAL))
    )
    x, y = (values.numpy() for values in (played.world.shards.x, played.world.shards.y))
    assert y.dtype == np.float64
    for node in (0, 3):
        row = played.world.initial[node].numpy()
        w, b = row[:10].copy(), row[10].copy()
        for rows in batches(played, node, steps_of(played, node)):
            error = x[rows] @ w + b - y[rows, 0]
            w -= 0.05 * 2 * (error[:, None] * x[rows]).mean(0)
            b -= 0.05 * 2 * error.mean()
        found = models(played)[node].numpy()
        np.testing.assert_allclose(found, [*w, b], rtol=1e-12, atol=1e-13)
        error = x[played.world.shards.rows[node].test] @ w + b
        error -= y[played.world.shards.rows[node].test, 0]
        rows = played.run.recorder.metric_rows()
        mine = (rows["node"] == node) & (rows["metric"] == "rmse")
        assert rows["value"][mine][-1] == pytest.approx(np.sqrt((error**2).mean()), rel=1e-12)


LOCAL = {"kind": "local", "local_steps": 3}


@pytest.mark.slow
def test_one_node_learns_the_next_token_as_a_plain_loop_does():
    played = play(from_dict(tables("next_token", algorithm=LOCAL)))
    x, y = played.world.shards.x, played.world.shards.y
    assert x.dtype == y.dtype == torch.int64
    module = played.world.architectures[0].module
    row = played.world.initial[0].clone()
    nn.utils.vector_to_parameters(row, module.parameters())
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    for rows in batches(played, 0, steps_of(played, 0)):
        optimizer.zero_grad()
        F.cross_entropy(module(x[rows]).flatten(0, 1), y[rows].flatten()).backward()
        optimizer.step()
    by_hand = nn.utils.parameters_to_vector(module.parameters()).detach()
    torch.testing.assert_close(models(played)[0], by_hand, rtol=1e-12, atol=1e-13)
    test = played.world.shards.rows[0].test
    nn.utils.vector_to_parameters(by_hand, module.parameters())
    with torch.no_grad():
        mean = F.cross_entropy(module(x[test]).flatten(0, 1), y[test].flatten())
    rows = played.run.recorder.metric_rows()
    mine = (rows["node"] == 0) & (rows["metric"] == "perplexity")
    assert rows["value"][mine][-1] == pytest.approx(float(mean.exp()), rel=1e-12)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("task", TASKS)
def test_backends_agree(task, schedule):
    found = {
        backend: play(from_dict(tables(task, schedule, run={"device": "cpu", "backend": backend})))
        for backend in ("sequential", "stacked", "native")
    }
    expected = found["sequential"]
    main = expected.summary["task"]["metric"]
    assert {f"{main}{end}" for end in ("", "_common", "_validation", "_common_validation")} <= set(
        expected.summary
    )
    assert not [name for name in expected.summary if "accuracy" in name and task == "regression"]
    for backend in ("stacked", "native"):
        other = found[backend]
        assert other.summary["event_log_sha256"] == expected.summary["event_log_sha256"]
        assert other.summary["engine"]["one_by_one"] == {}
        assert other.summary["engine"]["mean_batch_width"] > 1
        for ours, theirs in zip(models(other), models(expected), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-12)
        assert other.summary[main]["mean"] == pytest.approx(expected.summary[main]["mean"])


METHODS = [
    {"kind": "apfl", "local_steps": 2},
    {"kind": "fedrep", "local_steps": 2, "head_steps": 1},
    {"kind": "per_fedavg", "local_steps": 2},
    {"kind": "pfedgraph", "steps": 2},
    {"kind": "dpfl", "local_epochs": 1},
    {"kind": "l2c"},
    {"kind": "fedfomo", "local_epochs": 1},
    {"kind": "ditto", "local_epochs": 1},
]


@pytest.mark.thinned(36)
@pytest.mark.parametrize("method", METHODS, ids=lambda m: m["kind"])
@pytest.mark.parametrize("task", TASKS)
def test_methods_without_classes_learn_every_task(method, task):
    """Losses of their own, gradients, selections by loss: one by one and stacked alike."""
    found = []
    for backend in ("sequential", "stacked"):
        run = {"device": "cpu", "backend": backend}
        found.append(play(from_dict(tables(task, horizon_s=2.0, algorithm=method, run=run))))
    for ours, theirs in zip(*map(models, found), strict=True):
        assert torch.isfinite(ours).all()
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-10)


def test_the_error_falls():
    found = play(from_dict(tables("regression", horizon_s=20.0)))
    assert found.summary["rmse"]["best"]["mean"] < 0.95
    assert found.summary["rmse"]["best_on_validation"] is not None
    assert found.summary["rmse"]["worst_10pct"] >= found.summary["rmse"]["mean"]


# -- labels of positions: data and model of one's own ---------------------------------------------


class Bright:
    """Images of 6 x 6; a pixel's label is whether it is over zero."""

    kind, path, validation, partition = "bright", None, 0.2, Iid(train_samples=10, test_samples=5)
    drift = ()

    def load(self, folder):
        rng = np.random.Generator(np.random.Philox(3))
        x = rng.standard_normal((100, 1, 6, 6)).astype(np.float32)
        y = (x[:, 0] > 0).astype(np.int64)
        rows = np.arange(100)
        return Samples(x, y, rows[:60], rows[60:], 2, ("dark", "bright"), "bright", "")


class Pixels(ModelKind):
    kind: Literal["pixels"] = "pixels"

    def build(self, input_shape, num_classes):
        features = nn.Sequential(nn.Conv2d(input_shape[0], 4, 3, padding=1), nn.ReLU())
        return Network(features, nn.Conv2d(4, num_classes, 1))


def labelled(backend, **changed):
    scenario = from_dict(tables("regression", run={"device": "cpu", "backend": backend}, **changed))
    own = {"data": Bright(), "model": (Pixels(),), "task": Labelling(scores="first")}
    return scenario.model_copy(update=own)


@pytest.mark.slow
def test_labels_of_positions_are_learned_alike_by_every_backend():
    training = {"learning_rate": 0.5, "batch_size": 5, "dtype": "float64"}
    expected, stacked = (
        play(labelled(backend, horizon_s=10.0, training=training))
        for backend in ("sequential", "auto")
    )
    for ours, theirs in zip(models(stacked), models(expected), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-12)
    assert stacked.summary["label_accuracy"]["mean"] > 0.65
    assert stacked.summary["mean_iou"]["mean"] == pytest.approx(
        expected.summary["mean_iou"]["mean"]
    )


# -- what does not fit is refused ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"algorithm": {"kind": "kd_pdfl"}}, 'algorithm "kd_pdfl" does not learn this task'),
        ({"algorithm": {"kind": "fedproto"}}, "it learns classification"),
    ],
)
def test_methods_that_go_by_classes_are_refused_by_name(changed, told):
    exchange = {"schedule": "poisson", "rate_hz": 1.0, "slot_s": 0.1}
    with pytest.raises(ScenarioError) as refused:
        from_dict(tables("regression", exchange=exchange, **changed))
    assert '[task] kind = "regression"' in str(refused.value)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"data": {"kind": "diabetes", "partition": {"kind": "dirichlet"}}},
            'kind = "dirichlet": goes by classes of samples, the data set "diabetes" has none; '
            'write kind = "iid" or "by_group"',
        ),
        (
            {"attack": {"kind": "label_flip"}},
            '[attack] kind = "label_flip": is on the classes of samples, which [task] kind = '
            '"regression" does not learn',
        ),
        ({"task": {"kind": "classification"}}, 'the data set "diabetes" has none; write [task]'),
        ({"task": {"kind": "next_token"}}, "needs sequences of token numbers"),
    ],
)
def test_data_that_do_not_fit_are_refused_by_name(changed, told):
    with pytest.raises(ScenarioError) as refused:
        world.build(from_dict(tables("regression") | changed))
    assert told in str(refused.value)


def test_a_model_that_gives_something_else_is_refused():
    with pytest.raises(ScenarioError, match="takes no whole numbers"):
        world.build(from_dict(tables("next_token", model={"kind": "mlp"})))
    digits = {"data": {"kind": "digits"}, "task": {"kind": "classification"}}
    with pytest.raises(ScenarioError, match="needs sequences of tokens"):
        world.build(from_dict(tables("regression", model={"kind": "transformer"}) | digits))


OWN = """
from netsim.api import Params as Table
import torch.nn.functional as F
{imports}

class Params(Table):
    pass

{above}
def processes(node, params):
    return [on_round(node)]

def own(model, batch, learned):
    return {loss}

def on_round(node):
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, steps=1, loss=own)).theta
        node.publish(theta, "trained")
"""


def test_a_loss_of_ones_own_needs_its_tasks_stated(tmp_path):
    silent = OWN.format(imports="", above="", loss="F.cross_entropy(model(batch.x), batch.y)")
    (tmp_path / "silent.py").write_text(silent)
    stated = OWN.format(
        imports="from netsim.api import algorithm",
        above='@algorithm(tasks=("any",))',
        loss="2 * batch.loss(model(batch.x))",
    )
    (tmp_path / "stated.py").write_text(stated)
    own = {"kind": "silent"}
    with pytest.raises(UnsuitableError, match=r'algorithm\(tasks=\("regression",\)\)'):
        play(from_dict(tables("regression", algorithm=own), algorithms_folder=tmp_path))
    own = {"kind": "stated"}
    found = play(from_dict(tables("regression", algorithm=own), algorithms_folder=tmp_path))
    assert found.summary["rmse"]["mean"] > 0
