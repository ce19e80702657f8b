"""Settings that a method leaves without effect are told at the end of the run."""

import pytest

from netsim import engine, scenario, world

BASE = {
    "horizon_s": 3.0,
    "nodes": {"count": 3},
    "exchange": {"schedule": "star", "slot_s": 0.1, "slots_per_exchange": 4},
    "data": {"kind": "digits", "partition": {"kind": "iid", "train_samples": 20}},
    "model": {"kind": "mlp", "hidden": [2]},
    "metrics": {"every_s": 1.0, "common_test_samples": 5},
    "training": {"learning_rate": 0.1},
    "run": {"device": "cpu"},
    "algorithm": {"kind": "fedavg"},
}
POISSON = {"exchange": {"schedule": "poisson", "rate_hz": 2.0}}


def played(**tables):
    made = scenario.from_dict({**BASE, **tables})
    return engine.play(world.build(made), made.algorithm[0])


def told(summary, words):
    return [text for text in summary["warnings"] if words in text]


def with_optimizer(**keys):
    return {"training": {"learning_rate": 0.1, **keys}}


@pytest.mark.slow
def test_momentum_of_single_steps_has_no_effect_and_a_warning_says_so():
    """A star's nodes train a step a slot, each with an optimizer of its own."""
    plain, heavy = played(), played(**with_optimizer(momentum=0.9))
    assert plain["parameters_sha256"] == heavy["parameters_sha256"]
    assert not told(plain, "one local step")
    (text,) = told(heavy, "one local step")
    assert "momentum = 0.9 has had no effect" in text


@pytest.mark.slow
def test_adam_of_single_steps_takes_no_moments_and_a_warning_says_so():
    one, other = (played(**with_optimizer(optimizer="adam", beta1=b)) for b in (0.9, 0.1))
    assert one["accuracy"] == other["accuracy"]
    assert told(one, "whatever beta1 and beta2")


def test_momentum_of_several_steps_has_an_effect():
    algorithm = {"kind": "dpsgd", "local_steps": 2}
    plain = played(**POISSON, algorithm=algorithm)
    heavy = played(**POISSON, algorithm=algorithm, **with_optimizer(momentum=0.9))
    assert plain["parameters_sha256"] != heavy["parameters_sha256"]
    assert not told(heavy, "one local step")


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("stages", "is_told"), [(["train"], True), (["mixed"], False), (["train", "mixed"], False)]
)
def test_stages_that_no_node_publishes_are_told_where_nothing_is_measured(stages, is_told):
    metrics = {**BASE["metrics"], "stages": stages}
    found = played(**POISSON, algorithm={"kind": "dpsgd"}, metrics=metrics)
    assert bool(told(found, "no node has published such a model")) == is_told
    assert ("accuracy" not in found) == is_told


@pytest.mark.parametrize(
    ("stages", "missing"),
    [(["train"], ["train"]), (["mixed"], []), (["a", "mixed", "b"], ["a", "b"])],
)
def test_each_stage_of_an_algorithm_that_no_node_publishes_is_told(stages, missing):
    found = played(**POISSON, algorithm={"kind": "dpsgd", "stages": stages})
    expected = [f"stages = {missing}:".replace("'", '"')] if missing else []
    assert [text.partition(" no ")[0] for text in told(found, "stages = ")] == expected
    assert ("accuracy" in found) == ("mixed" in stages)


def test_a_main_metric_is_missed_where_nothing_at_all_is_recorded():
    found = played(metrics={**BASE["metrics"], "main": "reward"})
    assert told(found, "what was recorded is nothing")


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("kind", "is_told"), [("dpsgd", True), ("dpfl", False)])
def test_probes_that_no_method_asks_for_are_told(kind, is_told):
    data = {**BASE["data"], "validation": 0.2}
    radio = {"discovery": "probe", "fading": {"kind": "none"}}
    found = played(**POISSON, algorithm={"kind": kind}, radio=radio, data=data)
    assert bool(told(found, "never asked whom a node reaches")) == is_told
    assert ("Probe" in found["outcomes"]) != is_told


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("kind", "packet_error", "is_told"),
    [
        ("dpsgd", "exponential_snr", True),
        ("dpsgd", "outage", False),
        ("dpsgd", "logistic", False),
        ("dpfl", "exponential_snr", False),
    ],
)
def test_a_number_of_reachable_nodes_that_keeps_no_message_back_is_told(
    kind, packet_error, is_told
):
    data = {**BASE["data"], "validation": 0.2}
    radio = {"reachable": 1.0, "packet_error": {"kind": packet_error}}
    found = played(**POISSON, algorithm={"kind": kind}, radio=radio, data=data)
    assert bool(told(found, "reachable = 1 has kept no message")) == is_told


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("key", "own", "is_told"),
    [
        ("threshold_db = 9", {"threshold_db": 9.0}, True),
        ("threshold_db = 9", {"threshold_db": 9.0, "mac": {"kind": "csma"}}, False),
        ("threshold_db", {}, False),
        ("threshold_db", {"preset": {"kind": "wifi"}}, False),
    ],
)
def test_a_threshold_that_nothing_goes_by_is_told(key, own, is_told):
    radio = {"packet_error": {"kind": "exponential_snr"}, **own}
    found = played(**POISSON, algorithm={"kind": "dpsgd"}, radio=radio)
    assert bool(told(found, f"{key} has kept no message")) == is_told


def test_a_threshold_beside_probes_has_no_effect_and_a_warning_says_so():
    """The star asks whom it reaches, and goes by who answers."""
    probing = {"discovery": "probe", "packet_error": {"kind": "exponential_snr"}}
    method = {"kind": "kd_pdfl"}
    plain, few = (
        played(algorithm=method, radio={**probing, **own}) for own in ({}, {"reachable": 0.5})
    )
    assert plain["event_log_sha256"] == few["event_log_sha256"]
    assert not told(plain, "answers to its probes")
    assert told(few, "reachable = 0.5 has kept no message from any node: whom a node reaches")


SLOW = {"count": 3, "groups": [{"name": "slow", "count": 1, "speed": 0.1}]}


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"compute": {"kind": "stragglers", "slowdown": 9.0}}, '[compute] kind = "stragglers"'),
        ({"nodes": SLOW}, "[nodes.groups] speed"),
        ({"compute": {"kind": "stragglers", "step_s": 0.01}}, None),
        ({}, None),
    ],
)
def test_slow_nodes_whose_work_takes_no_time_are_told(own, said):
    """A local step takes no time unless the scenario says how long it takes."""
    found = played(**POISSON, algorithm={"kind": "dpsgd"}, **own)
    texts = told(found, "had no effect: a local step takes no time")
    assert [said in text for text in texts] == ([] if said is None else [True])
    if said is not None:
        plain = played(**POISSON, algorithm={"kind": "dpsgd"})
        assert found["event_log_sha256"] == plain["event_log_sha256"]
