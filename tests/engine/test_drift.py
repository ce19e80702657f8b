"""Data drift: exact at its instant, whatever runs when; no trace before it, or elsewhere."""

import signal
from collections import Counter

import numpy as np
import pytest
import torch

from netsim import engine, world
from netsim.campaign import resume as resuming
from netsim.engine.interruption import Interrupted
from netsim.engine.simulation import Simulation
from netsim.errors import ScenarioError
from netsim.learning.jobs import BatchKey
from netsim.recording import run_folder
from netsim.scenario import from_dict
from netsim.scenario.kinds import kinds_of

SWAP = {"kind": "swap_labels", "at_s": 2.5, "classes": [[0, 1], [2, 9]]}
TABLES = {
    "horizon_s": 5.0,
    "nodes": {"count": 4},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "training": {"dtype": "float64", "learning_rate": 0.1},
    "data": {
        "kind": "digits",
        "partition": {"kind": "class_mix", "train_max": 20, "test_samples": 40},
    },
    "model": {"kind": "mlp", "hidden": []},
    "metrics": {"every_s": 5.0},
    "compute": {"kind": "fixed", "step_s": 0.001},
    "algorithm": {"kind": "local", "local_steps": 3},
}


def tables(*drift, validation=0.0, **changes):
    data = {**TABLES["data"], "drift": list(drift), "validation": validation}
    return {**TABLES, "data": data, **changes}


def built(*drift, **changes):
    scenario = from_dict(tables(*drift, **changes))
    return world.build(scenario), scenario.algorithm[0]


def played(*drift, folder=None, **changes):
    there, entry = built(*drift, **changes)
    simulation = Simulation(there, entry, folder, False, None)
    simulation.to_horizon()
    return simulation


def softmax_step(weight, bias, x, y, rate):
    """One step of logistic regression, by hand."""
    logits = x @ weight.T + bias
    powers = np.exp(logits - logits.max(1, keepdims=True))
    error = powers / powers.sum(1, keepdims=True)
    error[np.arange(len(y)), y] -= 1.0
    return weight - rate * error.T @ x / len(y), bias - rate * error.mean(0)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("backend", ["sequential", "stacked", "native"])
def test_training_asked_for_before_a_drift_is_on_the_old_labels_that_after_it_on_the_new(backend):
    """Nothing needs a number until the end, so all of it is computed after the drift."""
    run = played(SWAP, run={"backend": backend})
    node, shards = 1, run.learning.shards
    flat = run.world.initial[node].numpy()
    samples = run.world.samples
    inputs = samples.x.reshape(len(samples.x), -1).astype(np.float64)
    weight, bias = flat[:640].reshape(10, 64), flat[640:650]
    swapped = np.array([1, 0, 9, 3, 4, 5, 6, 7, 8, 2])
    drawn = Counter()
    for t in range(5):  # a training each second; that of the end has not ended
        number = node if t < 2.5 else shards.held[node]
        for _ in range(3):
            rows = shards.batch_rows(BatchKey(number, "train", drawn[number]))
            drawn[number] += 1
            y = shards.y[torch.from_numpy(rows)].numpy()
            x = shards.x[torch.from_numpy(rows)].reshape(len(rows), -1).numpy()
            original = [int(np.flatnonzero((inputs == one).all(1))[0]) for one in x]
            true = samples.y[original]
            expected = true if t < 2.5 else swapped[true]
            assert y.tolist() == expected.tolist()
            weight, bias = softmax_step(weight, bias, x, expected, 0.1)
    found = run.parts[node].publishing.last_published().ref.tensor().numpy()
    assert np.allclose(found, np.concatenate([weight.ravel(), bias]), atol=1e-12)
    assert shards.held[node] == 4 + node
    assert drawn == {node: 9, 4 + node: 6}


