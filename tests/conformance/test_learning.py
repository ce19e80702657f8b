"""Models that arrive while their receiver trains, and what the learning verbs give."""

import numpy as np
import pytest
import torch

TRAINS = """
def processes(node, params):
    held = node.hold(node.initial())
    return [on_start(node, held)] if node.id == 0 else [on_send(node)]

def on_send(node):
    yield node.sleep(0.03)
    yield node.send(0, Model(node.initial()))

def on_start(node, held):
    done = held.train(steps=5)
    received = yield node.receive(Model, timeout_s=1.0)
    held.replace(received.msg.theta)
    saw(node, "at once", held.theta is received.msg.theta)
    trained = yield done
    saw(node, "over", trained)
    yield held.settled()
    saw(node, "held", (held.theta, received.msg.theta))
    node.publish(held.theta, "held")
"""


def rows(played, *refs):
    played.run.learning.scheduler.flush()
    return [ref.tensor() for ref in refs]


@pytest.mark.thinned(6)
@pytest.mark.parametrize("rule", ["wait", "rebase", "discard_step"])
def test_a_model_that_arrives_during_training_is_treated_as_the_scenario_says(play_source, rule):
    training = {"on_arrival": rule, "common_initial": False, "dtype": "float64"}
    played = play_source(TRAINS, nodes={"count": 2}, training=training)
    (over,) = played.saw("over")
    held, arrived = rows(played, *played.saw("held")[0].value)
    counts = played.summary["counts"]
    if rule == "discard_step":  # overwritten at 0.03 s, its training dropped
        assert (over.t_s, over.value) == (0.03, None)
        assert played.saw("at once")[0].value is True
        assert torch.equal(held, arrived)
        assert counts["trainings_discarded"] == 1
        return
    assert over.t_s == 0.05
    assert played.saw("at once")[0].value is False
    before, trained = rows(played, played.run.nodes[0].initial(), over.value.theta)
    if rule == "wait":
        assert torch.equal(held, arrived)
        assert counts["trainings_overwritten"] == 1
    else:
        torch.testing.assert_close(held, arrived + trained - before, rtol=0, atol=1e-14)
        assert not torch.equal(trained, before)


@pytest.mark.slow
def test_the_numbers_of_the_learning_verbs_are_those_of_plain_torch(play):
    played = play("toy_learner", "rounds", training={"dtype": "float64"})
    numbers = [s.value for s in played.saw("numbers", node=1)]
    assert len(numbers) > 3
    for found in numbers:
        assert found["weights"].shape == (3,)
        assert found["weights"].sum() == pytest.approx(1.0)
        assert (found["weights"] > 0).sum() <= 2  # the budget
        assert 0 < found["loss"] < 5
        assert np.abs(found["prototype"]).max() > 0
    node = played.run.parts[1]
    model = node.publishing.published["mixed"].ref
    batch = played.run.learning.shards.split(1, "test")
    with torch.no_grad():
        logits = model.architecture.bind(model.tensor())(batch.x)
    loss = torch.nn.functional.cross_entropy(logits, batch.y)
    assert numbers[-1]["loss"] == pytest.approx(float(loss), abs=1e-12)


def test_parts_are_column_ranges_and_change_nothing_else(play_source):
    source = """
def processes(node, params):
    theta = node.initial()
    head = node.compute(torch.zeros_like, theta.part("head"))
    node.publish(theta.with_part("head", head), "cut")
    return []
"""
    played = play_source(source)
    node = played.run.parts[0]
    cut, theta = node.publishing.published["cut"].ref, node.training.initial()
    ((start, stop),) = theta.architecture.columns("head")
    assert (cut.tensor()[start:stop] == 0).all()
    assert torch.equal(cut.tensor()[:start], theta.tensor()[:start])
    assert (theta.tensor()[start:stop] != 0).any()
    assert theta.part("backbone").num_values + theta.part("head").num_values == theta.num_values


def test_arguments_of_a_lazy_function_are_fixed_when_it_is_recorded(play_source):
    source = """
def scaled(x, factors):
    return x * factors[0]

def processes(node, params):
    return [on_start(node)]

def on_start(node):
    ones, factors, lazy = node.compute(torch.ones, 2), [0.0], []
    for k in range(3):
        factors[0] = float(k)
        lazy.append(node.compute(scaled, ones, factors))
    values = yield node.value(lazy)
    saw(node, "values", [float(v[0]) for v in values])
"""
    played = play_source(source)
    assert all(s.value == [0.0, 1.0, 2.0] for s in played.saw("values"))


def test_a_value_is_there_when_its_computing_time_has_passed(play_source):
    source = """
def processes(node, params):
    return [on_start(node)]

def on_start(node):
    loss = node.loss(node.initial(), "train")
    first = yield node.value(loss)
    saw(node, "value", first)
    second = yield node.value({"again": (loss, 1)}, duration_s=0.5)
    saw(node, "value", second["again"][0])
"""
    groups = [{"name": "fast", "count": 1, "speed": 2.0}]
    played = play_source(source, nodes={"count": 2, "groups": groups})
    assert [s.t_s for s in played.saw("value", node=0)] == pytest.approx([0.005, 0.505])
    assert [s.t_s for s in played.saw("value", node=1)] == pytest.approx([0.01, 0.51])
    for node in (0, 1):
        first, second = (s.value for s in played.saw("value", node=node))
        assert first == second
        assert isinstance(first, float)


def test_draws_are_in_range_new_at_every_call_and_a_nodes_own(play_source):
    source = """
def processes(node, params):
    for _ in range(2):
        saw(node, "u", node.uniform("a", 50))
        saw(node, "order", node.permutation("b", list(range(20, 30))))
    return []
"""
    played = play_source(source)
    draws = [tuple(s.value) for s in played.saw("u")]
    assert len(set(draws)) == 10
    everything = np.concatenate(draws)
    assert everything.min() >= 0
    assert everything.max() < 1
    # mean of 500 uniforms: 1/2 with a standard error of 1 / sqrt(12 * 500); four of them
    assert abs(everything.mean() - 0.5) < 4 / np.sqrt(12 * 500)
    orders = [s.value for s in played.saw("order")]
    assert all(sorted(order) == list(range(20, 30)) for order in orders)
    assert len({tuple(order) for order in orders}) == 10
