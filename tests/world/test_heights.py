"""Nodes with heights: distances in space, and path loss that knows them."""

import math

import numpy as np
import pytest

from netsim import scenario, world
from netsim.channels.path_loss.free_space import FreeSpace
from netsim.channels.path_loss.inh import IndoorOffice
from netsim.channels.path_loss.umi import UrbanMicro
from netsim.errors import ScenarioError
from netsim.rng import Streams
from netsim.topology import Site
from netsim.topology.geometric import Geometric
from netsim.units import linear_to_db
from netsim.world.placement import distances

AT_M = [[0.0, 0.0], [30.0, 0.0], [0.0, 400.0], [30.0, 400.0]]


def built(nodes=None, path_loss=None):
    """A world of four nodes without fading."""
    radio = {"fading": {"kind": "none"}, "path_loss": path_loss or {"kind": "free_space"}}
    keys = {
        "seed": 1,
        "horizon_s": 10.0,
        "nodes": {"count": 4, "placement": "given", "positions_m": AT_M} | (nodes or {}),
        "radio": radio,
        "exchange": {"schedule": "rounds", "interval_s": 1.0},
        "data": {"kind": "digits"},
        "model": {"kind": "mlp"},
        "algorithm": {"kind": "local"},
    }
    return world.build(scenario.from_dict(keys))


def loss_db(made, src, dst) -> float:
    """Return the loss between two nodes without fading."""
    radio = made.scenario.radio
    snr_db = linear_to_db(made.budget.mean_snr.pair_snr(src, dst, 0))
    return made.tx_power_dbm[src] - radio.noise_dbm - snr_db


def test_the_loss_is_that_of_the_distance_in_space():
    """30 m along the ground and 40 m up are 50 m."""
    made = built({"heights_m": [0.0, 40.0, 0.0, 0.0]})
    assert loss_db(made, 0, 1) == pytest.approx(FreeSpace().loss_db(50.0, 2.4e9), abs=1e-9)
    assert loss_db(made, 1, 0) == pytest.approx(loss_db(made, 0, 1), abs=1e-12)
    assert loss_db(made, 2, 3) == pytest.approx(FreeSpace().loss_db(30.0, 2.4e9), abs=1e-9)


def test_no_height_or_one_height_is_the_plane():
    flat, level = built(), built({"height_m": 12.0})
    for i in range(4):
        one, other = (made.budget.mean_snr.snr(i, range(4), 0) for made in (flat, level))
        assert (one == other).all()


def test_heights_of_groups_and_of_all():
    """Check that a group's own value wins; others have that of all, or 0."""
    groups = [{"name": "drones", "count": 2, "height_m": 50.0}]
    assert built({"groups": groups}).heights_m == (50.0, 50.0, 0.0, 0.0)
    assert built({"groups": groups, "height_m": 2.0}).heights_m == (50.0, 50.0, 2.0, 2.0)
    assert built().heights_m == ()


@pytest.mark.parametrize("far_m", [100.0, 600.0])
def test_umi_takes_the_heights_of_the_two_ends(far_m):
    """TR 38.901, table 7.4.1-1, by hand: hBS 25 m, hUT 2 m, 2.4 GHz, 100 m and past the breakpoint.

    d_BP = 4 * 24 * 1 * 2.4e9 / 3e8 = 768 m at hUT = 2 m; at hUT = 1.5 m 384 m.
    """
    model, f = UrbanMicro(sight="always"), 2.4e9
    for low_m, breakpoint_m in ((2.0, 768.0), (1.5, 384.0)):
        rise_m = 25.0 - low_m
        d_m = math.hypot(far_m, rise_m)
        want_db = 32.4 + 21.0 * math.log10(d_m) + 20.0 * math.log10(2.4)
        if far_m > breakpoint_m:
            want_db = 32.4 + 40.0 * math.log10(d_m) + 20.0 * math.log10(2.4)
            want_db -= 9.5 * math.log10(breakpoint_m**2 + rise_m**2)
        for one_m, other_m in ((25.0, low_m), (low_m, 25.0)):
            found = model.loss_between_db(*(np.array([x]) for x in (far_m, one_m, other_m)), f)
            assert found == pytest.approx([want_db], abs=1e-9)
    of_keys = UrbanMicro(sight="always", base_height_m=25.0, device_height_m=2.0)
    same = model.loss_between_db(*(np.array([x]) for x in (far_m, 25.0, 2.0)), f)
    assert same == pytest.approx([of_keys.loss_db(far_m, f)], abs=1e-12)


def test_an_office_has_sight_by_the_distance_along_the_ground():
    """5 m apart and 12 m up: sight of 5 m, loss of 13 m."""
    model, f = IndoorOffice(), 5e9
    sight = model.sight_probability(5.0)
    at = [np.array([x]) for x in (5.0, 0.0, 12.0)]
    los_db = 32.4 + 17.3 * math.log10(13.0) + 20.0 * math.log10(5.0)
    nlos_db = 17.3 + 38.3 * math.log10(13.0) + 24.9 * math.log10(5.0)
    assert model.loss_between_db(*at, f, sight - 1e-9) == pytest.approx([los_db])
    assert model.loss_between_db(*at, f, sight + 1e-9) == pytest.approx([max(los_db, nlos_db)])


def test_distances_and_neighbours_are_those_in_space():
    places, heights_m = np.array(AT_M), (0.0, 40.0, 0.0, 0.0)
    assert distances(places, None, heights_m)(0, 1, 0) == pytest.approx(50.0)
    assert distances(places, None)(0, 1, 0) == pytest.approx(30.0)
    site = Site(4, Streams(0), positions_m=places, heights_m=heights_m)
    assert Geometric(radius_m=49.0).neighbours(site) == [(), (), (3,), (2,)]
    assert Geometric(radius_m=51.0).neighbours(site) == [(1,), (0,), (3,), (2,)]
    assert Geometric(radius_m=49.0, wrap_m=400.0).neighbours(site)[0] == (2, 3)


@pytest.mark.parametrize(
    ("nodes", "path_loss", "told"),
    [
        ({"heights_m": [1.0]}, None, "one height a node"),
        ({"heights_m": [2.0] * 4, "height_m": 1.0}, None, "leave out height_m"),
        ({"heights_m": [2.0, 2.0, 2.0, 0.5]}, {"kind": "umi"}, "above 1 m, and one is at 0.5 m"),
        ({"placement": "iid_links", "positions_m": [], "height_m": 2.0}, None, "heights are read"),
    ],
)
def test_heights_that_do_not_fit_are_refused(nodes, path_loss, told):
    with pytest.raises(ScenarioError, match=told):
        built(nodes, path_loss)
