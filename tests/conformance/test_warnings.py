"""Faults without a crash are reported: by an error, or by a warning in the summary."""

import re

import pytest

from netsim import engine, world
from netsim.engine import deadlock, step_watchdog
from netsim.engine.playing import failure_text
from netsim.errors import ComputeError, NetsimError, ProtocolError
from netsim.scenario import from_dict

START = """
def processes(node, params):
    return [on_start(node)]

def on_start(node):
    node.publish(node.initial(), "mixed")
    yield node.sleep(0.25)
    theta = node.initial()
    if node.id == 3:
        {body}
    while True:
        yield node.sleep(1.0)
"""


def test_a_run_that_is_as_it_should_be_has_no_warnings(play):
    assert play("toy_gossip").summary["warnings"] == []


def test_everybody_listens_and_nobody_sends(play_source):
    found = play_source(
        "def processes(node, params):\n    return [on_start(node)]\n\n"
        "def on_start(node):\n"
        "    yield node.sleep(0.5)\n"
        "    yield node.receive(Note, timeout_s=None)\n"
    ).summary["warnings"]
    assert len(found) == 2
    assert re.match(
        r"nothing happened after 0.5 s of [\d.]+ s: every process waits for messages, and nobody "
        r"sends any: node 0 in on_start \(toy.py:\d+\) \(waits for receive\(Note\)\); node 1",
        found[0],
    )
    assert "none of 5 nodes with data has published a model in" in found[1]


@pytest.mark.parametrize(
    "call",
    [
        "send(2, Note())",
        "broadcast(Note(), to=[1, 2])",
        "ask(2, Note(), Note, 0.5)",
        "exchange({2: Note()})",
    ],
)
def test_a_message_to_a_node_that_is_no_neighbour_is_told_of(play_source, call):
    """Nodes 0 and 2 of a ring of five; answers, and messages to nodes 1 and 4, are as they are."""
    source = (
        "def processes(node, params):\n    node.serve(Note, lambda asked: Note())\n"
        "    node.publish(node.initial(), 'mixed')\n    return [] if node.id else [go(node)]\n\n"
        "def go(node):\n    yield node.{call}\n"
    )
    ring = {"kind": "ring"}
    found = play_source(source.format(call=call), topology=ring).summary["warnings"]
    assert found == ["node 0 at 0 s sends Note to node 2, to which [topology] has no link"]
    near = source.format(call=call.replace("2", "4"))
    assert play_source(near, topology=ring).summary["warnings"] == []


def test_listeners_beside_processes_that_have_ended_are_no_reason_to_warn(play_source):
    found = play_source(
        "def processes(node, params):\n    return [on_start(node), on_note(node)]\n\n"
        "def on_start(node):\n"
        "    node.publish(node.initial(), 'mixed')\n"
        "    yield node.sleep(0.5)\n\n"
        "def on_note(node):\n    yield node.receive(Note, timeout_s=None)\n"
    )
    assert found.summary["warnings"] == []


def test_an_algorithm_that_looks_at_test_samples_is_told_of(play_source):
    source = (
        "def processes(node, params):\n    return [on_start(node)]\n\n"
        "def on_start(node):\n"
        "    node.publish(node.initial(), 'mixed')\n"
        "    yield node.value(node.loss(node.initial(), '{split}'), default=1.0)\n"
    )
    [told] = play_source(source.replace("{split}", "test")).summary["warnings"]
    assert re.match(r"the algorithm looks at test samples \(toy.py:\d+\): ", told)
    assert play_source(source.replace("{split}", "train")).summary["warnings"] == []


@pytest.mark.parametrize("read", ["node._evaluation._shards", "self.node._evaluation._shards"])
def test_a_method_that_reads_past_the_verbs_is_told_of(play_source, read):
    source = (
        "def processes(node, params):\n    return [on_start(node)]\n\n"
        "def on_start(node):\n"
        "    node.publish(node.initial(), 'mixed')\n"
        f"    yield node.sleep(0.5)\n\n\ndef look(self, node):\n    return {read}.y\n"
    )
    [told] = play_source(source).summary["warnings"]
    assert re.match(rf"toy.py:\d+ reads {read.replace('._shards', '')}, which is no part of", told)


