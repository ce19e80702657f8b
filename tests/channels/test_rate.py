"""Rates against the numbers of wireless.md section 3."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from netsim.channels.fading.rayleigh import Rayleigh
from netsim.channels.rate.fixed import FixedRate
from netsim.channels.rate.shannon_gap import ShannonGap

CAPACITY = ShannonGap(gap_db=0, min_rate_bps=1e-9)


def test_fixed_rate_ignores_the_channel():
    assert FixedRate(rate_bps=1e6).bits_per_s(0.0, 20e6) == 1e6


def test_capacity_at_15_is_four_bits_a_hertz():
    assert CAPACITY.bits_per_s(15.0, 20e6) == pytest.approx(80e6)


def test_gap_is_a_loss_of_snr():
    with_gap = ShannonGap(gap_db=10, min_rate_bps=1)
    assert with_gap.bits_per_s(150.0, 1e6) == pytest.approx(CAPACITY.bits_per_s(15.0, 1e6))


def test_default_gap_is_that_of_uncoded_qam_at_5e_5():
    gap = -math.log(5 * 5e-5) / 1.5
    assert ShannonGap(min_rate_bps=1).gap_db == pytest.approx(10 * math.log10(gap), abs=0.05)


def test_link_below_the_smallest_rate_is_not_used():
    rate = ShannonGap(gap_db=0, min_rate_bps=1e6)
    assert rate.bits_per_s(1.0, 1e6) == 1e6
    assert rate.bits_per_s(0.999, 1e6) == 0.0
    assert rate.bits_per_s(0.0, 1e6) == 0.0


def test_mean_rate_over_rayleigh_is_the_ergodic_capacity():
    """10 dB: 2.906515 b/s/Hz. Midpoint rule, 1e5 points: the error is of order ln(n)/n."""
    n = 100_000
    gains = Rayleigh().power_gain((np.arange(n) + 0.5) / n)
    mean = np.mean([CAPACITY.bits_per_s(10.0 * g, 1.0) for g in gains.tolist()])
    assert mean == pytest.approx(2.906515, abs=1e-5)


def test_rate_at_the_worst_decile_is_the_ten_percent_outage_rate():
    """10 dB: 1.038159 b/s/Hz."""
    rate = CAPACITY.bits_per_s(10.0 * Rayleigh().power_gain(0.1), 1.0)
    assert rate == pytest.approx(1.038159, abs=1e-6)


def test_shannon_rate_demands_a_cut():
    with pytest.raises(ValidationError, match="min_rate_bps"):
        ShannonGap()
    with pytest.raises(ValidationError, match="min_rate_bps"):
        ShannonGap(min_rate_bps=0)
