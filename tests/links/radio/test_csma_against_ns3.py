"""CSMA message by message against ns-3 3.44, which plays every frame: hidden senders, DCF.

802.11a at 6 Mb/s unless said, 1,464 + 36 bytes a frame, seven attempts. The references were
recorded (3 seeds of 10 s each; DCF 5 seeds) with their standard errors. The bounds are what the
message level states of itself, plus two standard errors of the difference.
"""

import math

import numpy as np
import pytest

from netsim.channels.mac.csma import ContentionProblem, Csma

S = 1_000_000_000
PAYLOAD_BITS = 8 * 1464
RADIO = {
    "packet_payload_bytes": 1464,
    "packet_header_bytes": 36,
    "packet_error": {"kind": "logistic"},
    "threshold_db": 3.96,
    "arq": {"kind": "hole"},
}


def overhead_s(mbps):
    """Preamble and padding of a frame of 1500 bytes."""
    symbols = -(-(12_000 + 22) // round(4 * mbps))
    return 20e-6 + symbols * 4e-6 - 12_000 / (mbps * 1e6)


def radio(mbps=6, **mac):
    rate = {"kind": "fixed", "rate_bps": mbps * 1e6}
    rule = {"kind": "csma", **mac}
    return RADIO | {"rate": rate, "attempt_overhead_s": overhead_s(mbps), "mac": rule}


def around(n, hidden, weaker_db):
    """SNRs and distances of n senders around receiver n; every second one is weaker there."""
    snr, apart_m = np.full((n + 1, n + 1), 1e6), np.full((n + 1, n + 1), 10.0)
    if hidden:
        apart_m[:n, :n], snr[:n, :n] = 1000.0, 1e-9
    snr[1:n:2, n] /= 10 ** (weaker_db / 10)
    return snr, lambda i, j, t: apart_m[i, j]


def saturated(ether, n, hidden=True, weaker_db=0, mbps=6, **mac):
    """Of 100 s in which all of n senders have more to send: payload that arrives [Mb/s], and the
    share of packets that are given up."""
    packets, seconds = 50_000 * mbps // 6, 100.0
    snr, distance_m = around(n, hidden, weaker_db)
    keys = radio(mbps, carrier_sense_m=100.0, **mac) | {"ttl_s": seconds}
    e = ether(keys, snr, nodes=n + 1, distance_m=distance_m)
    for i in range(n):
        e.send(i, n, packets * PAYLOAD_BITS, parts=True)
    ended = e.run()
    assert all(x.at_ns == seconds * S for x in ended)
    arrived = sum(int(x.arrived.sum()) for x in ended if x.arrived is not None)
    lost = sum(x.lost for x in ended)
    return arrived * PAYLOAD_BITS * 1e-6 / seconds, lost / (lost + arrived)


def saturated_mbps(*args, **kwargs):
    return saturated(*args, **kwargs)[0]


def poisson_mbps(ether, n, rate_hz, seed, seconds=10, **mac):
    """Payload that arrives of Poisson frames [Mb/s]."""
    snr, distance_m = around(n, True, 0)
    keys = radio(carrier_sense_m=100.0, **mac)
    e = ether(keys, snr, nodes=n + 1, distance_m=distance_m, seed=seed)
    rng = np.random.default_rng(seed)
    for i in range(n):
        times_s = rng.uniform(0, seconds, rng.poisson(rate_hz * seconds))
        for at_s in np.sort(times_s):
            e.send(i, n, PAYLOAD_BITS, at_ns=1 + round(at_s * S))
    got = [x for x in e.run() if x.outcome == "delivered" and x.at_ns < seconds * S]
    return len(got) * PAYLOAD_BITS * 1e-6 / seconds


@pytest.mark.parametrize(
    ("n", "weaker_db", "want", "error", "within"),
    [(2, 0, 1.162, 0.009, 0.05), (2, 10, 5.209, 0.019, 0.03), (4, 0, 0.112, 0.004, 0.05)],
)
def test_saturated_hidden_senders(ether, n, weaker_db, want, error, within):
    got = saturated_mbps(ether, n, weaker_db=weaker_db, capture=True)
    assert abs(got - want) < within * want + 2 * error


@pytest.mark.parametrize(
    ("mbps", "want", "error", "given_up"),
    [(12, 4.063, 0.014, 0.130), (24, 10.633, 0.035, 0.056), (54, 23.65, 0.091, 0.026)],
)
def test_saturated_hidden_senders_of_short_packets(ether, mbps, want, error, given_up):
    """Played frame by frame, three seeds of 10 s; of packets `given_up` after seven attempts."""
    got, lost = saturated(ether, 2, mbps=mbps)
    assert abs(got - want) < 0.05 * want + 2 * error
    assert lost == pytest.approx(given_up, abs=0.01)


@pytest.mark.slow
def test_rts_and_cts_let_hidden_senders_wait(ether):
    """4.947 Mb/s of two saturated ones; none of 40 frames/s from each of four is lost."""
    got = saturated_mbps(ether, 2, rts_threshold_bits=0)
    assert got == pytest.approx(4.947, rel=0.02)
    offered = 4 * 40 * PAYLOAD_BITS * 1e-6
    got = poisson_mbps(ether, 4, 40, 1, rts_threshold_bits=0)
    assert got == pytest.approx(offered, rel=0.06)


@pytest.mark.parametrize(("mbps", "rate_hz"), [(12, 40), (6, 80)])
@pytest.mark.slow
def test_who_has_heard_the_cts_spoils_nothing(ether, mbps, rate_hz):
    """A packet is sent 1.00 and 1.02 times, frame by frame; else, had it begun, 1.15 and 1.46."""
    snr, distance_m = around(2, True, 0)
    delays, draws = {}, np.random.default_rng(1)
    times_ns = [np.cumsum(draws.exponential(S / rate_hz, 8 * rate_hz)) for _ in range(2)]
    for fidelity in ("message", "packet"):
        keys = radio(mbps, carrier_sense_m=100.0, rts_threshold_bits=0) | {"fidelity": fidelity}
        e = ether(keys, snr, nodes=3, distance_m=distance_m)
        for i in range(2):
            for t in times_ns[i]:
                e.send(i, 2, PAYLOAD_BITS, at_ns=int(t))
        ended = e.run()
        assert np.mean([x.outcome == "delivered" for x in ended]) > 0.995
        delays[fidelity] = np.mean([x.at_ns - x.sent_ns for x in ended])
        assert np.mean([x.attempts for x in ended]) < 1.2  # with those that end with their RTS
    assert np.mean(e.recorder.transmitted) < 1.05 * 12_000  # packets, frame by frame
    assert delays["message"] == pytest.approx(delays["packet"], rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "rate_hz", "want", "error"),
    [(2, 20, 0.490, 0.010), (2, 80, 1.179, 0.027), (2, 150, 1.175, 0.021), (4, 40, 0.177, 0.026),
     (10, 10, 0.726, 0.024)],
)  # fmt: skip
def test_hidden_senders_of_poisson_frames(ether, n, rate_hz, want, error):
    got = [poisson_mbps(ether, n, rate_hz, seed) for seed in (1, 2, 3)]
    own = np.std(got, ddof=1) / math.sqrt(len(got))
    assert abs(np.mean(got) - want) < 0.10 * want + 2 * math.hypot(own, error)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("mbps", "n", "want", "within"),
    [(6, 1, 5.357, 0.005), (6, 2, 5.116, 0.01), (6, 5, 4.686, 0.01), (6, 10, 4.362, 0.03),
     (6, 20, 4.009, 0.04), (6, 50, 3.535, 0.07), (54, 1, 30.065, 0.005), (54, 2, 30.410, 0.03),
     (54, 5, 29.123, 0.03)],
)  # fmt: skip
def test_senders_that_hear_each_other(ether, mbps, n, want, within):
    """Acknowledgements go by rate: 44 us at 6 Mb/s, 28 us at 54."""
    got = saturated_mbps(ether, n, hidden=False, mbps=mbps)
    assert got == pytest.approx(want, rel=within)


def test_a_sender_between_two_others_starves():
    """Three in a row: 5.22, .12 and 5.22 Mb/s, played frame by frame for 40 s."""
    dcf = Csma()
    senders = (dcf.sender(2.024e-3, 6e6, 12_000, 7, 0.0),) * 3
    found = dcf.access(ContentionProblem(senders, ((1,), (0, 2), (1,)), (), (((),),) * 3))
    mbps = [(1.0 - x.losses[0]) / x.attempt_s * PAYLOAD_BITS * 1e-6 for x in found]
    assert mbps == pytest.approx([5.22, 0.12, 5.22], rel=0.01, abs=0.04)