def test_nodes_that_show_no_model_are_left_out_of_means_and_told_of(play_source):
    found = play_source(
        "def processes(node, params):\n    return [on_start(node)]\n\n"
        "def on_start(node):\n"
        "    yield node.sleep(0.5)\n"
        "    if node.id not in (1, 3):\n"
        "        node.publish(node.initial(), 'mixed')\n"
    ).summary["warnings"]
    assert any(
        re.match(r"2 of 5 nodes with data published no model in [\d.]+ s \(node 1 is one\): ", one)
        for one in found
    ), found


def test_a_process_that_is_no_generator_is_refused(play_source):
    source = (
        "def processes(node, params):\n    return [on_start(node)]\n\n"
        "def on_start(node):\n    node.publish(node.initial(), 'mixed')\n"
    )
    where = r"^node 0 at 0 s in processes: process 1 of those returned is None, no generator"
    with pytest.raises(ProtocolError, match=where):
        play_source(source)


def test_a_loop_in_which_no_time_passes_is_named(play_source, monkeypatch):
    monkeypatch.setattr(deadlock, "EVENTS_AT_ONE_INSTANT", 5_000)
    where = (
        r"^node 3 at 0.25 s in on_start \(toy.py:\d+\): time stands still: of the last 2000 events "
        r"\d+ were this process going on; .*a verb that takes time"
    )
    with pytest.raises(ProtocolError, match=where):
        play_source(START.format(body="while True: yield node.sleep(0)"))


@pytest.mark.thinned(6)
@pytest.mark.filterwarnings(  # the signal may find Python in a callback of its garbage collector
    "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize(
    ("source", "where"),
    [
        (START.format(body="while True: pass"), "node 3 at 0.25 s in on_start"),
        (START.format(body="while node.now_s < 1.0: pass"), "node 3 at 0.25 s in on_start"),
        (
            "def processes(node, params):\n    while node.now_s < 1.0: pass\n",
            "node 0 at 0 s in processes",
        ),
    ],
)
def test_a_step_without_end_is_broken_off(tmp_path, monkeypatch, source, where):
    monkeypatch.setattr(step_watchdog, "LOOKED_AT_EVERY_S", 0.05)
    monkeypatch.setattr(step_watchdog, "LOOKS", 4)
    (tmp_path / "stuck.py").write_text(
        "from netsim import api\n\nclass Params(api.Params):\n    pass\n\n" + source
    )
    scenario = from_dict(
        {
            "horizon_s": 9.0,
            "exchange": {"schedule": "rounds", "interval_s": 1.0},
            "nodes": {"count": 4},
            "data": {"kind": "digits", "partition": {"kind": "iid", "train_samples": 20}},
            "model": {"kind": "mlp", "hidden": [4]},
            "algorithm": [{"kind": "stuck"}],
        },
        algorithms_folder=tmp_path,
    )
    with pytest.raises(ProtocolError, match=f"^{where}: this step has run for .* without") as error:
        engine.play(world.build(scenario), scenario.algorithm[0])
    assert re.search(r"\nat .*stuck.py:\d+ in (on_start|processes): ", failure_text(error.value))


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("body", "how"),
    [
        ("node.publish(node.mix([theta, theta], [2.0, 3.0]), 'mixed')", "published"),
        ("yield node.train(node.mix([theta, theta], [2.0, 3.0]), steps=1)", "trained further"),
    ],
)
def test_weights_of_a_model_that_do_not_sum_to_one(play_source, body, how):
    (found,) = play_source(START.format(body=f"{body}; {body}")).summary["warnings"]
    assert re.fullmatch(
        r"node 3 at 0.25 s \(toy.py:\d+\): the weights of a mixture of models sum to 5, not 1, "
        f"and it is {how}",
        found,
    )


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "body",
    [
        "node.mix([theta, theta], [1.0, -1.0])",
        "node.publish(node.mix([theta, node.gradient(theta, 'train')], [1.0, -0.1]), 'mixed')",
        "node.publish(node.mix([theta] * 3, [0.333333] * 3), 'mixed')",
    ],
)
def test_differences_and_steps_may_have_any_weights(play_source, body):
    assert play_source(START.format(body=body)).summary["warnings"] == []


