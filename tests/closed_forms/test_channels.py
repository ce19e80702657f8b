"""The rows of the literature's formulas that concern a single link, each simulated."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from netsim.channels.fading.nakagami import Nakagami
from netsim.channels.fading.rayleigh import Rayleigh
from netsim.channels.fading.rician import Rician
from netsim.channels.packet_error.uncoded_bpsk import BpskPacketError
from netsim.channels.path_loss.free_space import FreeSpace
from netsim.channels.path_loss.inh import IndoorOffice
from netsim.channels.path_loss.umi import UrbanMicro
from netsim.channels.rate.shannon_gap import ShannonGap
from netsim.channels.shadowing.log_normal import LogNormal
from netsim.links.radio.phy.channel import RadioChannel
from netsim.rng import Streams
from netsim.units import db_to_linear
from netsim.world import coverage

_spec = importlib.util.spec_from_file_location(
    "channel_checks", Path(__file__).with_name("channel_checks.py")
)
checks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(checks)

pytestmark = pytest.mark.closed_forms
CAPACITY = ShannonGap(gap_db=0, min_rate_bps=1e-9)
CLARKE = {"doppler_hz": checks.DOPPLER_HZ, "process": "sum_of_sinusoids"}
SHADOWING = LogNormal(sigma_db=8.0, decorrelation_m=20.0)


def test_free_space():
    checks.check_free_space(FreeSpace())


def test_noise():
    checks.check_noise(checks.radio_of())


@pytest.mark.parametrize(
    ("model", "carrier_hz", "distance_m", "los_db", "nlos_db"),
    [
        (UrbanMicro(), 3.5e9, 100.0, 85.2814, 104.5886),
        (IndoorOffice(), 5e9, 20.0, 68.8872, 84.5338),
    ],
    ids=lambda x: getattr(x, "kind", ""),
)
def test_tr_38901(model, carrier_hz, distance_m, los_db, nlos_db):
    """The reference values are for the distance between antennas."""
    ground_m = math.sqrt(distance_m**2 - (model.base_height_m - model.device_height_m) ** 2)
    assert model.loss_db(ground_m, carrier_hz, 0.0) == pytest.approx(los_db, abs=5e-5)
    assert model.loss_db(ground_m, carrier_hz, 1.0) == pytest.approx(nlos_db, abs=5e-5)


@pytest.mark.parametrize(
    ("kind", "distance_m", "share"),
    [
        ("umi", 60.0, 18 / 60 + math.exp(-60 / 36) * (1 - 18 / 60)),
        ("umi", 18.0, 1.0),
        ("inh", 4.0, math.exp(-2.8 / 4.7)),
        ("inh", 30.0, 0.32 * math.exp(-23.5 / 32.6)),
    ],
)
def test_share_of_pairs_with_line_of_sight(kind, distance_m, share):
    angle = 2 * np.pi * np.arange(4000) / 4000
    at = np.concatenate([[0.0], distance_m * np.exp(1j * angle)])
    at = np.stack([at.real, at.imag], axis=1)
    radio = checks.radio_of(path_loss={"kind": kind}, fading=checks.STILL)
    sure = checks.radio_of(path_loss={"kind": kind, "sight": "always"}, fading=checks.STILL)
    others = range(1, len(at))
    found = checks.placed(radio, at)._mean_snr.snr(0, others, 0)
    best = checks.placed(sure, at)._mean_snr.snr(0, others, 0)
    checks.is_share(found > 0.999 * best, min(share, 1 - 1e-12), "pairs in sight")


def test_area_coverage_of_jakes():
    checks.check_jakes_coverage(SHADOWING)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("fading", "want"),
    [(Rayleigh(), 0.271107), (Rician(k_factor_db=6), 0.100786), (Nakagami(shape=2), 0.132700)],
    ids=["rayleigh", "rician", "nakagami"],
)
def test_outage(fading, want):
    checks.check_outage(fading, want)
    checks.check_mean_gain(fading)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fading", [Rayleigh(), Rician(k_factor_db=-200), Nakagami(shape=1)], ids=lambda f: f.kind
)
def test_models_that_are_rayleigh_have_its_deep_fades(fading):
    checks.check_deep_fades(fading)
    assert checks.gains(fading) == pytest.approx(checks.gains(Rayleigh()), rel=1e-6)


def test_ergodic_capacity():
    checks.check_ergodic_capacity(Rayleigh(), CAPACITY)


def test_ten_percent_outage_rate():
    checks.check_outage_rate(Rayleigh(), CAPACITY)


def test_bit_errors_of_bpsk_over_rayleigh():
    checks.check_bpsk_over_rayleigh(Rayleigh(), BpskPacketError())


@pytest.mark.parametrize(("mean_snr_db", "slack"), [(5.0, 0.0084), (20.0, 0.0012)])
def test_mean_packet_loss_over_rayleigh(mean_snr_db, slack):
    checks.check_waterfall(Rayleigh(), BpskPacketError(), 12_000, mean_snr_db, slack)


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "fading", [Rayleigh(**CLARKE), Rician(k_factor_db=-200, **CLARKE)], ids=lambda f: f.kind
)
def test_correlation_of_clarke(fading):
    checks.check_clarke(fading)


@pytest.mark.slow
def test_messages_meet_the_correlation_of_clarke():
    checks.check_clarke_of_power(RadioChannel, Rayleigh(**CLARKE))


@pytest.mark.slow
def test_level_crossings_and_mean_fade():
    checks.check_level_crossings(Rayleigh(**CLARKE))


@pytest.mark.slow
def test_outage_of_a_sum_of_sinusoids():
    """64 tones: the gain's distribution differs from its limit by under 1/(4 * 64)."""
    for fading, want in [
        (Rayleigh(**CLARKE), 0.271107),
        (Rician(k_factor_db=6, **CLARKE), 0.100786),
    ]:
        u = Streams(2).uniform_table(
            "tones", np.arange(20_000), counters=np.arange(fading.tone_draws)
        )
        outage = float((fading.gain_at(u, 12.0, np.array([7.0])) < 10**-0.5).mean())
        checks.near(outage, want, 4 * math.sqrt(want * (1 - want) / 20_000) + 1 / 256, "outage")


