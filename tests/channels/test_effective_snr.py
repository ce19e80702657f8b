"""Resource blocks: the covariance of their gains, and the one SNR that they amount to."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from netsim.channels.effective_snr import BETAS, beta_of, capacity, eesm
from netsim.channels.fading.frequency_selective import (
    TDL_DELAYS_AND_POWERS_DB,
    FrequencySelective,
)
from netsim.rng import Streams

PAIRS = 20_000
BAND_HZ = 10e6


def gains(**fields):
    """Of many pairs: (PAIRS, K)."""
    fading = FrequencySelective(**fields)
    u = Streams(7).uniform_table(
        "fading", np.arange(PAIRS), counters=np.arange(fading.draws(BAND_HZ))
    )
    return fading.block_gains(u, BAND_HZ)


def test_equal_blocks_give_their_snr():
    for beta in (1.6, 34.28, 1e6):
        assert eesm(np.full(12, 7.5), beta) == pytest.approx(7.5)
    assert capacity(np.full(12, 7.5)) == pytest.approx(7.5)


def test_effective_snr_lies_between_least_and_mean():
    snr = np.random.default_rng(1).exponential(5.0, (500, 25))
    for found in (eesm(snr, 1.6), eesm(snr, 30.0), capacity(snr), capacity(snr, 5.5)):
        assert (snr.min(axis=1) <= found).all()
        assert (found <= snr.mean(axis=1)).all()


def test_a_large_beta_is_the_mean_and_a_small_one_the_least_but_for_the_count():
    snr = np.array([1.0, 4.0, 10.0, 30.0])
    assert eesm(snr, 1e7) == pytest.approx(snr.mean(), rel=1e-5)
    assert eesm(snr, 1e-3) == pytest.approx(1.0 + 1e-3 * math.log(4))


def test_strong_blocks_do_not_overflow():
    assert eesm(np.array([1e6, 2e6]), 1.6) == pytest.approx(1e6 + 1.6 * math.log(2))


def test_two_blocks_by_hand():
    """-2 ln((e^-1 + e^-3) / 2) = 3.132; sqrt(3 * 7) - 1 = 3.583."""
    snr = np.array([2.0, 6.0])
    assert eesm(snr, 2.0) == pytest.approx(-2 * math.log((math.exp(-1) + math.exp(-3)) / 2))
    assert capacity(snr) == pytest.approx(math.sqrt(21) - 1)


def test_betas_are_found_by_efficiency():
    for efficiency, beta in BETAS:
        assert beta_of(efficiency) == beta
    assert (beta_of(0.0), beta_of(None), beta_of(9.0)) == (1.60, 1.60, 34.28)


@pytest.mark.parametrize("profile", ["exponential", "tdl_a", "tdl_b", "tdl_c", "independent"])
def test_every_block_is_rayleigh(profile):
    found = gains(profile=profile, resource_blocks=10)
    error = 4.0 / math.sqrt(PAIRS)
    assert found.mean(axis=0) == pytest.approx(np.ones(10), abs=error)
    for ratio in (0.1, 1.0):
        assert (found < ratio).mean(axis=0) == pytest.approx(
            np.full(10, -math.expm1(-ratio)), abs=0.5 * error
        )


def test_one_block_is_the_draw_of_flat_rayleigh():
    fading = FrequencySelective(resource_blocks=1)
    assert fading.draws(BAND_HZ) == 2
    u = np.random.default_rng(2).random((100, 2))
    assert fading.block_gains(u, BAND_HZ)[:, 0] == pytest.approx(-np.log1p(-u[:, 0]))


def test_no_delay_spread_is_flat():
    found = gains(delay_spread_s=0.0, resource_blocks=8)
    assert np.ptp(found, axis=1).max() < 1e-9


def test_power_correlation_of_an_exponential_profile():
    """1 / (1 + (2 pi df s)^2)."""
    spread_s, blocks = 100e-9, 20
    found = gains(delay_spread_s=spread_s, resource_blocks=blocks)
    for apart in (1, 3, 10):
        df = apart * BAND_HZ / blocks
        want = 1.0 / (1.0 + (2 * math.pi * df * spread_s) ** 2)
        got = np.corrcoef(found[:, 0], found[:, apart])[0, 1]
        assert got == pytest.approx(want, abs=5.0 / math.sqrt(PAIRS))


@pytest.mark.parametrize("profile", TDL_DELAYS_AND_POWERS_DB)
def test_tables_of_tr_38901_have_a_delay_spread_of_one(profile):
    delays, powers_db = (np.array(x) for x in TDL_DELAYS_AND_POWERS_DB[profile])
    powers = 10 ** (powers_db / 10)
    powers /= powers.sum()
    mean = (powers * delays).sum()
    assert math.sqrt((powers * delays**2).sum() - mean**2) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.slow
def test_many_independent_blocks_tend_to_a_constant():
    """-beta ln E[exp(-snr/beta)] = beta ln(1 + mean / beta) for Exp; standard error by delta."""
    mean, beta, blocks = 10.0, 6.16, 275
    found = eesm(mean * gains(profile="independent", resource_blocks=blocks), beta)
    want = beta * math.log1p(mean / beta)
    at = 1.0 / (1.0 + mean / beta)
    variance = 1.0 / (1.0 + 2.0 * mean / beta) - at**2
    spread = beta / at * math.sqrt(variance / blocks)
    assert found.std() == pytest.approx(spread, rel=0.05)
    assert found.mean() == pytest.approx(want + 0.5 * spread**2 / beta, abs=0.2 * spread)


def test_senseless_fields_are_refused():
    for fields in (
        {"process": "sum_of_sinusoids", "doppler_hz": 5.0},
        {"mapping": "capacity", "beta": 2.0},
        {"resource_blocks": 276},
    ):
        with pytest.raises(ValidationError):
            FrequencySelective(**fields)
