"""Churn against the on-off process with exponential periods."""

import math

import numpy as np
import pandas as pd
import pytest

from netsim import engine, world
from netsim.rng import Streams
from netsim.scenario import from_dict
from netsim.topology.churn import timeline
from netsim.topology.churn.exponential import Exponential
from netsim.units import to_ns

pytestmark = pytest.mark.closed_forms

LAW = Exponential(mean_on_s=60.0, mean_off_s=20.0)
NODES = 4000


def states(law, times_s, nodes=NODES, seed=0):
    """(T, N) bool."""
    found = timeline([law] * nodes, Streams(seed))
    return np.array([[found.is_on(i, to_ns(t)) for i in range(nodes)] for t in times_s])


def within(measured, expected, deviation, sigmas=4.0):
    assert abs(measured - expected) < sigmas * deviation, (measured, expected, deviation)


def share_on(law):
    """At time 0, later, and on average: on / (on + off), 0.75."""
    times_s = [0.0, 5.0, 300.0]
    for on in states(law, times_s):
        within(on.mean(), 0.75, math.sqrt(0.75 * 0.25 / NODES))


def survival(law):
    """Both ends of a transfer of 1.6 s stay on with probability exp(-2 * 1.6 / 60) = 0.948064."""
    found = timeline([law] * NODES, Streams(3))
    rng = np.random.default_rng(0)
    survived = tried = 0
    for src, dst in rng.permutation(NODES).reshape(-1, 2).tolist():
        for t in (0.0, 400.0, 800.0, 1200.0):
            start, end = to_ns(t), to_ns(t + 1.6)
            if found.is_on(src, start) and found.is_on(dst, start):
                tried += 1
                survived += all((found.next_switch(i, start) or end + 1) > end for i in (src, dst))
    expected = math.exp(-2 * 1.6 / 60)
    assert expected == pytest.approx(0.948064, abs=5e-7)
    within(survived / tried, expected, math.sqrt(expected * (1 - expected) / tried))


def correlation(law):
    """P(on at t | on at 0) = a + (1 - a) exp(-t / 60 - t / 20) with a = 0.75."""
    lags_s = [3.0, 10.0, 30.0]
    at_start, *later = states(law, [0.0, *lags_s], seed=5)
    for lag_s, on in zip(lags_s, later, strict=True):
        expected = 0.75 + 0.25 * math.exp(-lag_s / 60 - lag_s / 20)
        deviation = math.sqrt(expected * (1 - expected) / at_start.sum())
        within(on[at_start].mean(), expected, deviation)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("check", [share_on, survival, correlation])
def test_exponential_churn(check):
    check(LAW)


@pytest.mark.slow
def test_messages_of_a_run_survive_as_often(tmp_path):
    """Over wires of 1.6 s, of those that are sent to a node that is on, 0.948064 arrive."""
    tables = {
        "horizon_s": 150.0,
        "nodes": {"count": 200},
        "topology": {"kind": "ring"},
        "link": {"latency_s": 1.6},
        "churn": LAW.model_dump(),
        "exchange": {"schedule": "poisson", "rate_hz": 0.3},
        "data": {
            "kind": "digits",
            "partition": {"kind": "iid", "train_samples": 4, "test_samples": 1},
        },
        "model": {"kind": "mlp", "hidden": [4]},
        "algorithm": {"kind": "dpsgd", "local_steps": 1},
        "metrics": {"every_s": 1e6, "common_test_samples": 5},
    }
    scenario = from_dict(tables)
    built = world.build(scenario)
    engine.play(built, scenario.algorithm[0], tmp_path / "run", timing_only=True)
    log = pd.read_parquet(tmp_path / "run" / "messages")
    heard = [built.churn.is_on(dst, to_ns(t)) for dst, t in zip(log.dst, log.t_sent_s, strict=True)]
    outcomes = log.outcome[heard].astype(str)
    assert set(outcomes) == {"delivered", "off"}
    expected = math.exp(-2 * 1.6 / 60)
    # messages of one wake-up share their sender: half as many independent ones
    deviation = math.sqrt(expected * (1 - expected) / (len(outcomes) / 2))
    within((outcomes == "delivered").mean(), expected, deviation)
