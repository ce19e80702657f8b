"""Fading: the distribution of the power gain against closed forms."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from netsim.channels.fading import Fading
from netsim.channels.fading.nakagami import Nakagami
from netsim.channels.fading.none import NoFading
from netsim.channels.fading.rayleigh import Rayleigh
from netsim.channels.fading.rician import Rician
from netsim.registry import family
from netsim.rng import Streams
from netsim.units import db_to_linear

FADED = [Rayleigh(), Rician(), Rician(k_factor_db=-3), Nakagami(), Nakagami(shape=0.5)]
ALL = [NoFading(), *FADED]
N = 200_000
GRID = (np.arange(N) + 0.5) / N  # midpoints: a quadrature rule for the mean over u


def outage(fading: Fading, threshold_over_mean: float) -> float:
    """Share of the grid below a threshold: right to 1/N for a monotone gain."""
    return float((fading.power_gain(GRID) < threshold_over_mean).mean())


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("fading", "share"),
    [(Rayleigh(), 0.271107), (Rician(k_factor_db=6), 0.100786), (Nakagami(shape=2), 0.132700)],
    ids=lambda x: getattr(x, "kind", ""),
)
def test_outage_has_the_reference_value(fading, share):
    """wireless.md section 3: threshold 5 dB, mean SNR 10 dB."""
    assert outage(fading, db_to_linear(5.0 - 10.0)) == pytest.approx(share, abs=1.0 / N + 5e-7)


@pytest.mark.parametrize("threshold_db", [-10.0, -3.0, 0.0, 4.0])
def test_rayleigh_outage_is_one_minus_exp(threshold_db):
    ratio = db_to_linear(threshold_db)
    assert outage(Rayleigh(), ratio) == pytest.approx(1.0 - math.exp(-ratio), abs=1.0 / N)


def test_rician_without_a_dominant_path_and_nakagami_1_are_rayleigh():
    """An amplitude taken for a power, as some simulators shipped, fails this identity."""
    u = GRID[::100]
    want = Rayleigh().power_gain(u)
    assert (want < 0.1).mean() == pytest.approx(0.0951626, abs=100.0 / N)
    assert Rician(k_factor_db=-200).power_gain(u) == pytest.approx(want, rel=1e-6)
    assert Nakagami(shape=1).power_gain(u) == pytest.approx(want, rel=1e-9)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("fading", ALL, ids=lambda f: f"{f.kind}")
def test_mean_gain_is_one(fading):
    """The midpoint rule misses about ln(N)/N of the tail's mean; ten times that is allowed."""
    assert fading.power_gain(GRID).mean() == pytest.approx(1.0, abs=10 * math.log(N) / N)


@pytest.mark.parametrize("fading", FADED, ids=lambda f: f"{f.kind}")
def test_gain_increases_and_stays_finite_from_0_to_the_largest_uniform(fading):
    u = np.array([0.0, 2.0**-53, 1e-9, 1e-3, 0.5, 1 - 1e-9, 1.0 - 2.0**-53])
    gain = fading.power_gain(u)
    assert np.isfinite(gain).all()
    assert (gain >= 0).all()
    assert (np.diff(gain) >= 0).all()
    assert gain[-1] > gain[-3] > gain[0]


@pytest.mark.parametrize("fading", ALL, ids=lambda f: f"{f.kind}")
def test_number_and_array_give_the_same_gain(fading):
    u = np.linspace(0, 0.999, 30).reshape(5, 6)
    gain = fading.power_gain(u)
    assert gain.shape == u.shape
    assert gain.ravel() == pytest.approx([fading.power_gain(float(x)) for x in u.flat], rel=1e-14)
    assert isinstance(fading.power_gain(0.5), float)


def test_gain_by_stream_is_reciprocal_and_independent_of_the_order_of_questions():
    streams, fading = Streams(1), Rayleigh()

    def gain(i: int, j: int, block: int) -> float:
        return fading.power_gain(streams.uniform("fading", min(i, j), max(i, j), block))

    asked = [gain(3, 7, block) for block in range(5)]
    assert [gain(7, 3, block) for block in reversed(range(5))] == asked[::-1]
    assert len(set(asked)) == 5


def test_every_fading_model_can_be_held_for_an_exchange():
    for model in family("netsim.channels.fading").values():
        if "path" in model.model_fields:  # a trace has a time of its own
            continue
        fading = model(hold="exchange", coherence_s=0.02)
        assert (fading.hold, fading.coherence_s) == ("exchange", 0.02)


def test_senseless_fields_are_refused():
    for build in (
        lambda: Rayleigh(hold="message"),
        lambda: Rayleigh(coherence_s=0),
        lambda: Nakagami(shape=0.4),
        lambda: Rician(k_factor_db=math.inf),
        lambda: Rician(k_factor_db=61.0),  # its quantile takes seconds, and is no number at 150
    ):
        with pytest.raises(ValidationError):
            build()
