"""Broken models, each of which some simulator has shipped or could: a named check finds each.

A check that passes whatever the model proves nothing.
"""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from netsim.channels.fading.nakagami import Nakagami
from netsim.channels.fading.rayleigh import Rayleigh
from netsim.channels.fading.rician import Rician
from netsim.channels.packet_error.uncoded_bpsk import BpskPacketError
from netsim.channels.path_loss.free_space import FreeSpace
from netsim.channels.rate.shannon_gap import ShannonGap
from netsim.channels.shadowing.log_normal import LogNormal
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio

_spec = importlib.util.spec_from_file_location(
    "channel_checks", Path(__file__).with_name("channel_checks.py")
)
checks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(checks)

pytestmark = pytest.mark.closed_forms
CLARKE = {"doppler_hz": checks.DOPPLER_HZ, "process": "sum_of_sinusoids"}


class AmplitudeAsPower(Rayleigh):
    """INET's RayleighFading since v4.5.3."""

    def power_gain(self, u):
        return np.sqrt(np.pi) / 2 * np.sqrt(2 * super().power_gain(u))


class AmplitudeOfMeanOne(Rayleigh):
    def power_gain(self, u):
        return np.sqrt(super().power_gain(u)) / math.gamma(1.5)


class GainOfTwo(Rayleigh):
    """Two unit variances, real and imaginary, and no half."""

    def power_gain(self, u):
        return 2.0 * super().power_gain(u)


class KInDbAsARatio(Rician):
    @property
    def dominant(self):
        return self.k_factor_db


class ScatterInDb(Nakagami):
    """Gamma(m, 1) instead of Gamma(m, 1/m)."""

    def power_gain(self, u):
        return special.gammaincinv(self.shape, u)


class Truncated(FreeSpace):
    """mininet-wifi's path loss: whole dB."""

    def loss_db(self, distance_m, carrier_hz, u=0.0):
        return np.floor(super().loss_db(distance_m, carrier_hz, u))


class LossOfAmplitude(FreeSpace):
    """10 log10 where the loss of power takes 20."""

    def loss_db(self, distance_m, carrier_hz, u=0.0):
        return super().loss_db(distance_m, carrier_hz, u) / 2


class WithoutNoiseFigure(Radio):
    @property
    def noise_dbm(self):
        return super().noise_dbm - self.noise_figure_db


class VarianceAsDeviation(LogNormal):
    """mininet-wifi's `variance`, handed on as a standard deviation."""

    def still(self, u):
        return self.sigma_db * super().still(u)

    def in_motion(self, u, ends_m, decorrelation_m):
        return self.sigma_db * super().in_motion(u, ends_m, decorrelation_m)


class OneForAll(LogNormal):
    """mininet-wifi's global draw."""

    def still(self, u):
        return np.full(np.shape(u), special.ndtri(0.8))

    def in_motion(self, u, ends_m, decorrelation_m):
        return np.full(len(u), special.ndtri(0.8))


class NewAtEveryStep(LogNormal):
    """A draw for each place, however near the last one."""

    def in_motion(self, u, ends_m, decorrelation_m):
        return super().in_motion(u, 1e6 * ends_m, decorrelation_m)


class ByDistanceAlone(LogNormal):
    """Correlated along the distance between the ends, so constant on a circle."""

    def in_motion(self, u, ends_m, decorrelation_m):
        apart = np.hypot(*(ends_m[:, 2:] - ends_m[:, :2]).T)
        line = np.stack([apart, 0 * apart, 0 * apart, 0 * apart], axis=1)
        return super().in_motion(u, line, decorrelation_m)


class StaysTooLong(LogNormal):
    """exp(-D / (2 d)): the decorrelation distance of the amplitude."""

    def in_motion(self, u, ends_m, decorrelation_m):
        return super().in_motion(u, ends_m, 2 * decorrelation_m)


class HasAState(LogNormal):
    """X' = r X + sqrt(1 - r^2) Z with what was asked last, whoever asked."""

    def in_motion(self, u, ends_m, decorrelation_m):
        x = super().in_motion(u, ends_m, decorrelation_m)
        last = STATE.get("x", 0.0)
        STATE["x"] = float(x[-1])
        return 0.9 * last + math.sqrt(1 - 0.81) * x


STATE: dict[str, float] = {}


class Ar1(RadioChannel):
    """A gain that moves on by J0 at every question: the channel depends on who looks."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._gain = self.gain

    def gain(self, src, dst, time_ns):
        low, high = min(src, dst), max(src, dst)
        states = self.__dict__.setdefault("states", {})
        count, h = states.get((low, high), (0, None))
        z = self._streams.generator("ar1", low, high, count).normal(size=2) @ [1, 1j] / 2**0.5
        r = special.j0(2 * math.pi * 0.05)
        h = z if h is None else r * h + math.sqrt(1 - r * r) * z
        states[low, high] = count + 1, h
        return abs(h) ** 2


class OneFade(RadioChannel):
    """One draw a message."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        right = self._gain
        self._gain = lambda src, dst, time_ns: right(src, dst, 0)


class OneWay(RadioChannel):
    def gain(self, src, dst, time_ns):
        return self._fading._gain(src, dst, *self._fading._key(src, dst, time_ns))


class Shared(RadioChannel):
    """One fading process for all links."""

    def gain(self, src, dst, time_ns):
        return super().gain(0, 1, time_ns)


class Clairvoyant(RadioChannel):
    def measured_snr(self, src, dst, time_ns):
        return self.snr(src, dst, time_ns)


class DecodedOnOldNews(RadioChannel):
    def packet_error(self, snr, packet_bits, rate_bps=None):
        return 0.0


