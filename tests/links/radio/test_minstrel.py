"""Rates chosen by acknowledgements: they settle, they follow, and interruptions undo nothing."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from netsim.channels.packet_error.ofdm_80211 import Ofdm80211PacketError
from netsim.channels.rate.minstrel import Minstrel
from netsim.links.radio.mac.rate_adaptation import LinkRates, RateAdaptation
from netsim.links.radio.phy.mean_snr import MeanSnr
from netsim.links.radio.table import Radio
from netsim.rng import Streams
from netsim.units import NS_PER_S, db_to_linear

RULE = Minstrel()
RATES_BPS = RULE.rates_bps(20e6)
PACKET_BITS = 8 * 1448
KEYS = {
    "rate": {"kind": "minstrel"},
    "packet_error": {"kind": "ofdm_80211"},
    "packet_payload_bytes": 1448,
    "arq": {"kind": "unlimited"},
    "ttl_s": 100.0,
}


def goodput_bps(rate_bps: float, snr_db: float) -> float:
    """Bits that get through a second at a rate: rate (1 - PER)."""
    needed = RULE.needed_snr(rate_bps, 20e6)
    per = Ofdm80211PacketError().probability(db_to_linear(snr_db), PACKET_BITS, needed)
    return rate_bps * (1.0 - per)


def best_bps(snr_db: float) -> float:
    return max(RATES_BPS, key=lambda rate: goodput_bps(rate, snr_db))


def saturate(here, bits: int, until_s: float) -> None:
    """Send one message after the other."""
    send = here._done

    def again(tx, outcome, arrived):
        send(tx, outcome, arrived)
        if here.env.now < until_s * NS_PER_S:
            here.send(0, 1, bits)

    here._done = again
    here.send(0, 1, bits)


def delivered_bps(ended, bits: int, from_s: float, to_s: float) -> float:
    times = np.array([e.at_ns for e in ended if e.outcome == "delivered"]) / NS_PER_S
    inside = times[(times > from_s) & (times <= to_s)]
    return (len(inside) - 1) * bits / (inside[-1] - inside[0])


@pytest.mark.thinned(4)
@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize("snr_db", [5.0, 11.0, 18.0, 30.0])
def test_a_still_link_settles_at_the_best_rate(ether, snr_db, fidelity):
    """After 3 s. The trials cost what 2 attempts a window at 6 Mb/s take at most."""
    bits = 20 * PACKET_BITS
    here = ether(KEYS | {"fidelity": fidelity}, db_to_linear(snr_db), seed=3)
    saturate(here, bits, 4.5)
    ended = here.run()
    want_bps = goodput_bps(best_bps(snr_db), snr_db)
    got_bps = delivered_bps(ended, bits, 3.0, 4.5)
    packets = want_bps * 1.5 / PACKET_BITS
    loss = 1.0 - want_bps / best_bps(snr_db)
    noise = 4.0 * math.sqrt(loss / packets) + 20.0 / packets
    trials = 2.0 * PACKET_BITS / 6e6 / 0.1
    assert (1.0 - trials - noise) * want_bps < got_bps < (1.0 + noise) * want_bps


class Steps(MeanSnr):
    """A mean SNR that changes at given instants: [(from ns, linear)]."""

    moving = True

    def __init__(self, steps):
        self.steps = steps

    def snr(self, src, others, time_ns):
        return np.full(len(others), self.pair_snr(src, others[0], time_ns))

    def pair_snr(self, src, dst, time_ns):
        return [snr for from_ns, snr in self.steps if from_ns <= time_ns][-1]

    def holds_until_ns(self, src, dst, time_ns):
        return next((from_ns for from_ns, _ in self.steps if from_ns > time_ns), None)


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("before_db", "after_db"), [(30.0, 11.0), (11.0, 30.0)])
def test_it_follows_a_step(ether, before_db, after_db):
    """A second and a half after the step the rate is the new best one."""
    steps = Steps([(0, db_to_linear(before_db)), (3 * NS_PER_S, db_to_linear(after_db))])
    here = ether(KEYS, steps, seed=1)
    bits = 20 * PACKET_BITS
    saturate(here, bits, 7.0)
    ended = here.run()
    for snr_db, span_s in ((before_db, (2.0, 3.0)), (after_db, (6.0, 7.0))):
        want_bps = goodput_bps(best_bps(snr_db), snr_db)
        assert delivered_bps(ended, bits, *span_s) == pytest.approx(want_bps, rel=0.08)


def test_a_rate_that_fails_is_left_after_the_windows_of_the_formula():
    """From 54 to 12 Mb/s: ln(54 / 12) / ln(1 / .75) = 5.2, so after six windows."""
    adaptation = RateAdaptation(RULE, 20e6, Streams(0))
    known = LinkRates(RATES_BPS)
    for rate_bps in (12e6, 54e6):
        known.count(rate_bps, 100, 100)
    adaptation.set_link_rates(0, 1, known)
    chosen = []
    for window in range(1, 9):
        known.enter(window, RULE.kept)
        known.trials = RULE.trials
        chosen.append(adaptation.best_bps(0, 1, lambda rate: 1e9 / rate))
        known.count(54e6, 500, 0)
    assert chosen == [54e6] * 6 + [12e6] * 2


def test_an_update_is_a_weighted_mean():
    """.75 of the mean so far, .25 of the window; the first window counts alone."""
    known = LinkRates(RATES_BPS)
    known.count(6e6, 10, 8)
    known.enter(1, 0.75)
    known.count(6e6, 10, 4)
    known.enter(2, 0.75)
    known.enter(9, 0.75)
    assert known.shares[0] == pytest.approx(0.75 * 0.8 + 0.25 * 0.4)
    assert known.shares[1:] == [0.0] * 7


def test_what_is_interrupted_is_counted_as_far_as_it_came(ether):
    """Interference that comes and goes leaves every attempt made counted once, none twice."""
    keys = KEYS | {"mac": {"kind": "shared"}}
    matrix = np.full((4, 4), 1e-9)
    matrix[0, 1], matrix[2, 1], matrix[2, 3] = (db_to_linear(x) for x in (25.0, 10.0, 30.0))
    here = ether(keys | {"rate": {"kind": "minstrel", "window_s": 50.0}}, matrix, nodes=4, seed=2)
    here.send(0, 1, 400 * PACKET_BITS)
    for k in range(5):
        here.send(2, 3, 10 * PACKET_BITS, at_ns=7_000_000 + k * 60_000_000)
    found = {ended.src: ended for ended in here.run() if ended.src == 0}
    known = here.air._adaptation.link_rates(0, 1)
    assert sum(known.attempts) == found[0].attempts
    assert sum(known.acknowledged) == 400


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"arq": {"kind": "none"}}, 'does not go with arq "none"'),
        ({"packet_error": {"kind": "outage"}}, "packet errors must depend on the rate"),
        ({"packet_error": {"kind": "ofdm_80211", "mbps": 6}}, "must depend on the rate"),
        ({"mac": {"kind": "ofdma", "subchannels": 4}}, "one after the other"),
        ({"mac": {"kind": "csma"}, "fidelity": "packet"}, "one after the other"),
    ],
)
def test_what_it_does_not_go_with_is_refused(keys, told):
    with pytest.raises(ValidationError, match=told):
        Radio.model_validate(KEYS | keys)
