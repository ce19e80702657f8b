"""Speed of a channel's changes, and the remarks about it."""

import math

import pytest
from pydantic import ValidationError

from netsim.channels.fading.nakagami import Nakagami
from netsim.channels.fading.none import NoFading
from netsim.channels.fading.rayleigh import Rayleigh
from netsim.channels.fading.rician import Rician
from netsim.links.radio.table import Radio
from netsim.units import SPEED_OF_LIGHT_M_PER_S


def test_speed_is_a_doppler_shift():
    """1.5 m/s at 2.4 GHz: 12 Hz."""
    doppler_hz = 1.5 * 2.4e9 / SPEED_OF_LIGHT_M_PER_S
    assert doppler_hz == pytest.approx(12.0, abs=0.01)
    assert Rayleigh(speed_m_per_s=1.5).doppler(2.4e9) == doppler_hz
    assert Nakagami(doppler_hz=7.0).doppler(2.4e9) == 7.0
    assert Rayleigh().doppler(2.4e9) is None


def test_a_block_lasts_0_423_periods_of_the_doppler_shift():
    assert Rayleigh(doppler_hz=10.0).constant_s(1e9) == pytest.approx(0.0423)
    assert Rayleigh().constant_s(1e9) == 0.1
    assert Rayleigh(coherence_s=0.3).constant_s(1e9) == 0.3
    exact = Rayleigh(doppler_hz=10.0, process="sum_of_sinusoids")
    assert exact.constant_s(1e9) <= 0.1 / 10.0


@pytest.mark.parametrize(
    ("model", "keys", "text"),
    [
        (Rayleigh, {"coherence_s": 1.0, "doppler_hz": 1.0}, "coherence_s and doppler_hz"),
        (Rayleigh, {"doppler_hz": 1.0, "speed_m_per_s": 1.0}, "leave all but one out"),
        (Rayleigh, {"doppler_hz": 1.0, "hold": "exchange"}, 'hold = "coherence"'),
        (Rayleigh, {"process": "sum_of_sinusoids"}, "needs doppler_hz or speed_m_per_s"),
        (Rician, {"process": "sum_of_sinusoids", "coherence_s": 0.1}, "needs doppler_hz"),
        (Nakagami, {"process": "sum_of_sinusoids", "doppler_hz": 1.0}, '"rayleigh" and "rician"'),
        (NoFading, {"process": "sum_of_sinusoids", "doppler_hz": 1.0}, '"rayleigh" and "rician"'),
        (Rayleigh, {"process": "sum_of_sinusoids", "doppler_hz": 1.0, "tones": 16}, "64"),
        (Rayleigh, {"doppler_hz": math.inf}, "finite"),
    ],
)
def test_contradictions_are_refused(model, keys, text):
    with pytest.raises(ValidationError, match=text):
        model(**keys)


@pytest.mark.parametrize(
    ("tables", "text"),
    [
        ({"shadowing": {"kind": "log_normal"}}, "needs sigma_db"),
        (
            {
                "rate": {"kind": "ofdm_80211", "csi_delay_s": 0.1},
                "fading": {"kind": "rayleigh", "hold": "exchange"},
            },
            "csi_delay_s",
        ),
    ],
)
def test_tables_of_a_radio_have_to_agree(tables, text):
    with pytest.raises(ValidationError, match=text):
        Radio(**tables)


def test_a_standard_brings_its_own_shadowing():
    assert Radio(path_loss={"kind": "umi"}, shadowing={"kind": "log_normal"}).shadowing.drawn
