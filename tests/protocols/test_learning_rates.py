"""Learning rates over time against those of `torch.optim.lr_scheduler`."""

import math
from types import SimpleNamespace

import pytest
import torch

from netsim import engine, world
from netsim.node import training_verbs
from netsim.node.training_verbs import TrainingVerbs
from netsim.protocols.declaration import declaration_of
from netsim.registry import family
from netsim.scenario import from_dict
from netsim.scenario.kinds import kinds_of
from netsim.testing import AlgorithmCase

KINDS = family("netsim.protocols.learning_rates")
RATE = 0.3
MODULES = kinds_of()
CASES = {name: AlgorithmCase(MODULES, name) for name in MODULES}


def torchs(make, steps):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], RATE)
    scheduler, rates = make(optimizer), []
    for _ in range(steps):
        rates.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return rates


SCHEDULERS = torch.optim.lr_scheduler


@pytest.mark.parametrize(
    ("kind", "keys", "make"),
    [
        ("constant", {}, lambda o: SCHEDULERS.ConstantLR(o, factor=1.0)),
        ("step", {"every": 4, "gamma": 0.5}, lambda o: SCHEDULERS.StepLR(o, 4, 0.5)),
        ("exponential", {"gamma": 0.9}, lambda o: SCHEDULERS.ExponentialLR(o, 0.9)),
        (
            "cosine",
            {"over": 12, "final": 0.25},
            lambda o: SCHEDULERS.CosineAnnealingLR(o, 12, eta_min=0.25 * RATE),
        ),
    ],
)
def test_a_schedule_is_torchs(kind, keys, make):
    schedule = KINDS[kind](**keys)
    found = [schedule.at(SimpleNamespace(learning_rate=RATE, local_steps=k)) for k in range(13)]
    assert found == pytest.approx(torchs(make, 13), rel=1e-12)


def test_time_instead_of_steps():
    node = SimpleNamespace(learning_rate=RATE, local_steps=0, now_s=2.5)
    assert KINDS["exponential"](gamma=0.5, every=5.0, by="time").at(node) == pytest.approx(
        RATE * math.sqrt(0.5)
    )
    assert KINDS["step"](gamma=0.5, every=1.0, by="time").at(node) == pytest.approx(RATE / 4)


@pytest.mark.parametrize("every", [0.1, 0.3, 0.7, 1e-3, 30.0])
def test_a_step_falls_at_each_multiple_of_its_time(every):
    """`3 * 0.1` and 0.3 are two floats, and the clock is in whole nanoseconds."""
    schedule = KINDS["step"](gamma=0.5, every=every, by="time")
    for falls in (1, 2, 3, 7, 100, 1000):
        ns = round(falls * every * 1e9)
        for at_ns, wanted in ((ns - 1000, falls - 1), (ns, falls), (ns + 1000, falls)):
            node = SimpleNamespace(learning_rate=1.0, local_steps=0, now_s=at_ns / 1e9)
            assert schedule.at(node) == 0.5**wanted


def test_after_its_end_a_cosine_is_constant():
    node = SimpleNamespace(learning_rate=RATE, local_steps=99)
    assert KINDS["cosine"](over=10, final=0.1).at(node) == pytest.approx(0.1 * RATE)


def test_a_scenario_chooses_one():
    tables = {
        "horizon_s": 10.0,
        "nodes": {"count": 2},
        "exchange": {"schedule": "rounds"},
        "data": {"kind": "digits"},
        "model": {"kind": "mlp"},
        "algorithm": {
            "kind": "sparq_sgd",
            "rate": {"kind": "cosine", "over": 30},
            "compression": {"kind": "top_k", "fraction": 0.1},
        },
    }
    params = from_dict(tables).algorithm[0].params
    assert (params.rate.kind, params.rate.over) == ("cosine", 30)
    assert params.compression.fraction == 0.1


SCHEDULE = {"kind": "exponential", "gamma": 0.5, "every": 5.0, "by": "time"}


def rates_of(monkeypatch, kind, schedule):
    """(virtual time, rate) of each local training of a run, in order."""
    found = []
    train, job = TrainingVerbs.train, training_verbs._train

    def timed(verbs, *args, **how):
        found.append([verbs._clock.now / 1e9, None])
        return train(verbs, *args, **how)

    def noted(fields):
        work = job(fields)
        found[-1][1] = work.rate
        return work

    case = AlgorithmCase(MODULES, kind)
    with monkeypatch.context() as patched:
        patched.setattr(TrainingVerbs, "train", timed)
        patched.setattr(training_verbs, "_train", noted)
        training = {"learning_rate": 0.1, "learning_rate_schedule": schedule}
        scenario = case.scenario(case.schedules[0], training=training, horizon_s=30.0)
        engine.play(world.build(scenario), scenario.algorithm[0], check=False)
    return found


@pytest.mark.parametrize(
    "kind",
    [
        name if name == "dpsgd" else pytest.param(name, marks=pytest.mark.slow)
        for name, module in MODULES.items()
        if declaration_of(module).learns
    ],
)
def test_every_method_trains_by_the_scenarios_schedule(monkeypatch, kind):
    """Rates that a method sets itself (DPFL's fall, pFedMe's inner one) are multiplied, too."""
    plain = rates_of(monkeypatch, kind, {"kind": "constant"})
    found = rates_of(monkeypatch, kind, SCHEDULE)
    assert len(found) >= 5
    assert found[-1][0] > 2.0
    if not CASES[kind].asks_for_numbers:
        assert [t for t, _ in found] == [t for t, _ in plain]
    first = {rate for _, rate in plain}
    for t_s, rate in found:
        assert min(abs(rate / 0.5 ** (t_s / 5.0) - r) for r in first) < 1e-9


def test_one_method_may_have_a_schedule_of_its_own_and_changes_reach_it():
    tables = {
        "horizon_s": 10.0,
        "nodes": {"count": 2},
        "exchange": {"schedule": "rounds"},
        "data": {"kind": "digits"},
        "model": {"kind": "mlp"},
        "training": {"learning_rate_schedule": {"kind": "step", "every": 5}},
        "algorithm": [
            {"kind": "dpsgd"},
            {"kind": "fedavg", "training": {"learning_rate_schedule": {"kind": "constant"}}},
        ],
    }
    made = from_dict(tables)
    kinds = [made.training_of(entry).learning_rate_schedule.kind for entry in made.algorithm]
    assert kinds == ["step", "constant"]
