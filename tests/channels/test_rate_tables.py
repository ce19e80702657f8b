"""Tables of rates, and packet errors that go by the rate in use."""

import math

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import integrate

from netsim.channels.packet_error.logistic import LogisticPacketError
from netsim.channels.packet_error.ofdm_80211 import Ofdm80211PacketError
from netsim.channels.packet_error.oqpsk_802154 import Oqpsk802154PacketError
from netsim.channels.packet_error.rate_outage import RateOutagePacketError
from netsim.channels.packet_error.uncoded_qam16 import Qam16PacketError
from netsim.channels.rate.fixed import FixedRate
from netsim.channels.rate.lte_cqi import LteCqi
from netsim.channels.rate.ofdm_80211 import Ofdm80211
from netsim.channels.rate.shannon_gap import ShannonGap
from netsim.links.radio.table import Radio
from netsim.registry import family
from netsim.units import db_to_linear

TABLES = [Ofdm80211(), LteCqi()]
CONVOLUTIONAL = {
    1: [36, 0, 211, 0, 1404, 0, 11633, 0, 77433, 0, 502690],
    2: [3, 70, 285, 1276, 6160, 27128, 117019, 498860, 2103891, 8784123],
    3: [42, 201, 1492, 10469, 62935, 379644, 2253373, 13073811, 75152755, 428005675],
}
"""Weights c_d of the K = 7 code of rate b/(b+1) from its free distance (10, 6, 5) on."""
MODULATIONS = {  # Mb/s: (share of wrong bits, erfc's divisor, b, free distance)
    6: (0.5, 1, 1, 10),
    9: (0.5, 1, 3, 5),
    12: (0.5, 2, 1, 10),
    18: (0.5, 2, 3, 5),
    24: (0.375, 10, 1, 10),
    36: (0.375, 10, 3, 5),
    48: (7 / 24, 42, 2, 6),
    54: (7 / 24, 42, 3, 5),
}


def union_bound(mbps: int, snr: float) -> float:
    """Loss of a 1500-byte packet: an implementation of its own."""
    share, divisor, b, free = MODULATIONS[mbps]
    p = share * math.erfc(math.sqrt(snr / divisor))
    d = math.sqrt(4 * p * (1 - p))
    bits = sum(c * d ** (free + k) for k, c in enumerate(CONVOLUTIONAL[b])) / (2 * b)
    return 1 - (1 - min(1.0, bits)) ** 12_000


@pytest.mark.parametrize("mbps", MODULATIONS)
def test_packets_of_802_11_are_lost_by_the_union_bound_of_the_rate_in_use(mbps):
    needed = Ofdm80211().needed_snr(mbps * 1e6, 20e6)
    by_rate, fixed = Ofdm80211PacketError(), Ofdm80211PacketError(mbps=mbps)
    for over_db in (-3.0, -1.2, -0.5, 0.0, 0.5, 2.0):
        snr = needed * db_to_linear(over_db)
        want = pytest.approx(union_bound(mbps, snr), rel=1e-2, abs=1e-12)
        assert by_rate.probability(snr, 12_000, needed) == want
        assert fixed.probability(snr, 12_000, 1.0) == want


NS3_44 = [  # Mb/s, m, share of 2,000 frames of 1,500 bytes that arrive, without fading
    (6, 120, 0.9950), (6, 125, 0.9725), (6, 130, 0.8580), (6, 140, 0.0145),
    (24, 60, 0.9775), (24, 64, 0.6735), (24, 66, 0.2630), (24, 68, 0.0080),
    (54, 30, 0.9605), (54, 31, 0.8700), (54, 32, 0.6220), (54, 34, 0.0105),
]  # fmt: skip


@pytest.mark.parametrize(("mbps", "distance_m", "share"), NS3_44)
def test_ns_3_delivers_as_many_frames(mbps, distance_m, share):
    """20 dBm, 46.6777 dB + 30 log10 d, noise figure 7 dB; ns-3 3.44, Nist error model, no sensing.

    Within three standard errors of its shares; the logistic curve, one slope for all rates, within
    0.035 of them.
    """
    noise_dbm = 10 * math.log10(1.380649e-23 * 290 * 20e6 * 1e3) + 7
    snr = db_to_linear(20 - 46.6777 - 30 * math.log10(distance_m) - noise_dbm)
    needed = Ofdm80211().needed_snr(mbps * 1e6, 20e6)
    exact = 1 - Ofdm80211PacketError().probability(snr, 12_000, needed)
    assert abs(exact - share) < 3 * math.sqrt(exact * (1 - exact) / 2_000)
    fitted = 1 - LogisticPacketError().probability(snr, 12_000, needed)
    assert abs(fitted - share) < 0.035


def test_a_rate_that_does_not_say_its_modulation_is_refused():
    fixed = {"kind": "fixed", "rate_bps": 6e6}
    with pytest.raises(ValidationError, match="needs mbps"):
        Radio(packet_error={"kind": "ofdm_80211"}, rate=fixed)
    Radio(packet_error={"kind": "ofdm_80211", "mbps": 6}, rate=fixed)
    Radio(packet_error={"kind": "ofdm_80211"}, rate={"kind": "ofdm_80211"})


