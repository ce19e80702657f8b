"""Hours of a scenario: what is counted, by hand, and that timing gives times."""

import pytest

from netsim.backends.route_tables import shipped_rules
from netsim.data.sets.digits import Digits
from netsim.engine import estimate, step_times
from netsim.engine.step_times import Times, timed
from netsim.scenario import from_dict
from netsim.scenario.tables import Training

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
    return from_dict({**TABLES, "algorithm": entry})


def work(**entry):
    one = scenario(**entry)
    return estimate.round_work(one, one.algorithm[0], 40.0, 10.0, 10, 4)


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
    assert work(**entry) == estimate.Work(pytest.approx(steps), pytest.approx(samples))


def test_seconds_are_rounds_times_nodes_times_steps_and_the_measurements():
    """10 rounds of 3 steps at 4 nodes; twice 10 own, 10 validation and 100 common samples."""
    found = estimate.seconds(
        scenario(kind="fedavg", local_steps=3), lambda *_: Times(step_s=2.0, sample_s=0.5)
    )
    assert found == pytest.approx(4 * (10 * 3 * 2.0 + 2 * (10 + 10 + 100) * 0.5))


def test_a_star_exchange_has_a_step_a_slot():
    star = {"exchange": {"schedule": "star", "slot_s": 2.0, "slots_per_exchange": 5}}
    one = from_dict({**TABLES, **star, "algorithm": {"kind": "kd_pdfl"}})
    assert estimate.rounds(one) == 50
    assert estimate.round_work(one, one.algorithm[0], 40.0, 10.0, 10, 4) == estimate.Work(1.0)


def test_a_model_is_timed():
    one = scenario(kind="local")
    times = timed(one, Training(batch_size=4), one.model[0], None)
    assert 0 < times.step_s < 1
    assert 0 <= times.sample_s < 1


@pytest.mark.thinned(18)
@pytest.mark.parametrize("kind", sorted(estimate.OWN_STEPS))
def test_a_method_with_a_loss_of_its_own_is_timed_at_play(kind):
    one = scenario(kind=kind)
    played = estimate.played_for(one, one.algorithm[0])
    assert played["kind"] == kind
    times = timed(one, Training(batch_size=4), one.model[0], played)
    assert 0 < times.step_s < 1


def test_hundreds_of_steps_a_round_are_not_all_timed(monkeypatch):
    """A step takes 0.1 s: two a round are timed, not the 200 of the entry."""
    played = []
    monkeypatch.setattr(step_times, "lasting", lambda do, on_gpu: 0.2)
    monkeypatch.setattr(
        step_times, "_played_step_s", lambda small, on_gpu: played.append(small.algorithm[0]) or 1.0
    )
    one = scenario(kind="local")
    entry = {"kind": "ditto", "local_steps": 200}
    assert timed(one, Training(batch_size=4), one.model[0], entry).step_s == 1.0
    assert played[0].params.local_steps == 2


@pytest.mark.parametrize(
    ("nodes", "models", "taking_part"), [(1, 1, 2), (3, 1, 3), (20, 1, 5), (20, 4, 5), (8, 4, 2)]
)
def test_so_many_nodes_are_timed_that_steps_go_a_runs_way(nodes, models, taking_part):
    """Few nodes with a model may be computed otherwise than many, as routes.toml says."""
    mlps = [{"kind": "mlp", "hidden": [4 + i]} for i in range(models)]
    local = {"algorithm": {"kind": "local"}}
    one = from_dict({**TABLES, **local, "nodes": {"count": nodes}, "model": mlps})
    assert step_times.taking_part(one) == taking_part
    few = max(rule.most_nodes or 0 for rule in shipped_rules())
    assert few < step_times.MOST_NODES


@pytest.mark.slow
def test_a_method_that_looks_at_validation_samples_is_timed_at_play():
    choosing = {"kind": "l2c", "local_epochs": 1}
    one = scenario(**choosing)
    assert one.data.validation > 0
    assert timed(one, Training(batch_size=4), one.model[0], choosing).step_s > 0


def test_steps_are_timed_by_what_is_special_about_them():
    def played(kind, exchange=TABLES["exchange"], **params):
        one = from_dict({**TABLES, "exchange": exchange, "algorithm": {"kind": kind, **params}})
        return estimate.played_for(one, one.algorithm[0])

    star = {"schedule": "star", "slot_s": 1.0, "slots_per_exchange": 5}
    assert played("fedavg", local_steps=3) is None
    assert played("fedavg", augment=True) == {"kind": "local", "augment": True}
    ditto = played("ditto", sampled=0.5, strength=0.75)
    assert (ditto["kind"], ditto["strength"], "sampled" in ditto) == ("ditto", 0.75, False)
    assert played("kd_pdfl", star, mu1=2.0)["mu1"] == 2.0


@pytest.mark.slow
def test_a_slot_of_a_star_exchange_is_timed():
    star = {"exchange": {"schedule": "star", "slot_s": 2.0, "slots_per_exchange": 5}}
    one = from_dict({**TABLES, **star, "algorithm": {"kind": "kd_pdfl"}})
    times = timed(one, Training(batch_size=4), one.model[0], {"kind": "kd_pdfl"})
    assert 0 < times.step_s < 1


def test_the_outline_is_what_the_set_has():
    samples, outline = Digits().load(None), Digits().outline()
    assert samples.input_shape == outline.input_shape
    assert samples.num_classes == outline.num_classes
    assert (len(samples.train), len(samples.test)) == (outline.train_rows, outline.test_rows)