class TooFast(Rayleigh):
    """fD taken for the width of the spectrum, which is twice as wide."""

    def amplitude_at(self, u, doppler_hz, times_s):
        return super().amplitude_at(u, 2 * doppler_hz, times_s)


class FlatSpectrum(Rayleigh):
    """Angles whose cosines are uniform."""

    def amplitude_at(self, u, doppler_hz, times_s):
        turns = 2 * np.pi * u - np.pi
        shift = turns[:, : self.tones] / np.pi
        phase = 2 * np.pi * doppler_hz * times_s[:, None] * shift[:, None, :]
        phase = phase + turns[:, None, self.tones : 2 * self.tones]
        return np.exp(1j * phase).sum(axis=-1) / math.sqrt(self.tones)


class GapForgotten(ShannonGap):
    def bits_per_s(self, snr, bandwidth_hz):
        return bandwidth_hz * math.log(1 + snr)  # nats


class SuccessAsLossError(BpskPacketError):
    def probability(self, snr, packet_bits, threshold):
        return 1 - super().probability(snr, packet_bits, threshold)


class OneBitError(BpskPacketError):
    """A packet as safe as a bit."""

    def probability(self, snr, packet_bits, threshold):
        return super().probability(snr, 1, threshold)


class HalfTheEnergyError(BpskPacketError):
    def probability(self, snr, packet_bits, threshold):
        return super().probability(snr / 2, packet_bits, threshold)


SHADOWED = {"sigma_db": 8.0, "decorrelation_m": 20.0}
CAPACITY = {"gap_db": 0, "min_rate_bps": 1e-9}
BROKEN = [
    (checks.check_deep_fades, AmplitudeAsPower()),
    (checks.check_outage, AmplitudeAsPower(), 0.271107),
    (checks.check_outage, AmplitudeOfMeanOne(), 0.271107),
    (checks.check_mean_gain, AmplitudeAsPower()),
    (checks.check_mean_gain, GainOfTwo()),
    (checks.check_outage, KInDbAsARatio(k_factor_db=6), 0.100786),
    (checks.check_outage, ScatterInDb(shape=2), 0.132700),
    (checks.check_free_space, Truncated()),
    (checks.check_free_space, LossOfAmplitude()),
    (checks.check_noise, WithoutNoiseFigure()),
    (checks.check_shadowing_size, VarianceAsDeviation(**SHADOWED), 8.0),
    (checks.check_jakes_coverage, VarianceAsDeviation(**SHADOWED)),
    (checks.check_jakes_coverage, OneForAll(**SHADOWED)),
    (checks.check_shadowing_of_pairs_is_independent, OneForAll(**SHADOWED)),
    (checks.check_shadowing_along_motion, NewAtEveryStep(**SHADOWED), 20.0),
    (checks.check_shadowing_along_motion, ByDistanceAlone(**SHADOWED), 20.0),
    (checks.check_shadowing_along_motion, StaysTooLong(**SHADOWED), 20.0),
    (checks.check_shadowing_is_a_function_of_place, HasAState(**SHADOWED)),
    (checks.check_order_free, Ar1, Rayleigh(**CLARKE)),
    (checks.check_order_free, OneWay, Rayleigh()),
    (checks.check_order_free, Shared, Rayleigh()),
    (checks.check_blocks_are_independent, Ar1, Rayleigh()),
    (checks.check_clarke_of_power, Ar1, Rayleigh(**CLARKE)),
    (checks.check_spread_of_message_times, Ar1, Rayleigh(**CLARKE), 3.0, 0.175, 300),
    (checks.check_spread_of_message_times, OneFade, Rayleigh(**CLARKE), 3.0, 0.175, 300),
    (checks.check_clarke, TooFast(**CLARKE)),
    (checks.check_clarke, FlatSpectrum(**CLARKE)),
    (checks.check_level_crossings, TooFast(**CLARKE)),
    (checks.check_level_crossings, FlatSpectrum(**CLARKE)),
    (checks.check_ergodic_capacity, Rayleigh(), GapForgotten(**CAPACITY)),
    (checks.check_ergodic_capacity, AmplitudeOfMeanOne(), ShannonGap(**CAPACITY)),
    (checks.check_outage_rate, Rayleigh(), GapForgotten(**CAPACITY)),
    (checks.check_bpsk_over_rayleigh, Rayleigh(), HalfTheEnergyError()),
    (checks.check_bpsk_over_rayleigh, Rayleigh(), SuccessAsLossError()),
    (checks.check_old_news, Clairvoyant),
    (checks.check_old_news, DecodedOnOldNews),
]


def name_of(case):
    check, *models = case
    words = [m if isinstance(m, type) else type(m) for m in models]
    return "-".join([check.__name__, *(w.__name__ for w in words if w not in (float, int))])


@pytest.mark.slow
@pytest.mark.parametrize("case", BROKEN, ids=name_of)
def test_a_broken_model_fails(case):
    check, *models = case
    with pytest.raises(AssertionError):
        check(*models)


def test_a_packet_as_safe_as_a_bit_fails():
    """Its own area under the curve does not give it away: the reference is the sound one's."""
    want = -math.expm1(-area(BpskPacketError()) / 10.0)
    found = [OneBitError().probability(s, 12_000, 1.0) for s in checks.gains(Rayleigh())]
    assert abs(np.mean(found) - want) > 0.1


def area(rule):
    snr = np.linspace(0.0, 60.0, 6001)
    return np.trapezoid([rule.probability(s, 12_000, 1.0) for s in snr], snr)