def test_an_evaluation_at_the_instant_of_a_drift_is_on_the_new_samples(tmp_path):
    """A model that nobody trains any more: its accuracy on swapped labels is counted by hand."""
    late = {**SWAP, "at_s": 4.0, "classes": [[3, 4]]}
    algorithm = {"kind": "local", "local_steps": 30}
    slow = {"kind": "fixed", "step_s": 0.05}  # one training, 1.5 s long
    schedule = {**TABLES["exchange"], "interval_s": 100.0}
    how = {"metrics": {"every_s": 2.0}, "compute": slow, "exchange": schedule}
    run = played(late, folder=tmp_path / "run", algorithm=algorithm, horizon_s=6.0, **how)
    shards, names = run.learning.shards, ("accuracy", "accuracy_all_classes")
    run.recorder.close()
    rows = run_folder.read(tmp_path / "run", "metrics")
    swapped = np.arange(10)
    swapped[[3, 4]] = 4, 3
    for node, parts in enumerate(run.parts):
        ref = parts.publishing.last_published().ref
        model = ref.architecture.bind(ref.tensor())
        for name, split in zip(names, ("test", "common_test"), strict=True):
            old = shards.split(node, split)
            guesses = model(old.x).argmax(1).numpy()
            y = old.y.numpy()
            for t, labels in ((2.0, y), (4.0, swapped[y]), (6.0, swapped[y])):
                mine = (rows["node"] == node) & (rows["metric"] == name) & (rows["t_s"] == t)
                assert rows["value"][mine].tolist() == [(guesses == labels).mean()]


@pytest.mark.slow
def test_before_a_drift_and_at_nodes_without_one_nothing_differs(tmp_path):
    one = {**SWAP, "nodes": [2]}
    how = {"metrics": {"every_s": 1.0}, "validation": 0.2}
    redraw = {"kind": "redraw", "at_s": 2.5, "nodes": [2], "partition": {"kind": "iid"}}
    values = {}
    for name, drift in (("none", ()), ("swap", (one,)), ("redraw", (redraw,))):
        run = played(*drift, folder=tmp_path / name, **how)
        run.recorder.close()
        rows = run_folder.read(tmp_path / name, "metrics")
        values[name] = {
            (t, node, str(metric)): value
            for t, node, metric, value in zip(
                rows["t_s"], rows["node"], rows["metric"], rows["value"], strict=True
            )
        }
    for name in ("swap", "redraw"):
        assert values[name].keys() == values["none"].keys()
        differ = {key[:2] for key in values["none"] if values[name][key] != values["none"][key]}
        assert differ
        assert all(node == 2 and t > 2.5 for t, node in differ)


@pytest.mark.slow
def test_the_same_run_whatever_runs_one_by_one():
    move = {"kind": "move", "at_s": [1.5, 3.5]}
    permute = {"kind": "permute_labels", "at_s": 3.0, "fraction": 0.5, "common": False}
    found = []
    for backend in ("sequential", "stacked"):
        there, entry = built(SWAP, move, permute, run={"backend": backend})
        summary = engine.play(there, entry, None)
        found.append((summary["event_log_sha256"], round(summary["loss"]["mean"], 9)))
        assert [change["at_s"] for change in summary["drift"]] == [1.5, 2.5, 3.0, 3.5]
        assert [len(change["nodes"]) for change in summary["drift"]] == [4, 4, 2, 4]
    assert found[0] == found[1]


def test_what_moves_goes_round_and_what_is_swapped_twice_is_as_it_was():
    twice = {**SWAP, "at_s": [1.0, 2.0]}
    there, _ = built(
        twice, {"kind": "move", "at_s": 3.0}, {"kind": "move", "at_s": [4.0, 4.5, 4.75]}
    )
    first, second, third, *_, last = there.data_changes
    assert first.held == {0: 4, 1: 5, 2: 6, 3: 7}
    assert second.held == {0: 0, 1: 1, 2: 2, 3: 3}  # the shards that they began with
    rows = there.shards.rows
    for node in range(4):
        assert rows[third.held[node]].train.tolist() == rows[(node + 1) % 4].train.tolist()
        assert rows[third.held[node]].test.tolist() == rows[(node + 1) % 4].test.tolist()
    assert last.held == {0: 0, 1: 1, 2: 2, 3: 3}


def test_no_sample_is_trained_on_that_is_set_aside_at_any_time_by_anyone():
    partition = {"kind": "dirichlet", "alpha": 0.5}
    redraw = {"kind": "redraw", "at_s": [1.0, 2.0], "partition": partition}
    there, _ = built(redraw, validation=0.2)
    assert len(there.shards.rows) == 12
    trained = np.concatenate([rows.train for rows in there.shards.rows])
    aside = np.concatenate([rows.validation for rows in there.shards.rows])
    tested = np.concatenate([rows.test for rows in there.shards.rows])
    assert not set(trained) & set(aside)
    assert not set(tested) & (set(trained) | set(aside))
    assert len(aside) / (len(aside) + len(trained)) == pytest.approx(0.2, abs=0.03)


