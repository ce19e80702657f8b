"""Street, office and indoor models: structure beyond the reference values of tests/closed_forms."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from netsim.channels.path_loss.inh import IndoorOffice
from netsim.channels.path_loss.itu_indoor import ItuIndoor
from netsim.channels.path_loss.umi import UrbanMicro
from netsim.registry import family

ALL = [
    model()
    for model in family("netsim.channels.path_loss").values()
    if "path" not in model.model_fields  # those from files are no functions of distance
]
SIGHTED = [UrbanMicro(), IndoorOffice()]


@pytest.mark.parametrize("model", ALL, ids=lambda m: m.kind)
@pytest.mark.parametrize("u", [0.0, 0.3, 1.0])
def test_loss_never_falls_with_distance_and_no_distance_counts_as_one_metre(model, u):
    d = np.concatenate([[0.0, 1e-9, 0.5, 1.0], np.geomspace(1.0, 1e5, 3001)])
    loss_db = model.loss_db(d, 2.4e9, u)
    assert loss_db.shape == d.shape
    assert np.isfinite(loss_db).all()
    assert (loss_db[:4] == loss_db[3]).all()
    least_db = model.least_beyond_db(d, 2.4e9, u)  # the loss itself, unless it swings
    assert (np.diff(least_db) >= -1e-9).all()
    assert (loss_db >= least_db - 1e-9).all()
    for k in range(0, len(d), 300):
        assert model.loss_db(float(d[k]), 2.4e9, u) == loss_db[k]


@pytest.mark.parametrize("model", ALL, ids=lambda m: m.kind)
def test_a_power_law_is_one(model):
    rises_db = np.diff(model.loss_db(np.geomspace(1.0, 1e5, 6), 2.4e9))
    if model.power_law is None:
        assert model.sighted or np.ptp(rises_db) > 1.0
    else:
        assert rises_db == pytest.approx([10 * model.power_law] * 5)


def test_itu_indoor_by_hand():
    """20 log10(2400) + 30 log10(20) + 10 - 28 = 67.604 + 39.031 + 10 - 28 dB."""
    assert ItuIndoor(floor_loss_db=10).loss_db(20.0, 2.4e9) == pytest.approx(88.635, abs=1e-3)


@pytest.mark.parametrize("model", SIGHTED, ids=lambda m: m.kind)
def test_sight_is_gained_by_coming_closer_and_without_it_more_is_lost(model):
    d = np.geomspace(1.0, 1000.0, 500)
    p = model.sight_probability(d)
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.diff(p) <= 0).all()
    with_sight, without = model.loss_db(d, 3.5e9, 0.0), model.loss_db(d, 3.5e9, 1.0)
    assert (with_sight <= without).all()
    drawn = model.loss_db(d, 3.5e9, 0.4)
    assert drawn == pytest.approx(np.where(p > 0.4, with_sight, without))


@pytest.mark.parametrize("model", [UrbanMicro, IndoorOffice])
def test_sight_may_be_stated(model):
    d = np.array([5.0, 50.0, 500.0])
    assert (model(sight="always").loss_db(d, 3.5e9, 0.999) == model().loss_db(d, 3.5e9, 0.0)).all()
    assert (model(sight="never").loss_db(d, 3.5e9, 0.0) == model().loss_db(d, 3.5e9, 1.0)).all()


def test_street_loss_is_continuous_at_its_breakpoint_and_steeper_behind():
    model, carrier_hz = UrbanMicro(sight="always"), 2.4e9
    at_m = 4 * 9.0 * 0.5 * carrier_hz / 3.0e8
    below, above = model.loss_db(np.array([at_m * (1 - 1e-9), at_m * (1 + 1e-9)]), carrier_hz)
    assert below == pytest.approx(above, abs=1e-6)
    far = model.loss_db(np.array([10 * at_m, 100 * at_m]), carrier_hz)
    assert far[1] - far[0] == pytest.approx(40.0, abs=1e-2)


def test_the_far_loss_of_a_street_takes_the_standard_s_speed_of_light():
    """By hand at 3.5 GHz and 1 km: breakpoint 4 x 9 x 0.5 x 3.5e9 / 3.0e8 = 210 m exactly."""
    want = 32.4 + 40 * np.log10(np.hypot(1000.0, 8.5)) + 20 * np.log10(3.5)
    want -= 9.5 * np.log10(210.0**2 + 8.5**2)
    found = UrbanMicro(sight="always").loss_db(1000.0, 3.5e9)
    assert found == pytest.approx(want, abs=1e-9)


def test_street_antennas_stand_over_the_street():
    with pytest.raises(ValidationError):
        UrbanMicro(device_height_m=1.0)


def test_street_model_warns_of_links_between_devices():
    assert "between two devices" in UrbanMicro().assumes
    assert math.isfinite(UrbanMicro(base_height_m=1.5).loss_db(100.0, 2.4e9))