@pytest.mark.parametrize(
    "fading",
    [
        Rayleigh(coherence_s=0.05),
        Rician(speed_m_per_s=1.5),
        Nakagami(doppler_hz=3.0),
        Rayleigh(**CLARKE),
        Rician(**CLARKE),
    ],
    ids=["coherence", "speed", "doppler", "clarke", "clarke with a dominant path"],
)
def test_fading_is_a_function_of_pair_and_time(fading):
    checks.check_order_free(RadioChannel, fading)


def test_blocks_are_independent():
    checks.check_blocks_are_independent(RadioChannel, Rayleigh(doppler_hz=12.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("process", "periods", "want"),
    [("blocks", 3.0, 0.171), ("sum_of_sinusoids", 3.0, 0.164), ("blocks", 30.0, 0.054)],
)
def test_spread_of_message_times(process, periods, want):
    fading = Rayleigh(doppler_hz=checks.DOPPLER_HZ, process=process)
    checks.check_spread_of_message_times(RadioChannel, fading, periods, want, 800)


def test_shadowing():
    checks.check_shadowing_size(SHADOWING, 8.0)
    checks.check_shadowing_of_pairs_is_independent(SHADOWING)
    checks.check_shadowing_is_a_function_of_place(SHADOWING)


@pytest.mark.slow
def test_shadowing_along_motion():
    checks.check_shadowing_along_motion(SHADOWING, 20.0)


def test_rates_chosen_on_old_news():
    checks.check_old_news(RadioChannel)


@pytest.mark.parametrize("exponent", [2.0, 3.0, 4.0])
def test_range_of_rayleigh_fading(exponent):
    """A peer is in reach once in a million times where the mean SNR is threshold / ln 1e6."""
    radio = checks.radio_of(path_loss={"kind": "log_distance", "exponent": exponent})
    far_m = coverage.range_m(radio, radio.tx_power_dbm, db_to_linear(radio.threshold_db))
    short_db = radio.threshold_db - checks.snr_db(
        checks.radio_of(path_loss=radio.path_loss.model_dump(), fading=checks.STILL), far_m
    )
    assert short_db == pytest.approx(10 * math.log10(math.log(1e6)), abs=0.2)
    assert short_db > 10 * math.log10(math.log(1e6))  # on the safe side
