"""Calibration against wireless.md section 3, algorithms.md section 1.4 and a simulation."""

import math

import numpy as np
import pytest

from netsim.channels.fading.rayleigh import Rayleigh
from netsim.channels.path_loss.log_distance import LogDistance
from netsim.errors import ScenarioError
from netsim.units import BOLTZMANN_J_PER_K, db_to_linear, w_to_dbm
from netsim.world.calibration import (
    iid_links_threshold_over_mean_snr,
    mean_reachable_disc,
    solve_d0_over_radius,
    threshold_db,
    tx_power_dbm,
)

D0_OVER_R = {10: 1.1008, 20: 0.6445, 30: 0.4988, 50: 0.3697, 100: 0.2519}
NOISE_DBM = w_to_dbm(BOLTZMANN_J_PER_K * 290 * 20e6 * db_to_linear(7))


@pytest.mark.parametrize(("nodes", "ratio"), D0_OVER_R.items())
def test_range_for_five_reachable_has_the_reference_value(nodes, ratio):
    assert solve_d0_over_radius(nodes, 5.0, 3.0) == pytest.approx(ratio, abs=5e-5)


@pytest.mark.parametrize("nodes", [3, 20, 1000])
@pytest.mark.parametrize("share", [1e-4, 0.1, 0.6, 0.999])
@pytest.mark.parametrize("exponent", [2.0, 3.0, 4.5])
def test_solving_inverts_the_mean(nodes, share, exponent):
    reachable = share * (nodes - 1)
    ratio = solve_d0_over_radius(nodes, reachable, exponent)
    assert mean_reachable_disc(nodes, 1.0 / ratio, exponent) == pytest.approx(reachable, rel=1e-8)


def test_a_wide_range_reaches_everyone_and_a_short_one_sees_no_border():
    assert mean_reachable_disc(50, 1e-3, 3.0) == pytest.approx(49, rel=1e-6)
    borderless = 49 * 1e-3**2 * math.gamma(1 + 2 / 3)
    assert mean_reachable_disc(50, 1e3, 3.0) == pytest.approx(borderless, rel=2e-3)


def test_borderless_formula_is_thirty_percent_high_at_half_the_radius():
    borderless = 0.5**2 * math.gamma(1 + 2 / 3)
    assert borderless / mean_reachable_disc(2, 2.0, 3.0) == pytest.approx(1.3, abs=0.03)


def test_nodes_placed_at_random_have_the_mean_number_of_reachable_peers():
    """N = 20, 2,000 placements; 4 standard errors, estimated between placements."""
    rng, nodes, placements, ratio = np.random.Generator(np.random.Philox(7)), 20, 2_000, 0.6445
    radius = np.sqrt(rng.random((placements, nodes)))
    place = radius * np.exp(2j * np.pi * rng.random((placements, nodes)))
    i, j = np.triu_indices(nodes, 1)
    mean_snr_over_threshold = (np.abs(place[:, i] - place[:, j]) / ratio) ** -3.0
    gain = Rayleigh().power_gain(rng.random((placements, len(i))))
    reachable = 2.0 * (gain * mean_snr_over_threshold >= 1.0).sum(axis=1) / nodes
    assert abs(reachable.mean() - 5.0) < 4.0 * reachable.std() / math.sqrt(placements)


@pytest.mark.parametrize(("nodes", "over_sigma"), [(10, 1.0842), (20, 1.6340), (40, 2.0269)])
def test_iid_links_threshold_is_that_of_the_kd_pdfl_paper(nodes, over_sigma):
    """algorithms.md 1.4: an amplitude threshold over sigma, where the mean power is 2 sigma^2."""
    ratio = iid_links_threshold_over_mean_snr(nodes, 5.0)
    assert math.sqrt(2.0 * ratio) == pytest.approx(over_sigma, abs=5e-5)
    gains = Rayleigh().power_gain((np.arange(100_000) + 0.5) / 100_000)
    assert (nodes - 1) * (gains >= ratio).mean() == pytest.approx(5.0, abs=(nodes - 1) * 1e-5)


def test_thermal_noise_is_the_reference_value():
    assert pytest.approx(-93.96, abs=0.005) == NOISE_DBM


def test_transmit_power_for_five_reachable_has_the_reference_value():
    """wireless.md section 3: R = 100 m, N = 20, threshold 5 dB, 2.4 GHz, exponent 3: 5.36 dBm."""
    d0_m = 100.0 * solve_d0_over_radius(20, 5.0, 3.0)
    loss_db = LogDistance(exponent=3).loss_db(d0_m, 2.4e9)
    power_dbm = tx_power_dbm(5.0, NOISE_DBM, loss_db)
    assert power_dbm == pytest.approx(5.36, abs=0.005)
    assert threshold_db(power_dbm, NOISE_DBM, loss_db) == pytest.approx(5.0)


@pytest.mark.parametrize("reachable", [0.0, -1.0, 19.0, 25.0, math.nan])
def test_impossible_numbers_of_peers_are_refused(reachable):
    for solve in (
        lambda: solve_d0_over_radius(20, reachable, 3.0),
        lambda: iid_links_threshold_over_mean_snr(20, reachable),
    ):
        with pytest.raises(ScenarioError, match="between 0 and 19"):
            solve()
