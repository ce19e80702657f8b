"""Attacks in runs: labels, messages, deafness, and that means are over benign nodes."""

import importlib
import json

import numpy as np
import pandas as pd
import pytest
import torch

from netsim import engine, world
from netsim.errors import ScenarioError
from netsim.learning.jobs import BatchKey
from netsim.registry import family
from netsim.scenario import from_dict, load, to_toml

TOY = '''
"""Everybody sends its model twice, and asks for one, a second later."""
from dataclasses import dataclass
from netsim import api
from netsim.api import Message, Node, Process, Ref

SEEN = []

class Params(api.Params):
    pass

@dataclass(frozen=True)
class Model(Message):
    theta: Ref
    head: Ref
    number: int

@dataclass(frozen=True)
class Fetch(Message):
    pass

@dataclass(frozen=True)
class Here(Message):
    theta: Ref

def processes(node, params):
    node.serve(Fetch, lambda received: Here(node.initial()))
    if node.role == "server":
        return []
    return [talk(node), listen(node)]

def talk(node):
    yield node.sleep(1.0 + 0.1 * node.id)
    theta = (yield node.train(node.initial(), steps=1)).theta
    node.publish(theta, "trained")
    for number in range(2):
        node.broadcast(Model(theta, theta.part("head"), number))
    yield node.sleep(1.0)
    got = yield node.ask(node.peers, Fetch(), Here, timeout_s=5.0, tries=2)
    for sender, answer in got.items():
        SEEN.append((node.id, sender, "here", node.now_s, answer.msg.theta))

def listen(node):
    while True:
        received = yield node.receive(Model, timeout_s=None)
        SEEN.append((node.id, received.sender, "model", node.now_s, received.msg))
'''


def tables(**changed):
    return {
        "seed": 4,
        "horizon_s": 20.0,
        "nodes": {"count": 5},
        "exchange": {"schedule": "periodic", "period_s": 5.0},
        "data": {
            "kind": "digits",
            "validation": 0.25,
            "partition": {
                "kind": "class_mix",
                "train_min": 50,
                "train_max": 80,
                "test_samples": 30,
            },
        },
        "model": {"kind": "iot_mlp", "hidden": 6},
        "compute": {"kind": "fixed", "step_s": 0.1},
        "training": {"dtype": "float64"},
        "algorithm": [{"kind": "local"}],
    } | changed


def built(**changed):
    return world.build(from_dict(tables(**changed)))


def attack(kind, fraction=0.4, **more):
    return {"attack": {"kind": kind, "fraction": fraction, **more}}


@pytest.fixture
def talked(tmp_path):
    """Play the toy; (world, what was seen)."""
    (tmp_path / "toy.py").write_text(TOY)

    def run(**changed):
        scenario = from_dict(
            tables(algorithm=[{"kind": "toy"}], **changed), algorithms_folder=tmp_path
        )
        module = importlib.import_module(type(scenario.algorithm[0].params).__module__)
        module.SEEN.clear()
        simulation = engine.Simulation(
            world.build(scenario), scenario.algorithm[0], None, False, None
        )
        simulation.to_horizon()
        simulation.learning.scheduler.flush()
        return simulation, list(module.SEEN)

    return run


# -- labels --------------------------------------------------------------------------------------


def test_label_flip_touches_training_and_validation_of_malicious_nodes_only():
    honest, flipped = built(), built(**attack("label_flip"))
    assert len(flipped.malicious) == 2
    for node in range(5):
        for split in ("train", "validation", "test", "common_test", "common_validation"):
            a, b = honest.shards.split(node, split), flipped.shards.split(node, split)
            lied = node in flipped.malicious and split in ("train", "validation")
            assert torch.equal(b.x, a.x)
            assert torch.equal(b.y, 9 - a.y if lied else a.y)


def test_nodes_share_rows_in_the_test_above():
    rows = built().shards.rows
    assert any(
        np.intersect1d(rows[i].train, rows[j].train).size for i in range(5) for j in range(i)
    )


def test_batches_hold_the_same_samples_as_without_the_attack():
    honest, flipped = built(), built(**attack("label_flip"))
    keys = [BatchKey(node, "train", number) for node in range(5) for number in range(9)]
    pairs = zip(honest.shards.batches(keys), flipped.shards.batches(keys), strict=True)
    for key, (a, b) in zip(keys, pairs, strict=True):
        assert torch.equal(a.x, b.x)
        assert torch.equal(b.y, 9 - a.y if key.shard in flipped.malicious else a.y)


