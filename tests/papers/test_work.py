"""Work of a scenario: what is counted, by hand."""

import pytest

from netsim import Scenario
from netsim.data.sets.digits import Digits
from papers import work

TABLES = {
    "horizon_s": 100.0,
    "nodes": {"count": 4},
    "exchange": {"schedule": "rounds", "interval_s": 10.0},
    "data": {
        "kind": "digits",
        "validation": 0.2,
        "partition": {"kind": "iid", "train_samples": 50, "test_samples": 10},
    },
    "model": {"kind": "mlp"},
    "training": {"batch_size": 10},
    "metrics": {"every_s": 50.0, "common_test_samples": 100},
}
EPOCH = 4
"""40 of 50 samples, in batches of 10."""


def scenario(**entry):
    return Scenario(**TABLES, algorithm=entry)


def of_round(**entry):
    one = scenario(**entry)
    return work.round_work(one, one.algorithm[0], 40.0, 10.0, 10, 4)


@pytest.mark.parametrize(
    ("entry", "steps", "samples"),
    [
        ({"kind": "fedavg", "local_epochs": 2}, 2 * EPOCH, 0),
        ({"kind": "fedavg", "local_steps": 7, "sampled": 0.5}, 3.5, 0),
        ({"kind": "local"}, EPOCH, 0),
        ({"kind": "pfedgraph", "steps": 9}, 9, 0),
        ({"kind": "ditto", "local_steps": 3}, 6, 0),
        ({"kind": "apfl", "local_steps": 3}, 4, 0),
        ({"kind": "apfl", "local_steps": 3, "adaptive": False}, 3, 0),
        ({"kind": "mapl"}, EPOCH, 0),
        ({"kind": "pfedme", "local_steps": 3, "inner_steps": 5}, 15, 0),
        ({"kind": "fedrep", "head_epochs": 2, "local_epochs": 1}, 3 * EPOCH, 0),
        ({"kind": "pfedhn", "visits": 1, "local_steps": 8}, 2, 0),
        ({"kind": "knn_per"}, EPOCH, 40),
        ({"kind": "cga", "local_steps": 1}, 4, 0),
        ({"kind": "dpfl", "local_epochs": 1}, EPOCH, (2 * 4 + 2) * 10),
        ({"kind": "dpfl", "local_epochs": 1, "budget": 2, "period": 2}, EPOCH, (2 * 2 + 2) * 5),
        ({"kind": "dpfl", "local_epochs": 1, "budget": 1}, EPOCH, 0),
        ({"kind": "fedfomo", "downloads": 2}, EPOCH, 4 * 10),
        ({"kind": "l2c", "local_epochs": 1}, EPOCH + 1, 0),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else None,
)
def test_a_round_is_so_many_steps_and_evaluated_samples(entry, steps, samples):
    assert of_round(**entry) == work.Work(pytest.approx(steps), pytest.approx(samples))


def test_what_is_counted_is_rounds_times_nodes_times_steps_and_the_measurements():
    """10 rounds of 3 steps at 4 nodes; twice 10 own, 10 validation and 100 common samples."""
    [(form, trained, looked)] = work.counted(scenario(kind="fedavg", local_steps=3))
    assert (form.model, form.batch_size) == ("mlp", 10)
    assert trained == pytest.approx(4 * 10 * 3 * form.step_flop)
    assert looked == pytest.approx(4 * 2 * (10 + 10 + 100) * form.sample_flop)


def test_operations_of_a_linear_model_by_hand():
    """Products of 64 x 8 and 8 x 10, two operations each: forwards, the weights' gradients, and
    that of what the second one takes in."""
    model = {"kind": "mlp", "hidden": [8]}
    one = Scenario(**{**TABLES, "model": model}, algorithm="local")
    [(form, _, _)] = work.counted(one)
    step, sample = form.step_flop, form.sample_flop
    passes = 2 * (2 * 64 * 8 + 3 * 8 * 10)
    assert step == pytest.approx(10 * passes + 2 * (64 * 8 + 8 + 8 * 10 + 10))
    assert sample == pytest.approx(passes / 3)


def test_a_star_exchange_has_a_step_a_slot():
    star = {"exchange": {"schedule": "star", "slot_s": 2.0, "slots_per_exchange": 5}}
    one = Scenario(**{**TABLES, **star}, algorithm="kd_pdfl")
    assert work.rounds(one) == 50
    assert work.round_work(one, one.algorithm[0], 40.0, 10.0, 10, 4) == work.Work(1.0)


def test_the_outline_is_what_the_set_has():
    samples, outline = Digits().load(None), Digits().outline()
    assert samples.input_shape == outline.input_shape
    assert samples.num_classes == outline.num_classes
    assert (len(samples.train), len(samples.test)) == (outline.train_rows, outline.test_rows)
