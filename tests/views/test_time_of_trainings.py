"""The time of trainings that views work out is that which the timeline records."""

import numpy as np
import pytest

from netsim import engine, scenario, world
from netsim.recording.reader import RunFolder
from netsim.views import time_use
from netsim.views.explaining.evidence import Evidence

STRAGGLING = {"kind": "shifted_exponential", "step_s": 0.02, "straggle_s": 0.3}
SLOW = [{"name": "slow", "count": 1, "speed": 0.5}]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Some 200 trainings of two steps at each of three nodes."""
    found = scenario.from_dict(
        {
            "horizon_s": 200.0,
            "nodes": {"count": 3, "groups": SLOW},
            "exchange": {"schedule": "poisson", "rate_hz": 1.0},
            "data": {"kind": "digits", "partition": {"kind": "iid", "train_samples": 20}},
            "model": {"kind": "mlp", "hidden": [2]},
            "metrics": {"every_s": 200.0, "timeline": True},
            "compute": STRAGGLING,
            "algorithm": {"kind": "local", "pace": "rounds", "local_steps": 2},
        }
    )
    out = tmp_path_factory.mktemp("run") / "run"
    engine.play(world.build(found), found.algorithm[0], out, timing_only=True)
    return out


def test_delays_of_trainings_are_part_of_the_time_that_is_worked_out(run):
    opened = RunFolder(run)
    recorded = np.array(opened.summary["time_s"]["train"])
    assert recorded.min() > 20.0
    assert time_use.worked_out(opened)["train"] == pytest.approx(recorded, rel=0.25)


def test_the_mean_time_of_a_step_has_its_part_of_the_delays(run):
    """.02 s and half of .3 s, twice that at half the speed; the pasted query gives the same."""
    evidence = Evidence(run)
    assert evidence.nodes.step_s.to_list() == pytest.approx([0.34, 0.17, 0.17])
    pasted = {}
    exec(evidence.loading, pasted)
    assert pasted["nodes"].step_s.to_list() == evidence.nodes.step_s.to_list()
