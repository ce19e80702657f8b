"""Random pairs that average: the spread falls by 1 - 1 / (n - 1) an exchange, through the engine.

Boyd, Ghosh, Prabhakar, Shah, Randomized gossip algorithms, IEEE Trans. Inf. Theory 52 (2006).
"""

import importlib
import math

import numpy as np
import pytest

from netsim import engine, world
from netsim.scenario import from_dict
from netsim.scenario.kinds import kinds_of

pytestmark = pytest.mark.closed_forms

PAIRS = '''"""A node that wakes averages its number with that of one random peer."""
from dataclasses import dataclass
from netsim.api import Message, Params

VALUES, SPREADS = {}, []

@dataclass(frozen=True)
class Mine(Message):
    x: float

def processes(node, params):
    VALUES[node.id] = node.uniform("start", 1)[0]

    def meet(received):
        mine = VALUES[node.id]
        VALUES[node.id] = (mine + received.msg.x) / 2
        return Mine(mine)

    node.serve(Mine, meet)
    return [on_wakeup(node)]

def on_wakeup(node):
    while True:
        yield node.wakeup()
        [u] = node.uniform("whom", 1)
        peer = node.peers[int(u * len(node.peers))]
        got = yield node.ask(peer, Mine(VALUES[node.id]), Mine, timeout_s=0.5)
        VALUES[node.id] = (VALUES[node.id] + got[peer].msg.x) / 2
        SPREADS.append(dict(VALUES))
'''


@pytest.mark.slow
def test_random_pairs(tmp_path):
    folder = tmp_path / "algorithms"
    folder.mkdir()
    (folder / "pairs.py").write_text(PAIRS)
    module = kinds_of((folder,))["pairs"]
    module = importlib.import_module(module.__name__)
    ratios = []
    for seed in range(6):
        module.VALUES.clear()
        module.SPREADS.clear()
        scenario = from_dict(
            {
                "horizon_s": 300.0,
                "seed": seed,
                "nodes": {"count": 16},
                "exchange": {"schedule": "star", "slot_s": 1.0, "slots_per_exchange": 1},
                "data": {
                    "kind": "digits",
                    "partition": {"kind": "iid", "train_samples": 2, "test_samples": 2},
                },
                "model": {"kind": "mlp", "hidden": [2]},
                "metrics": {"every_s": 300.0, "common_test_samples": 2},
                "run": {"device": "cpu"},
                "algorithm": {"kind": "pairs"},
            },
            algorithms_folder=folder,
        )
        engine.Simulation(
            world.build(scenario), scenario.algorithm[0], None, True, None
        ).to_horizon()
        x = np.array([[values[i] for i in range(16)] for values in module.SPREADS])
        assert np.ptp(x.mean(axis=1)) < 1e-12  # an average keeps the sum
        spread = ((x - x.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        ratios.append(spread[1:] / spread[:-1])
    found = np.concatenate(ratios)
    assert len(found) > 1500
    # whatever the numbers are, the next ratio has this mean: a martingale's standard error
    assert abs(found.mean() - (1 - 1 / 15)) < 4 * found.std() / math.sqrt(len(found))
    assert found.std() / math.sqrt(len(found)) < 0.005
