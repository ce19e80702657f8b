"""Learning rates over time against those of `torch.optim.lr_scheduler`."""

import math
from types import SimpleNamespace

import pytest
import torch

from netsim.registry import family
from netsim.scenario import from_dict

KINDS = family("netsim.protocols.learning_rates")
RATE = 0.3


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