@pytest.mark.parametrize("mbps", MODULATIONS)
def test_a_rate_of_802_11_is_chosen_where_a_tenth_of_its_packets_is_lost(mbps):
    snr = Ofdm80211().needed_snr(mbps * 1e6, 20e6)
    assert union_bound(mbps, snr) == pytest.approx(0.1, rel=0.05)  # the table has 0.01 dB
    curve = LogisticPacketError()
    assert curve.probability(snr, 12_000, snr) == pytest.approx(0.1)
    for over_db, apart_db in ((-0.8, 0.11), (-0.4, 0.11), (0.5, 0.11), (1.0, 0.21)):
        want = union_bound(mbps, snr * db_to_linear(over_db))
        got = curve.probability(snr * db_to_linear(over_db), 12_000, snr)
        # a tenth of a dB of distance at most, two where hardly any packet is lost
        low, high = (
            union_bound(mbps, snr * db_to_linear(over_db + off_db))
            for off_db in (apart_db, -apart_db)
        )
        assert low < got < high, (want, got)


@pytest.mark.parametrize("rate", TABLES, ids=lambda r: r.kind)
@pytest.mark.parametrize("bandwidth_hz", [1.4e6, 10e6, 20e6])
def test_a_table_is_a_staircase(rate, bandwidth_hz):
    assert rate.bits_per_s(0.0, bandwidth_hz) == 0.0
    assert rate.bits_per_s(math.inf, bandwidth_hz) == rate.table[-1][0] * bandwidth_hz
    for bits, snr_db in rate.table:
        snr = db_to_linear(snr_db)
        assert rate.bits_per_s(snr, bandwidth_hz) == bits * bandwidth_hz
        assert rate.bits_per_s(snr * (1 - 1e-12), bandwidth_hz) < bits * bandwidth_hz
        assert rate.needed_snr(bits * bandwidth_hz, bandwidth_hz) == snr


def test_known_entries():
    assert Ofdm80211().bits_per_s(db_to_linear(10.0), 20e6) == pytest.approx(18e6)
    assert Ofdm80211().bits_per_s(db_to_linear(10.0), 10e6) == pytest.approx(9e6)
    assert LteCqi().bits_per_s(db_to_linear(9.0), 10e6) == pytest.approx(19.141e6)


def test_what_a_rate_needs_is_what_it_was_chosen_on():
    rate = ShannonGap(min_rate_bps=1.0)
    for snr in (1e-3, 1.0, 30.0, 1e6):
        assert rate.needed_snr(rate.bits_per_s(snr, 20e6), 20e6) == pytest.approx(snr)
        needed = rate.needed_snr(rate.bits_per_s(snr, 20e6), 20e6)
        assert RateOutagePacketError().probability(snr, 12_000, needed) == 0.0
        assert RateOutagePacketError().probability(0.99 * snr, 12_000, needed) == 1.0
    assert rate.needed_snr(math.inf, 20e6) == math.inf
    assert FixedRate(rate_bps=1e6).needed_snr(1e6, 20e6) is None


@pytest.mark.parametrize("rate", [*TABLES, ShannonGap(min_rate_bps=1.0)], ids=lambda r: r.kind)
def test_rates_rise_with_snr_and_end_defined(rate):
    rates = [rate.bits_per_s(snr, 20e6) for snr in (0.0, *np.geomspace(1e-9, 1e9, 50), math.inf)]
    assert rates == sorted(rates)
    assert not any(math.isnan(r) for r in rates)


@pytest.mark.parametrize("name", sorted({*family("netsim.channels.packet_error")} - {"table"}))
@pytest.mark.parametrize("threshold", [1e-3, 1.0, 100.0])
def test_no_and_endless_snr_have_a_defined_loss(name, threshold):
    model = family("netsim.channels.packet_error")[name]
    rule = model(**({"loss": 0.1} if "loss" in model.model_fields else {}))
    none, endless = (rule.probability(snr, 12_000, threshold) for snr in (0.0, math.inf))
    assert (none, endless) == ((0.1, 0.1) if name == "fixed" else (1.0, 0.0))


def test_qam16_bit_errors_over_rayleigh():
    """E[erfc(sqrt(g / 10))] over a mean of 20 dB is 1 - sqrt(10 / 11): times 3/8."""
    rule = Qam16PacketError()
    got, _ = integrate.quad(
        lambda x: math.exp(-x) * rule.probability(100.0 * x, 1, 1.0), 0, np.inf, epsabs=1e-12
    )
    assert got == pytest.approx(0.375 * (1 - math.sqrt(10 / 11)), rel=1e-6)


def test_oqpsk_bit_errors():
    """Half of the bits at no SNR; the two nearest of 15 terms far up: 4 exp(-10 snr)."""
    rule = Oqpsk802154PacketError()
    assert rule.probability(0.0, 1, 1.0) == pytest.approx(0.5)
    assert rule.probability(3.0, 1, 1.0) == pytest.approx(4 * math.exp(-30), rel=1e-3)
    # by definition: 16 orthogonal words, noncoherent, Es/N0 = 20 snr, 8/15 of a symbol's error
    want = integrate.quad(
        lambda r: (
            r
            * math.exp(-0.5 * (r * r + 2 * 20 * 0.4) + math.log(np.i0(r * math.sqrt(40 * 0.4))))
            * (1 - (1 - math.exp(-0.5 * r * r)) ** 15)
        ),
        0,
        40,
    )[0]
    assert rule.probability(0.4, 1, 1.0) == pytest.approx(8 / 15 * want, rel=1e-6)


def test_a_longer_packet_is_lost_as_its_pieces_would_be():
    rule = LogisticPacketError()
    one = rule.probability(9.0, 12_000, 10.0)
    assert rule.probability(9.0, 24_000, 10.0) == pytest.approx(1 - (1 - one) ** 2)
    assert rule.probability(9.0, 6_000, 10.0) == pytest.approx(1 - math.sqrt(1 - one))
