"""Whole messages against every attempt played: the same distribution, also when interrupted.

The bound on the distance is 1.628 sqrt(2/n), or 0.0163 at n = 20,000: the 1 % level of a two-sample
Kolmogorov-Smirnov test. What differs must differ again with other seeds: 1e-4 a comparison.
"""

import math

import numpy as np
import pytest
from scipy import stats

from netsim.channels.sleep import Rhythm

MS = 1_000_000
REPLICAS = 400
"""Of the quick tests; the slow ones have thousands."""
NAMES = ("attempts", "lost", "duration", "delivered", "first hole", "early holes")
ARQS = {
    "none": {"arq": {"kind": "none"}},
    "abort": {"arq": {"kind": "abort", "max_attempts": 3}},
    "hole": {"arq": {"kind": "hole", "max_attempts": 3}},
    "unlimited": {"arq": {"kind": "unlimited"}, "ttl_s": 10.0},
    "harq_chase": {"arq": {"kind": "harq_chase", "max_attempts": 3}},
}
SOFT = {"packet_error": {"kind": "exponential_snr", "m": 40.0}, "mac": {"kind": "shared"}}
"""At SNR 100 a third of the attempts fail, at 25 (noise four times what it was) four fifths."""
SNR = np.full((4, 4), 100.0)
SNR[2, 1], SNR[0, 3], SNR[2, 3] = 3.0, 0.0, 1e12


def watched(ended, packets):
    arrived = ended.arrived
    if arrived is None:
        arrived = np.full(packets, ended.outcome == "delivered")
    missing = np.flatnonzero(~arrived)
    return (
        ended.attempts,
        ended.lost,
        ended.at_ns - ended.sent_ns,
        int(arrived.sum()),
        missing[0] if len(missing) else packets,
        int((missing < packets // 2).sum()),
    )


def play(ether, replicas, seed, radio, packets, interference, broadcast, rhythm=None):
    """Messages 0 -> 1 one after the other; 2 -> 3 begins 2.35 ms and ends 6.35 ms after each."""
    e = ether(
        SOFT | radio,
        mean_snr=SNR,
        nodes=4,
        seed=seed,
        distance_m=lambda i, j, t: 100.0,
        rhythms=(None, rhythm, None, None),
    )
    for k in range(replicas):
        at_ns = 1 + k * 400 * MS
        e.send(0, [1] if broadcast else 1, 1_000 * packets, at_ns=at_ns, parts=True)
        for start_ms, length in interference:
            e.send(2, 3, 1_000 * length, at_ns=at_ns + round(start_ms * MS))
    return zip(*[watched(x, packets) for x in e.run() if x.src == 0], strict=True)


def differing(ether, replicas, seed, radio, *how):
    found = set()
    whole = play(ether, replicas, seed, radio, *how)
    literal = play(ether, replicas, seed + 1, radio | {"fidelity": "packet"}, *how)
    for name, a, b in zip(NAMES, whole, literal, strict=True):
        assert len(a) == len(b) == replicas
        if stats.ks_2samp(a, b, method="asymp").statistic > 1.628 * math.sqrt(2.0 / replicas):
            found.add(name)
    return found


def assert_alike(ether, replicas, radio, packets, interference=(), broadcast=False, rhythm=None):
    how = packets, interference, broadcast, rhythm
    found = differing(ether, replicas, 10, radio, *how)
    if found:
        found &= differing(ether, replicas, 20, radio, *how)
    assert not found


@pytest.mark.thinned(42)
@pytest.mark.parametrize("arq", ARQS)
@pytest.mark.parametrize(
    ("packets", "interference"),
    [(1, ()), (8, ()), (1, [(0.35, 1)]), (8, [(2.35, 4)]), (8, [(1.5, 1), (4.25, 2), (9.1, 3)])],
    ids=["M=1", "M=8", "M=1-met", "one-interferer", "on-and-off"],
)
def test_messages_are_as_if_every_attempt_were_played(ether, arq, packets, interference):
    assert_alike(ether, REPLICAS, ARQS[arq], packets, interference)


@pytest.mark.slow
def test_so_are_broadcasts(ether):
    assert_alike(ether, REPLICAS, ARQS["hole"], 8, [(2.35, 4)], broadcast=True)


NAPS = Rhythm(period_ns=7_370_001, awake_ns=2_500_000, offset_ns=0)
"""Messages come at all times of a period."""
BLOCKS = {"fading": {"kind": "rayleigh", "coherence_s": 0.0034}}


@pytest.mark.slow
@pytest.mark.parametrize("arq", ARQS)
def test_so_are_messages_that_outlast_their_fade(ether, arq):
    """Segments end within packets and interruptions within segments."""
    assert_alike(ether, REPLICAS, ARQS[arq] | BLOCKS, 8, [(2.35, 4)])


BURSTS = {"bursts": {"p_good_to_bad": 0.1, "p_bad_to_good": 0.3, "loss_good": 0.05}}


@pytest.mark.slow
@pytest.mark.parametrize("arq", ARQS)
def test_so_are_messages_whose_losses_come_in_bursts(ether, arq):
    assert_alike(ether, REPLICAS, ARQS[arq] | BLOCKS | BURSTS, 8, [(2.35, 4)], rhythm=NAPS)


@pytest.mark.slow
@pytest.mark.parametrize("arq", ARQS)
def test_so_are_messages_that_their_time_to_live_ends(ether, arq):
    assert_alike(ether, REPLICAS, ARQS[arq] | {"ttl_s": 0.0105}, 8, [(2.35, 4)])


@pytest.mark.slow
@pytest.mark.parametrize("arq", ARQS)
def test_so_are_messages_whose_receiver_wakes_meanwhile(ether, arq):
    assert_alike(ether, REPLICAS, ARQS[arq] | BLOCKS, 8, [(2.35, 4)], rhythm=NAPS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arq", "is_fading", "naps"),
    [
        (arq, is_fading, is_fading == (number % 2 == 0))
        for number, arq in enumerate(ARQS)
        for is_fading in (False, True)
    ],
)
def test_thousands_of_messages_are_as_if_every_attempt_were_played(ether, arq, is_fading, naps):
    """Distributions are told apart that differ by 0.046; by 0.033 where all comes together.

    Every two of retransmission, fading and naps meet; all three do with 400 messages above.
    """
    messages = 5_000 if is_fading and naps else 2_500
    radio, rhythm = ARQS[arq] | (BLOCKS if is_fading else {}), NAPS if naps else None
    assert_alike(ether, messages, radio, 8, [(2.35, 4)], rhythm=rhythm)
