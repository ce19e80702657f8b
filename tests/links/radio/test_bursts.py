"""Several weak senders at once: against enumeration, a renewal process, and frames one by one."""

import itertools
import math

import numpy as np
import pytest

from netsim.links.radio.mac import bursts
from netsim.links.radio.mac.bursts import loss_curve, overlap_probabilities


def lost_to_several(over, interferers):
    """Of one packet, with (power over noise, probability of being there) of each interferer."""
    power, there = np.array(interferers).T[:, None, :]
    return bursts.lost_to_several([over], power, there)[0]


def error(snr):
    """A packet's error that falls from nearly all to hardly any within 3 dB around 4 dB."""
    return 1.0 / (1.0 + math.exp(6.0 * (10 * math.log10(snr) - 4.0)))


def enumerated(snr, interferers):
    """The mean loss over all sets of senders that may be there."""
    alone, mean = error(snr), 0.0
    for there in itertools.product((False, True), repeat=len(interferers)):
        chance = math.prod(
            q if t else 1.0 - q for t, (_, q) in zip(there, interferers, strict=True)
        )
        noise = 1.0 + sum(power for t, (power, _) in zip(there, interferers, strict=True) if t)
        mean += chance * error(snr / noise)
    return (mean - alone) / (1.0 - alone)


def test_a_loss_is_a_probability():
    """The chances of who is there add up to 1 but for rounding, and the draws take no more."""
    rng, packets = np.random.default_rng(1), 2_000
    there = rng.uniform(0.05, 0.95, (packets, 6))  # those beyond four spoil packets all the time
    over = [loss_curve(error, 10.0)] * packets
    losses = bursts.lost_to_several(over, np.full((packets, 6), 1e6), there)
    assert losses == pytest.approx(1.0, abs=1e-12)
    assert (losses <= 1.0).all()


def test_up_to_four_are_enumerated():
    rng = np.random.default_rng(1)
    snr = 10.0**1.3
    over = loss_curve(error, snr)
    worst = 0.0
    for _ in range(300):
        n = int(rng.integers(1, 5))
        senders = list(zip(rng.uniform(0.5, 12.0, n), rng.uniform(0.05, 0.95, n), strict=True))
        worst = max(worst, abs(lost_to_several(over, senders) - enumerated(snr, senders)))
    assert 1e-6 < worst < 1.0 / 32.0


def test_two_together_spoil_what_neither_does():
    snr = 10.0**1.3  # 13 dB: one of 6 dB leaves 6 dB, two leave 3.5
    over, power = loss_curve(error, snr), 10.0**0.6
    assert lost_to_several(over, [(power, 1.0)]) == 0.0
    both = lost_to_several(over, [(power, 0.5), (power, 0.5)])
    assert both == pytest.approx(0.25 * (error(snr / (1 + 2 * power))), abs=0.01)
    assert error(snr / (1 + power)) < 0.001  # as the mean of their power would have it


def test_more_than_four_count_with_their_mean_power():
    over = loss_curve(error, 10.0**1.3)
    strong = [(8.0, 0.3)] * 4
    few = lost_to_several(over, [*strong, *[(0.01, 0.5)] * 20])
    assert few == pytest.approx(lost_to_several(over, [(8.1, 0.3), *strong[1:]]), abs=0.05)


def test_a_packet_that_is_lost_anyway_is_not_lost_to_others():
    assert loss_curve(error, 1.0) is bursts.NONE
    quiet = loss_curve(lambda snr: 0.0, 10.0)
    assert lost_to_several(quiet, [(1e5, 1.0)]) == 0.0


@pytest.mark.closed_forms
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_overlap_of_a_packet_with_a_sender_that_comes_and_goes(share):
    """Packets of 2 ms begin after exponential silences; one of 3 ms is sent at a random instant."""
    rng, n = np.random.default_rng(7), 200_000
    silence = rng.exponential(2.0 * (1.0 - share) / share, n)
    begins = np.cumsum(silence + 2.0) - 2.0
    at = rng.uniform(begins[10], begins[-10], n)
    last = np.searchsorted(begins, at) - 1
    met = (at < begins[last] + 2.0) | (begins[last + 1] < at + 3.0)
    p = overlap_probabilities(share, 3.0, 2.0)
    assert met.mean() == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / n) + 0.002)


def test_of_a_sender_that_never_stops_there_is_no_way_around():
    assert overlap_probabilities(1.0, 1.0, 1.0) == 1.0