def test_malicious_nodes_flip_the_labels_that_hold():
    attack = {"kind": "label_flip", "fraction": 0.25, "runs_algorithm": True}
    there, _ = built(SWAP, attack=attack)
    (bad,) = there.malicious
    shards, y = there.shards, there.shards.y.numpy()
    before = there.samples.y
    kept = world.build(from_dict(tables())).shards.rows[bad]
    swapped = np.array([1, 0, 9, 3, 4, 5, 6, 7, 8, 2])
    late = shards.rows[4 + bad]
    assert y[shards.rows[bad].train].tolist() == (9 - before[kept.train]).tolist()
    assert y[late.train].tolist() == (9 - swapped[before[kept.train]]).tolist()
    assert y[late.test].tolist() == swapped[before[kept.test]].tolist()


ASKING = '''"""Trains as many steps as it has samples, and keeps the optimiser's state for long."""
import os
import signal

from netsim.api import Params as Base


class Params(Base):
    """None."""


def processes(node, params):
    return [on_wakeup(node)]


def on_wakeup(node):
    theta, states = node.initial(), []
    while True:
        yield node.wakeup()
        if os.environ.get("BREAK") and node.id == 0 and node.now_s > 3.0:
            signal.raise_signal(signal.SIGINT)
        trained = yield node.train(theta, steps=1 + node.train_size % 3)
        theta, states = trained.theta, [*states, trained.optimizer]
        node.record("old_state", node.compute(total, states[0], like=()))
        node.publish(theta, "trained")


def total(state):
    return state.abs().sum()
'''


@pytest.mark.slow
def test_a_run_that_was_broken_off_after_a_drift_goes_on_as_if_it_had_not_been(
    tmp_path, monkeypatch
):
    """The state of the first training is asked for anew at each wake-up: what made it is known."""
    redraw = {"kind": "redraw", "at_s": 2.2, "partition": {"kind": "iid"}}
    own, how = tmp_path / "own", {"algorithm": {"kind": "asking"}, "metrics": {"every_s": 1.0}}
    own.mkdir()
    how["training"] = {"momentum": 0.9, "dtype": "float64"}
    (own / "asking.py").write_text(ASKING)
    scenario = from_dict(tables(SWAP, redraw, **how), algorithms_folder=own)
    entry = scenario.algorithm[0]
    engine.play(world.build(scenario), entry, tmp_path / "whole")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setenv("BREAK", "yes")
    with pytest.raises(Interrupted):
        engine.play(world.build(scenario), entry, tmp_path / "cut")
    monkeypatch.delenv("BREAK")
    signal.signal(signal.SIGINT, before)
    modules = kinds_of((own,))
    resuming.play(
        resuming.read_unfinished(tmp_path / "cut", modules), modules, lambda _: None, None
    )
    summaries = [run_folder.summary(tmp_path / name) for name in ("whole", "cut")]
    for key in ("event_log_sha256", "parameters_sha256", "drift", "accuracy"):
        assert summaries[0][key] == summaries[1][key]
    one, other = (run_folder.read(tmp_path / name, "metrics") for name in ("whole", "cut"))
    assert one["value"].tolist() == other["value"].tolist()


@pytest.mark.parametrize(
    ("drift", "changes", "said"),
    [
        ({**SWAP, "at_s": 5.0}, {}, "at_s = 5 is not before horizon_s = 5; it would never happen"),
        ({**SWAP, "nodes": [7]}, {}, "nodes names 7, which holds no data; 4 nodes do, 0 to 3"),
        ({**SWAP, "classes": [[0, 10]]}, {}, "names 10, the data set has classes 0 to 9"),
        ({**SWAP, "classes": [[0, 1], [1, 2]]}, {}, "names a class twice"),
        (
            {"kind": "redraw", "at_s": 1.0, "partition": {"kind": "by_user"}},
            {"nodes": {"count": 40}},
            "40 nodes, but 10 users",
        ),
    ],
)
def test_a_drift_that_can_not_be_is_refused(drift, changes, said):
    partition = {"kind": "iid"}
    scenario = tables(drift, **changes)
    scenario["data"]["partition"] = partition
    with pytest.raises(ScenarioError, match=said):
        world.build(from_dict(scenario))


def test_a_task_without_classes_has_no_labels_to_swap():
    scenario = tables(SWAP, task={"kind": "regression"})
    scenario["data"] = {"kind": "diabetes", "drift": [SWAP]}
    with pytest.raises(ScenarioError, match=r'\[task\] kind = "regression" does not learn'):
        world.build(from_dict(scenario))