# -- messages ------------------------------------------------------------------------------------


def honest_and_sent(simulation, seen):
    """(sender, what it trained, message as received) of every model received."""
    for _, sender, what, _, msg in seen:
        if what == "model":
            yield sender, simulation.parts[sender].publishing.published["trained"].ref, msg


@pytest.mark.slow
def test_malicious_nodes_send_forgeries_and_keep_buffers(talked):
    simulation, seen = talked(**attack("sign_flip"))
    bad = simulation.world.malicious
    found = list(honest_and_sent(simulation, seen))
    assert {sender for sender, *_ in found} == set(range(5))
    for sender, trained, msg in found:
        sign = -1.0 if sender in bad else 1.0
        for name in ("parameters", "head"):
            expected = sign * trained.part(name).tensor()
            part = msg.head if name == "head" else msg.theta.part(name)
            assert torch.equal(part.tensor(), expected)
        buffers = msg.theta.part("buffers").tensor()
        assert torch.equal(buffers, trained.part("buffers").tensor())


def test_replies_are_forged_too(talked):
    simulation, seen = talked(**attack("same_value"))
    here = [(sender, ref) for _, sender, what, _, ref in seen if what == "here"]
    assert {sender for sender, _ in here} == set(range(5))
    for sender, ref in here:
        all_ones = bool((ref.part("parameters").tensor() == 1).all())
        assert all_ones == (sender in simulation.world.malicious)


@pytest.mark.parametrize("kind", ["gauss", "shuffle"])
def test_one_model_is_one_lie_however_often_it_is_sent(talked, kind):
    simulation, seen = talked(**attack(kind))
    for bad in simulation.world.malicious:
        lies = [m.theta.tensor() for s, _, m in honest_and_sent(simulation, seen) if s == bad]
        assert len(lies) == 8  # four receivers, twice
        assert all(torch.equal(lie, lies[0]) for lie in lies)
        here = [ref.tensor() for _, s, what, _, ref in seen if what == "here" and s == bad]
        assert not torch.equal(here[0], lies[0])


@pytest.mark.slow
def test_an_attack_changes_no_event(talked):
    runs = [talked()[0], *(talked(**attack(kind))[0] for kind in family("netsim.attacks"))]
    assert len({run.recorder.close()["event_log_sha256"] for run in runs}) == 1


# -- nodes that do not run the algorithm ---------------------------------------------------------


def test_who_does_not_run_the_algorithm_takes_nothing_but_answers_requests(talked):
    simulation, seen = talked(**attack("sign_flip", runs_algorithm=False))
    bad = simulation.world.malicious
    assert {node for node, *_ in seen} == set(range(5)) - bad
    assert {sender for _, sender, what, *_ in seen if what == "here"} == set(range(5))
    models, replies = 4 * 2, 4
    assert simulation.counts["messages_ignored"] == len(bad) * (models + replies)


def test_it_goes_on_at_once_where_it_ignores_the_replies(talked):
    """The ask is neither repeated nor waited for: 5 nodes ask 4 others, once."""
    simulation, _ = talked(**attack("sign_flip", runs_algorithm=False))
    totals = simulation.recorder.close()["outcomes"]
    assert totals["Fetch"] == totals["Here"] == {"delivered": 20}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kind", ["fedavg", "kd_pdfl"])
def test_its_model_is_that_of_local_training(kind):
    """It trains in the same slots as all others; nobody's model reaches it."""
    changed = {
        "algorithm": [{"kind": kind, "uninvolved_train": True}],
        "exchange": {"schedule": "star", "slot_s": 1.0, "slots_per_exchange": 4},
        "horizon_s": 20.5,
    }
    scenario = from_dict(tables(**changed, **attack("sign_flip", runs_algorithm=False)))
    simulation = engine.Simulation(world.build(scenario), scenario.algorithm[0], None, False, None)
    simulation.to_horizon()
    simulation.learning.scheduler.flush()
    assert simulation.counts["messages_ignored"] > 0
    for node in simulation.world.malicious:
        mine, model = simulation.parts[node], simulation.world.architectures[node]
        row = simulation.nodes[node].initial().tensor().clone()
        for number in range(mine.processor.local_steps):
            (batch,) = simulation.learning.shards.batches([BatchKey(node, "train", number)])
            gradient = torch.zeros(model.num_parameters, dtype=row.dtype)
            bound = model.bind(row, gradient, training=True)
            torch.nn.functional.cross_entropy(bound(batch.x), batch.y).backward()
            row[: model.num_parameters] -= 0.05 * gradient
        published = mine.publishing.last_published().ref.tensor()
        torch.testing.assert_close(published, row, rtol=0, atol=1e-12)


