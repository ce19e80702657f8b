"""Virtual compute time against what is known of its laws."""

import math

import numpy as np
import pytest

from netsim import engine, world
from netsim.devices.speed.spread import Spread
from netsim.rng import Streams
from netsim.scenario import from_dict

pytestmark = pytest.mark.closed_forms

NODES, ROUNDS = 10, 1000


@pytest.mark.slow
def test_a_round_of_ten_takes_the_longest_of_ten_shifted_exponentials():
    """1 + 0.5 H10 = 2.464484 s; its variance is 0.25 times the sum of 1 / k^2."""
    ks = np.arange(1, NODES + 1)
    expected = 1 + 0.5 * (1 / ks).sum()
    assert expected == pytest.approx(2.464484, abs=5e-7)
    tables = {
        "horizon_s": ROUNDS * expected,
        "nodes": {"count": NODES},
        "exchange": {"schedule": "rounds", "interval_s": 1e-3},
        "data": {
            "kind": "digits",
            "partition": {"kind": "iid", "train_samples": 20, "test_samples": 5},
        },
        "model": {"kind": "mlp", "hidden": [4]},
        "compute": {"kind": "shifted_exponential", "step_s": 1.0, "straggle_s": 0.5},
        "algorithm": {"kind": "dpsgd", "local_steps": 1},
        "metrics": {"every_s": 1e6},
    }
    scenario = from_dict(tables)
    summary = engine.play(world.build(scenario), scenario.algorithm[0], timing_only=True)
    rounds = summary["wakes"]["woke"] / NODES
    deviation = 0.5 * math.sqrt((1 / ks**2).sum()) / math.sqrt(ROUNDS)
    # the last round is under way
    assert abs(tables["horizon_s"] / (rounds - 0.5) - expected) < 4 * deviation + expected / ROUNDS


def slowness(**keys):
    law = Spread(**keys)
    return 1 / np.array(law.relative([1.0] * 20_000, Streams(0), None))


def test_lognormal_devices():
    """log of the slowness: mean 0, standard deviation sigma."""
    logs = np.log(slowness(law="lognormal", sigma=0.8))
    assert abs(logs.mean()) < 4 * 0.8 / math.sqrt(len(logs))
    assert abs(logs.std() - 0.8) < 4 * 0.8 / math.sqrt(2 * len(logs))


def test_exponential_devices():
    """None is quicker than nominal; the mean slowness is 1 + sigma, its deviation sigma."""
    found = slowness(law="exponential", sigma=2.0)
    assert found.min() >= 1
    assert abs(found.mean() - 3.0) < 4 * 2.0 / math.sqrt(len(found))
    # the variance of an exponential sample's variance is 8 / n
    assert abs(found.var() / 4.0 - 1.0) < 4 * math.sqrt(8 / len(found))
