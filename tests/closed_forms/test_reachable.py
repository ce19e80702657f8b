"""`reachable = 5`: the radio that the scenario asks for reaches five others on average."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.links.radio.phy.channel import RadioChannel
from netsim.rng import Streams
from netsim.scenario import from_dict
from netsim.world.link_budget import open_budget

_spec = importlib.util.spec_from_file_location(
    "channel_checks", Path(__file__).with_name("channel_checks.py")
)
checks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(checks)

pytestmark = pytest.mark.closed_forms


@pytest.mark.slow
@pytest.mark.parametrize(
    ("nodes", "d0_over_radius"),
    [(10, 1.1008), (20, 0.6445), (30, 0.4988), (50, 0.3697), (100, 0.2519)],
)
def test_five_are_reachable_on_average(nodes, d0_over_radius):
    """Exponent 3; four standard errors, estimated between placements."""
    placements, found = 800 // nodes, []
    scenario = scene(nodes)
    for seed in range(placements):
        streams = Streams(seed)
        budget, threshold_db, powers = open_budget(
            scenario, places(scenario, seed), (None,) * nodes, streams, None
        )
        channel = RadioChannel(scenario.radio, budget, checks.never_woke, streams)
        everybody = range(nodes)
        found.append(
            np.mean(
                [len(channel.in_reach(i, [j for j in everybody if j != i], 0)) for i in everybody]
            )
        )
        edge_db = scenario.radio.path_loss.loss_db(100.0 * d0_over_radius, 2.4e9)
        mean_db = powers[0] - scenario.radio.noise_dbm - edge_db
        assert mean_db == pytest.approx(threshold_db, abs=0.002)  # the ratio has four digits
    checks.is_mean(np.array(found), 5.0, "reachable peers")


HARD = [
    {"fading": {"kind": "none"}},
    {"fading": {"kind": "none"}, "shadowing": {"kind": "log_normal", "sigma_db": 8.0}},
    {"fading": {"kind": "rician", "k_factor_db": 6.0}},
    {"fading": {"kind": "nakagami"}, "shadowing": {"kind": "log_normal", "sigma_db": 8.0}},
    {"path_loss": {"kind": "umi"}, "shadowing": {"kind": "log_normal"}},
    {"path_loss": {"kind": "inh"}, "fading": {"kind": "none"}},
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("placement", "radio"),
    [("disc", radio) for radio in HARD] + [("iid_links", radio) for radio in HARD[1:4]],
    ids=lambda x: x if isinstance(x, str) else " ".join(t["kind"] for t in x.values()),
)
def test_five_are_reachable_on_average_whatever_the_models(placement, radio):
    nodes, found = 20, []
    scenario = scene(nodes, placement, **radio)
    for seed in range(50):
        streams = Streams(seed)
        budget, _, _ = open_budget(scenario, places(scenario, seed), (None,) * nodes, streams, None)
        channel = RadioChannel(scenario.radio, budget, checks.never_woke, streams)
        peers = [[j for j in range(nodes) if j != i] for i in range(nodes)]
        found.append(np.mean([len(channel.in_reach(i, peers[i], 0)) for i in range(nodes)]))
    checks.is_mean(np.array(found), 5.0, "reachable peers")


def places(scenario, seed):
    if scenario.nodes.placement != "disc":
        return None
    u = np.random.Generator(np.random.Philox(seed)).random((2, scenario.nodes.count))
    z = scenario.nodes.radius_m * np.sqrt(u[0]) * np.exp(2j * np.pi * u[1])
    return np.stack([z.real, z.imag], axis=1)


def test_equal_links_cannot_be_told_apart():
    scenario = scene(20, "iid_links", fading={"kind": "none"})
    with pytest.raises(ScenarioError, match="all links are equal"):
        open_budget(scenario, None, (None,) * 20, Streams(0), None)


def scene(nodes, placement="disc", **radio):
    return from_dict(
        {
            "horizon_s": 1.0,
            "nodes": {"count": nodes, "placement": placement},
            "exchange": {"schedule": "rounds", "interval_s": 1.0},
            "radio": {"reachable": 5.0, **radio},
            "data": {"kind": "digits"},
            "model": {"kind": "mlp"},
            "algorithm": {"kind": "local"},
        }
    )