LONG_ROUNDS = """
def processes(node, params):
    return [rounds(node)]

def rounds(node):
    theta = node.initial()
    while True:
        yield node.wakeup()
        trained = yield node.train(theta, steps={steps})
        node.publish(trained.theta, "mixed")
        yield node.exchange(Note())
"""


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("steps", "outlasting", "played"), [(4, 0, 0), (5, 2, 3), (13, 1, 1)])
def test_rounds_that_outlast_the_interval_are_told_of(play_source, steps, outlasting, played):
    """Rounds of 0.4 s for 1.25 s, steps of 0.1 s: 0.5 s a round; 1.3 s is longer than the run."""
    found = play_source(
        LONG_ROUNDS.format(steps=steps),
        horizon_s=1.25,
        exchange={"schedule": "rounds", "interval_s": 0.4},
        compute={"kind": "fixed", "step_s": 0.1},
    ).summary
    assert found["counts"].get("rounds_outlasting_interval", 0) == outlasting
    told = f"{outlasting} of {played} rounds lasted longer than [exchange] interval_s = 0.4"
    assert sum(warning.startswith(told) for warning in found["warnings"]) == bool(outlasting)


def test_rounds_in_which_messages_are_on_the_way_may_outlast_the_interval(play_source):
    found = play_source(
        LONG_ROUNDS.format(steps=1),
        exchange={"schedule": "rounds", "interval_s": 0.4},
        link={"latency_s": 0.5},
    ).summary
    assert found["counts"]["rounds_outlasting_interval"] > 0
    assert found["warnings"] == []


@pytest.mark.slow
def test_steps_that_are_far_too_long_are_told_of(play):
    """Parameters of 1e12 and more, all of them finite: every unit is off for every sample."""
    found = play("toy_gossip", training={"learning_rate": 1e6, "batch_size": 8}).summary
    assert [one["node"] for one in found["diverged"]] == [0, 1, 2, 3, 4]
    assert play("toy_gossip", training={"learning_rate": 0.5}).summary["diverged"] == []


NOISY = (
    START.format(body="saw(node, 'x', (yield node.value({call})))")
    + """
def noisy(x):
    return x.sum() + torch.rand(())

def noisy_loss(model, batch, learned):
    return torch.nn.functional.cross_entropy(model(batch.x + torch.rand_like(batch.x)), batch.y)
"""
)


def test_a_function_that_draws_from_the_global_generator_is_refused(play_source):
    call = "node.compute(noisy, theta.part('head'), like=())"
    where = (
        r"^node 3 at 0.25 s.*: apply noisy: noisy \(toy.py:\d+\) draws from torch's global random "
        r"numbers, which no seed sets, so two runs would differ; give it draws of node.uniform"
    )
    with pytest.raises(ComputeError, match=where):
        play_source(NOISY.replace("{call}", call))


def test_a_loss_that_draws_from_the_global_generator_is_refused(play_source):
    source = NOISY.replace(
        "saw(node, 'x', (yield node.value({call})))",
        "yield node.train(theta, steps=1, loss=noisy_loss)",
    )
    with pytest.raises(ComputeError, match=r"noisy_loss \(toy.py:\d+\) draws from torch's global"):
        play_source(source)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("call", "whose"),
    [("np.random.rand()", "NumPy"), ("random.random()", "Python"), ("torch.rand(1)", "torch")],
)
def test_draws_of_a_process_are_told_of(play_source, call, whose):
    source = "import random\nimport numpy as np\n" + START.format(body=call)
    (found,) = play_source(source).summary["warnings"]
    assert re.search(f"something had drawn from {whose}'s global random numbers", found)


IN_PLACE = """
@{mark}
def in_place(x, factor):
    return x.mul_(2.0).sum() * factor
"""


@pytest.mark.parametrize("mark", ["api.batched", "staticmethod"])
def test_a_function_that_works_in_place_is_refused(play_source, mark):
    body = "x = node.compute(in_place, theta.part('head'), 3.0, like=()); yield node.value(x)"
    source = START.format(body=body) + IN_PLACE.format(mark=mark).replace("@staticmethod\n", "")
    where = (
        r"node 3 at 0.25 s.*: apply in_place failed: WrittenInPlaceError: in_place "
        r"\(toy.py:\d+\) changes tensor 1 of those that it is given in place"
    )
    with pytest.raises(NetsimError, match=where):
        play_source(source)
