"""Path loss against the numbers of wireless.md section 3 and textbook identities."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from netsim.channels.path_loss.free_space import FreeSpace
from netsim.channels.path_loss.log_distance import LogDistance

MODELS = [FreeSpace(), LogDistance(), LogDistance(exponent=4, reference_m=10, reference_db=60)]


def test_free_space_has_the_reference_value():
    assert FreeSpace().loss_db(100.0, 2.4e9) == pytest.approx(80.0520, abs=5e-5)


def test_free_space_doubles_by_6_db_in_distance_and_in_frequency():
    loss_db = FreeSpace().loss_db(50.0, 2.4e9)
    six_db = 20 * math.log10(2)
    assert FreeSpace().loss_db(100.0, 2.4e9) == pytest.approx(loss_db + six_db)
    assert FreeSpace().loss_db(50.0, 4.8e9) == pytest.approx(loss_db + six_db)


def test_log_distance_of_exponent_2_is_free_space():
    d = np.geomspace(1, 1e4, 7)
    assert LogDistance(exponent=2, reference_m=5).loss_db(d, 2.4e9) == pytest.approx(
        FreeSpace().loss_db(d, 2.4e9)
    )


def test_log_distance_default_reference_is_free_space():
    """ns-3's default of 46.6777 dB is that of 5.15 GHz, to a hundredth of a dB."""
    assert LogDistance().loss_db(1.0, 5.15e9) == pytest.approx(46.6777, abs=0.01)


def test_log_distance_rises_by_ten_exponents_a_decade():
    model = LogDistance(exponent=3.5, reference_m=10, reference_db=61)
    assert model.loss_db(10.0, 2.4e9) == pytest.approx(61)
    assert model.loss_db(1000.0, 2.4e9) == pytest.approx(61 + 70)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.kind)
def test_distances_below_one_metre_count_as_one(model):
    near = model.loss_db(np.array([0.0, 1e-9, 0.5, 1.0]), 2.4e9)
    assert near == pytest.approx(np.full(4, model.loss_db(1.0, 2.4e9)))


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.kind)
def test_array_and_number_give_the_same_loss(model):
    d = np.array([[1.0, 20.0], [300.0, 4000.0]])
    losses = model.loss_db(d, 2.4e9)
    assert losses.shape == d.shape
    assert all(
        model.loss_db(float(x), 2.4e9) == y for x, y in zip(d.flat, losses.flat, strict=True)
    )


def test_senseless_fields_are_refused():
    with pytest.raises(ValidationError):
        LogDistance(exponent=0)
    with pytest.raises(ValidationError):
        LogDistance(reference_m=-1)