# -- what is measured ----------------------------------------------------------------------------


def test_means_are_over_benign_nodes(tmp_path):
    scenario = from_dict(
        tables(exchange={"schedule": "star", "slots_per_exchange": 4}, **attack("label_flip"))
    )
    made = world.build(scenario)
    summary = engine.play(made, scenario.algorithm[0], tmp_path / "run")
    nodes = pd.read_parquet(tmp_path / "run/nodes.parquet")
    assert set(nodes.node[nodes.malicious]) == made.malicious
    rows = pd.read_parquet(tmp_path / "run/metrics")
    rows = rows[rows.t_s == rows.t_s.max()]
    for metric in ("accuracy", "loss", "accuracy_validation"):
        benign, others = rows[rows.metric == metric], rows[rows.metric == f"malicious_{metric}"]
        assert set(benign.node) == set(range(5)) - made.malicious
        assert set(others.node) == made.malicious
        assert summary[metric]["mean"] == pytest.approx(benign.value.mean())
        assert summary[f"malicious_{metric}"]["mean"] == pytest.approx(others.value.mean())
    # they learn the wrong labels, and are tested on the right ones
    assert summary["malicious_accuracy"]["mean"] < 0.3 < summary["accuracy"]["mean"]
    assert summary["attack"]["malicious"] == sorted(made.malicious)
    assert json.loads((tmp_path / "run/summary.json").read_text())["attack"]["kind"] == "label_flip"


@pytest.mark.slow
def test_the_nodes_table_shows_labels_as_the_node_sees_them(tmp_path):
    tables_of = {}
    for name, changed in (("honest", {}), ("flipped", attack("label_flip"))):
        scenario = from_dict(
            tables(exchange={"schedule": "star", "slots_per_exchange": 4}, **changed)
        )
        engine.play(world.build(scenario), scenario.algorithm[0], tmp_path / name)
        tables_of[name] = pd.read_parquet(tmp_path / name / "nodes.parquet")
    pairs = zip(tables_of["honest"].class_counts, tables_of["flipped"].class_counts, strict=True)
    for bad, (a, b) in zip(tables_of["flipped"].malicious, pairs, strict=True):
        assert list(b) == (list(a)[::-1] if bad else list(a))


def test_servers_are_never_malicious(talked):
    nodes = {"count": 5, "groups": [{"name": "server", "count": 1, "role": "server"}]}
    simulation, _ = talked(nodes=nodes, **attack("sign_flip", fraction=0.75))
    assert len(simulation.world.malicious) == 3
    assert 0 not in simulation.world.malicious


# -- scenarios -----------------------------------------------------------------------------------


def test_all_malicious_is_refused():
    with pytest.raises(ScenarioError, match=r"\[attack\] fraction = 1: all 5 nodes with data"):
        built(**attack("gauss", fraction=1.0))


def test_an_unknown_attack_is_named():
    with pytest.raises(ScenarioError, match=r'\[attack\] kind = "sign_flp".*"sign_flip"'):
        from_dict(tables(**attack("sign_flp")))


@pytest.mark.parametrize("kind", sorted(family("netsim.attacks")))
def test_a_resolved_scenario_keeps_its_attack(tmp_path, kind):
    scenario = from_dict(tables(exchange={"schedule": "star"}, **attack(kind)))
    (tmp_path / "again.toml").write_text(to_toml(scenario))
    assert load(str(tmp_path / "again.toml")).attack == scenario.attack


@pytest.mark.parametrize("kind", sorted(family("netsim.attacks")))
def test_the_network_alone_can_be_played_under_attack(kind):
    scenario = from_dict(
        tables(exchange={"schedule": "star"}, **attack(kind)) | {"algorithm": [{"kind": "fedavg"}]}
    )
    summary = engine.play(world.build(scenario), scenario.algorithm[0], timing_only=True)
    assert summary["messages"]["sent"] > 0
