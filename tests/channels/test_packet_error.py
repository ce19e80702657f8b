"""Packet errors against closed forms."""

import math

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import integrate

from netsim.channels.fading.rayleigh import Rayleigh
from netsim.channels.packet_error.exponential_snr import ExponentialPacketError
from netsim.channels.packet_error.fixed import FixedPacketError
from netsim.channels.packet_error.outage import OutagePacketError
from netsim.channels.packet_error.uncoded_bpsk import BpskPacketError
from netsim.registry import family

GRID = ((np.arange(100_000) + 0.5) / 100_000).tolist()  # midpoints in u


def mean_over_rayleigh(rule, mean_snr: float, packet_bits: int, threshold: float = 1.0) -> float:
    gain = Rayleigh().power_gain
    return float(
        np.mean([rule.probability(mean_snr * gain(u), packet_bits, threshold) for u in GRID])
    )


def test_outage_decodes_exactly_from_the_threshold_on():
    rule = OutagePacketError()
    assert rule.probability(math.nextafter(2.0, 0.0), 12_000, 2.0) == 1.0
    assert rule.probability(2.0, 12_000, 2.0) == 0.0


@pytest.mark.parametrize(("threshold", "mean_snr"), [(10**0.5, 10.0), (1.0, 10.0), (3.0, 1.0)])
def test_outage_over_rayleigh_is_one_minus_exp(threshold, mean_snr):
    got = mean_over_rayleigh(OutagePacketError(), mean_snr, 1, threshold)
    assert got == pytest.approx(1.0 - math.exp(-threshold / mean_snr), abs=1e-5)  # one grid point


def test_fixed_loss_ignores_the_channel():
    rule = FixedPacketError(loss=0.25)
    assert rule.probability(0.0, 1, 5.0) == rule.probability(1e9, 99, 0.1) == 0.25


def test_exponential_curve():
    rule = ExponentialPacketError()
    assert rule.probability(0.023, 1, 1.0) == pytest.approx(1.0 - math.exp(-1.0))
    assert rule.probability(23.0, 1, 1.0) == pytest.approx(1e-3, rel=1e-3)
    assert rule.probability(0.0, 1, 1.0) == 1.0


def test_bit_errors_of_bpsk_over_rayleigh_have_the_reference_value():
    """wireless.md section 3, 10 dB: (1 - sqrt(g/(1+g)))/2 = .0232687."""
    assert mean_over_rayleigh(BpskPacketError(), 10.0, 1) == pytest.approx(0.0232687, abs=1e-6)


def test_packet_survives_when_every_bit_does():
    rule = BpskPacketError()
    bit_error = rule.probability(4.0, 1, 1.0)
    assert bit_error == pytest.approx(0.5 * math.erfc(2.0))
    assert rule.probability(4.0, 500, 1.0) == pytest.approx(1.0 - (1.0 - bit_error) ** 500)
    assert rule.probability(0.0, 12_000, 1.0) == 1.0
    # 1 - (1 - x)^L would round to zero here
    assert rule.probability(36.0, 12_000, 1.0) == pytest.approx(12_000 * 0.5 * math.erfc(6.0))


@pytest.mark.parametrize(("mean_snr_db", "error"), [(5.0, 0.007), (20.0, 0.001)])
def test_packet_error_over_rayleigh_is_close_to_its_waterfall_form(mean_snr_db, error):
    """Xi et al. 2011: E[PER] is about 1 - exp(-w0/mean), w0 = int PER d(snr); 1500 bytes."""
    rule, mean_snr = BpskPacketError(), 10 ** (mean_snr_db / 10)
    w0, _ = integrate.quad(lambda g: rule.probability(g, 12_000, 1.0), 0.0, 40.0, limit=200)
    got = mean_over_rayleigh(rule, mean_snr, 12_000)
    assert got == pytest.approx(1.0 - math.exp(-w0 / mean_snr), rel=1.2 * error)


@pytest.mark.parametrize("name", sorted({*family("netsim.channels.packet_error")} - {"table"}))
def test_every_rule_gives_a_probability_that_falls_with_snr(name):
    model = family("netsim.channels.packet_error")[name]
    rule = model(**({"loss": 0.1} if "loss" in model.model_fields else {}))
    curve = [rule.probability(snr, 12_000, 1.0) for snr in (0.0, 1e-6, 0.1, 1.0, 10.0, 1e9)]
    assert all(0.0 <= p <= 1.0 for p in curve)
    assert curve == sorted(curve, reverse=True)


def test_loss_is_a_probability():
    for loss in (-0.1, 1.1, math.nan):
        with pytest.raises(ValidationError):
            FixedPacketError(loss=loss)
