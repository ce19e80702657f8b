"""The air against closed forms (section numbers of the sources are with the models)."""

import math

import numpy as np
import pytest

from netsim.channels.mac import Mac, Medium
from netsim.channels.mac.aloha import Aloha
from netsim.channels.mac.csma import ContentionProblem, Csma
from netsim.channels.mac.shared import Shared
from netsim.links.radio.mac.flight import Flight, Reception, interferers_at
from netsim.links.radio.mac.interference import Interference
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.phy.mean_snr import MeanSnr
from netsim.links.radio.table import Radio
from netsim.rng import Streams

pytestmark = pytest.mark.closed_forms

MS, S = 1_000_000, 1_000_000_000
PACKET = 1_000
"""Bits of a packet, which takes a millisecond."""


def binomial_sd(p, n):
    return math.sqrt(p * (1.0 - p) / n)


# -- transfers ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_chase_combining_in_new_fades_has_the_incomplete_gamma_outage(ether, fidelity):
    """P(3, 1) = .0803014: L = 3, threshold = mean SNR; a fade lasts as long as an attempt."""
    n = 8_000
    radio = {
        "arq": {"kind": "harq_chase", "max_attempts": 3},
        "fading": {"kind": "rayleigh", "coherence_s": 1e-3},
        "packet_error": {"kind": "outage"},
        "threshold_db": 20.0,
        "fidelity": fidelity,
    }
    e = ether(radio, mean_snr=100.0)
    for k in range(n):
        e.send(0, 1, PACKET, at_ns=k * 10 * MS)
    lost = sum(x.lost for x in e.run()) / n
    assert abs(lost - 0.0803014) < 4 * binomial_sd(0.0803, n)


# -- interference ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_two_interferers_leave_the_share_of_the_formula(ether, fidelity):
    """exp(-t N/S) / ((1 + t I1/S)(1 + t I2/S)) = .663479: S=20, N=1, I=3 and .5, t=3 dB."""
    n, snr = 6_000, np.zeros((6, 6))
    snr[0, 1], snr[2, 1], snr[4, 1] = 20.0, 3.0, 0.5
    radio = {
        "mac": {"kind": "shared"},
        "fading": {"kind": "rayleigh", "coherence_s": 0.1},
        "packet_error": {"kind": "outage"},
        "threshold_db": 3.0,
        "arq": {"kind": "none"},
        "fidelity": fidelity,
    }
    e = ether(radio, mean_snr=snr, nodes=6)
    for k in range(n):
        at_ns = k * 100 * MS
        e.send(2, 3, 3 * PACKET, at_ns=at_ns)
        e.send(0, 1, PACKET, at_ns=at_ns + 10)
        e.send(4, 5, 3 * PACKET, at_ns=at_ns + 20)  # during the attempt
    ended = [x for x in e.run() if x.src == 0]
    got = sum(x.outcome == "delivered" for x in ended) / n
    assert abs(got - 0.663479) < 4 * binomial_sd(0.6635, n)
    # alone it is exp(-t / 20) = .905; so much is lost by noise, the rest by the others
    outcomes = {x.outcome for x in ended}
    assert outcomes == {"delivered", "outage", "collision"}
    outage = sum(x.outcome == "outage" for x in ended) / n
    assert abs(outage - 0.0949) < 4 * binomial_sd(0.0949, n)


class _Places(MeanSnr):
    """Path loss d^-4, 1e9 times the noise at 20 m; node 0 is wanted at the last one."""

    def __init__(self, distances_m):
        self.at_dst = 1e9 * (20.0 / np.asarray(distances_m)) ** 4

    def snr(self, src, others, time_ns):
        return np.full(len(others), self.at_dst[src])

    def pair_snr(self, src, dst, time_ns):
        return float(self.at_dst[src])


@pytest.mark.slow
def test_poisson_interferers_leave_the_share_of_the_formula():
    """exp(-density pi d^2 sqrt(t) pi/2) = .703971: 1e-4 per m2, 20 m, t = 5 dB, exponent 4.

    Those further away than 400 m are left out: 1e-3 of relative error.
    """
    rng, n, radius_m, got = np.random.default_rng(1), 3_000, 400.0, 0
    radio = Radio(fading={"kind": "rayleigh"}, packet_error={"kind": "outage"})
    for seed in range(n):
        count = rng.poisson(1e-4 * math.pi * radius_m**2)
        means = _Places([20.0, *(radius_m * np.sqrt(rng.random(count)))])
        budget = LinkBudget(means, 1.0, (1.0,) * (count + 2))
        channel = RadioChannel(radio, budget, lambda i, t: (0, 0), Streams(seed))
        others = [Flight(k, [], [], 1, 1, 0, None) for k in range(1, count + 1)]
        tx = type("Tx", (), {"dst": count + 1})()
        wanted = Flight(0, [], [Reception(tx, 1)], 1, 1, 0, None)
        Interference(Shared(), channel, count + 2, None).join(wanted, others, 0)
        heard = interferers_at(wanted, wanted.receptions[0])
        got += next(channel.blocks(0, count + 1, 0, 1, interferers=heard)).snr >= 10**0.5
    assert abs(got / n - 0.703971) < 4 * binomial_sd(0.704, n) + 1e-3


# -- queues ------------------------------------------------------------------------------------


def queue(ether, rate_hz, sizes_s, seed, radio=None, senders=1, mac=None):
    """Messages to one sender (or to many in turn) as a Poisson stream; what became of each."""
    rng = np.random.default_rng(seed)
    keys = {"packet_payload_bytes": 125_000_000} | (radio or {})
    e = ether(keys, nodes=senders + 1)
    if mac is not None:
        e.air._mac, e.air._exclusive = mac, mac.exclusive
        e.air._interference = Interference(mac, e.air._channel, senders + 1, None)
    at_s = rng.exponential(1.0 / rate_hz, len(sizes_s)).cumsum()
    for k, (start_s, size_s) in enumerate(zip(at_s, sizes_s, strict=True)):
        e.send(k % senders, senders, max(1, round(1e6 * size_s)), at_ns=round(start_s * S))
    return e.run()


def mean_and_error(values, batches=25):
    """Mean and standard error of a correlated series, from the means of batches."""
    means = np.array([np.mean(b) for b in np.array_split(np.asarray(values), batches)])
    return means.mean(), means.std(ddof=1) / math.sqrt(batches)


RATE, MEAN_S, N = 0.4375, 1.6, 12_000


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "expected_s"), [("exponential", 5.3333), ("constant", 3.4667)])
def test_a_radio_is_an_m_m_1_and_an_m_d_1_queue(ether, sizes, expected_s):
    rng = np.random.default_rng(2)
    sizes_s = rng.exponential(MEAN_S, N) if sizes == "exponential" else np.full(N, MEAN_S)
    ended = queue(ether, RATE, sizes_s, seed=3)
    mean_s, error_s = mean_and_error([(x.at_ns - x.sent_ns) / S for x in ended])
    assert error_s < 0.1 * expected_s
    assert abs(mean_s - expected_s) < 4 * error_s


class Fair(Mac):
    """The medium is shared equally."""

    kind: str = "fair"
    exclusive = False
    contends = True

    def medium(self, contenders, nodes):
        return Medium(slowdown=float(contenders))


@pytest.mark.slow
@pytest.mark.parametrize("sizes", ["exponential", "constant"])
def test_senders_that_share_the_medium_are_an_m_g_1_ps_queue(ether, sizes):
    """1.6 / (1 - .7) s whatever the sizes; shares change in the middle of packets of 0.1 s."""
    rng = np.random.default_rng(4)
    sizes_s = rng.exponential(MEAN_S, N) if sizes == "exponential" else np.full(N, MEAN_S)
    radio = {"packet_payload_bytes": 12_500}
    ended = queue(ether, RATE, sizes_s, 5, radio, senders=60, mac=Fair())
    mean_s, error_s = mean_and_error([(x.at_ns - x.sent_ns) / S for x in ended])
    assert error_s < 0.5
    assert abs(mean_s - 5.3333) < 4 * error_s


@pytest.mark.slow
def test_a_radio_with_room_for_six_is_an_m_m_1_7_queue(ether):
    """Blocking .0503985 at a load of .8: one is sent, six wait."""
    rng = np.random.default_rng(6)
    ended = queue(ether, 0.8, rng.exponential(1.0, N), 7, {"queue_limit": 6})
    blocked = [x.outcome == "busy" for x in sorted(ended, key=lambda x: x.sent_ns)]
    share, error = mean_and_error(blocked)
    assert abs(share - 0.0503985) < 4 * error
    assert error < 0.01
    assert all(x.attempts == 0 for x in ended if x.outcome == "busy")


@pytest.mark.slow
def test_the_age_of_what_an_m_m_1_queue_delivers(ether):
    """(1 + 1/rho + rho^2 / (1 - rho)) / mu = 3.5 / mu at rho = .5 (Kaul, Yates, Gruteser 2012)."""
    rng = np.random.default_rng(8)
    ended = queue(ether, 0.5, rng.exponential(1.0, N), 9)
    born = np.array([x.sent_ns for x in ended]) / S
    here = np.array([x.at_ns for x in ended]) / S
    # between two deliveries the age grows from here - born of the last by the time between them
    gaps, start = np.diff(here), (here - born)[:-1]
    areas = gaps * start + gaps**2 / 2
    parts = [(a.sum() / g.sum()) for a, g in zip(*map(_parts, (areas, gaps)), strict=True)]
    assert abs(np.mean(parts) - 3.5) < 4 * np.std(parts, ddof=1) / math.sqrt(len(parts))


@pytest.mark.slow
def test_the_age_of_periodic_news_that_half_of_the_time_gets_lost(ether):
    """T (1 / q - 1 / 2) = 1.5 T at q = .5: news every T, each delivered with probability q."""
    n = 40_000
    radio = {"packet_error": {"kind": "fixed", "loss": 0.5}, "arq": {"kind": "none"}}
    e = ether({**radio, "rate": {"kind": "fixed", "rate_bps": 1e12}})
    for k in range(n):
        e.send(0, 1, PACKET, at_ns=k * S)
    here = np.array([x.at_ns for x in e.run() if x.outcome == "delivered"]) / S
    gaps = np.diff(here)
    # the age starts at 0: the areas under its teeth over their lengths
    parts = [((g**2 / 2).sum() / g.sum()) for g in _parts(gaps)]
    assert abs(np.mean(parts) - 1.5) < 4 * np.std(parts, ddof=1) / math.sqrt(len(parts))
    assert np.std(parts, ddof=1) / math.sqrt(len(parts)) < 0.02


def _parts(values):
    return np.array_split(values, 25)


# -- medium access -----------------------------------------------------------------------------


def test_aloha_has_its_maxima():
    """1/(2e) at an offered load of 1/2, 1/e at 1, in the limit of many senders."""
    n = 100_000
    pure = max(Aloha(attempt_rate=g / n).throughput(n) for g in np.linspace(0.3, 0.7, 41))
    slotted = max(
        Aloha(attempt_rate=g / n, slotted=True).throughput(n) for g in np.linspace(0.8, 1.2, 41)
    )
    assert pure == pytest.approx(0.183940, abs=4e-6)
    assert slotted == pytest.approx(0.367879, abs=4e-6)


@pytest.mark.parametrize("slotted", [False, True])
def test_aloha_on_the_air_has_its_throughput(ether, slotted):
    """Ten senders that always send: packets that get through in the time of one."""
    n, packets = 10, 2_000
    rule = {"kind": "aloha", "slotted": slotted, "attempt_rate": 0.08}
    e = ether({"mac": rule, "arq": {"kind": "none"}}, nodes=n + 1)
    for i in range(n):
        e.send(i, n, packets * PACKET, at_ns=1, parts=True)
    ended = e.run()
    through = sum(packets - x.lost for x in ended)
    lasted_ms = (ended[-1].at_ns - 1) / MS
    want = Aloha(slotted=slotted, attempt_rate=0.08).throughput(n)
    q = want * lasted_ms / (n * packets)
    assert abs(through / (n * packets) - q) < 4 * binomial_sd(q, n * packets)
    # a packet is on the air once an attempt, whatever the wait
    assert e.recorder.airtime_ns == pytest.approx(n * packets * MS, rel=1e-6)


def test_pure_aloha_slot_by_slot():
    """Senders one by one: idle for Exp(1/q), on the air for 1, lost if another overlaps."""
    rng, n, q, horizon = np.random.default_rng(10), 4, 0.2, 40_000.0
    starts = [_renewals(rng, q, horizon) for _ in range(n)]
    through = 0
    for i, mine in enumerate(starts):
        clear = np.ones(len(mine), dtype=bool)
        for j, theirs in enumerate(starts):
            if i != j:
                at = theirs.searchsorted(mine)
                after = np.append(theirs, np.inf)[at] - mine
                before = mine - np.insert(theirs, 0, -np.inf)[at]
                clear &= (after > 1.0) & (before > 1.0)
        through += clear.sum()
    want = Aloha(attempt_rate=q).throughput(n)
    # a cycle is a renewal; the count of successes varies no more than a Poisson one by far
    assert abs(through / horizon - want) < 4 * math.sqrt(want / horizon)


def _renewals(rng, q, horizon):
    gaps = 1.0 + rng.exponential(1.0 / q, int(2 * horizon))
    starts = gaps.cumsum() - 1.0
    return starts[starts < horizon]


FHSS = Csma(
    slot_s=50e-6, sifs_s=28e-6, difs_s=128e-6, ack_s=240e-6, propagation_s=1e-6,
    cw_min=32, stages=5, anomalous_slots=False,
)  # fmt: skip


@pytest.mark.parametrize(
    ("n", "share"), [(5, 0.81015), (10, 0.75788), (20, 0.69755), (50, 0.61094)]
)
def test_bianchi_s_table_of_basic_access(n, share):
    """FHSS at 1 Mb/s: 8184 bits of payload, 272 + 128 of headers; W = 32, m = 5."""
    assert FHSS.throughput(n, 8584e-6, 8184e-6) == pytest.approx(share, abs=6e-6)


@pytest.mark.parametrize(("n", "mbps"), [(5, 4.7089), (20, 3.9908), (50, 3.5048)])
def test_ns_3_s_table_of_802_11a(n, mbps):
    """6 Mb/s, 1500 bytes: ns-3 has 4.7087, 3.9899, 3.5071 from a grid search for tau.

    Its model draws from the whole window again after a success, and knows no wait for an answer.
    """
    dcf = Csma()
    packet_s = 20e-6 + math.ceil((16 + 6 + 8 * (28 + 6 + 1500)) / 24) * 4e-6
    assert 6.0 * dcf.throughput(n, packet_s, 2e-3) == pytest.approx(mbps, rel=0.005)


def test_csma_on_the_air_has_bianchi_s_throughput(ether):
    """Five senders, 20,000 packets each, all at once, repeated for ever: sd of an end .3 %."""
    n, packets = 5, 20_000
    radio = {"mac": FHSS.model_dump(), "packet_payload_bytes": 1023, "packet_header_bytes": 50}
    e = ether(radio | {"arq": {"kind": "unlimited"}, "ttl_s": 1e6}, nodes=n + 1)
    for i in range(n):
        e.send(i, n, packets * 8184, at_ns=1)
    ended = e.run()
    share = packets * 8184e-6 * sum(S / (x.at_ns - 1) for x in ended)
    assert share == pytest.approx(FHSS.throughput(n, 8584e-6, 8184e-6), rel=0.01)


@pytest.mark.parametrize("n", [2, 5, 20])
@pytest.mark.parametrize("anomalous", [False, True])
def test_a_limit_that_is_never_reached_changes_nothing(n, anomalous):
    """The fixed point of equal senders is Bianchi's: attempts that succeed per second."""
    dcf = Csma(anomalous_slots=anomalous)
    senders = (dcf.sender(2e-3, 6e6, 12_000, None, 0.0),) * n
    everybody = tuple(tuple(j for j in range(n) if j != i) for i in range(n))
    found = dcf.access(ContentionProblem(senders, everybody, (), (((),),) * n))
    got = sum((1.0 - one.losses[0]) / one.attempt_s for one in found) * 2e-3
    assert got == pytest.approx(dcf.throughput(n, 2e-3, 2e-3), rel=1e-3)


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_the_limit_counts_every_attempt(ether, limit):
    """Share of packets given up: f^limit, f the probability that an attempt meets another one's."""
    n, packets = 5, 20_000
    arq = {"kind": "hole", "max_attempts": limit}
    e = ether({"mac": FHSS.model_dump(), "arq": arq}, nodes=n + 1)
    for i in range(n):
        e.send(i, n, packets * PACKET, at_ns=1, parts=True)
    senders = (FHSS.sender(1e-3, 1e6, PACKET, limit, 0.0),) * n
    everybody = tuple(tuple(j for j in range(n) if j != i) for i in range(n))
    fails = FHSS.access(ContentionProblem(senders, everybody, (), (((),),) * n))[0].losses[0]
    want = fails**limit
    lost = min(e.run(), key=lambda x: x.at_ns).lost / packets
    assert lost == pytest.approx(want, abs=5 * binomial_sd(want, packets) + 1e-9)


def test_contenders_share_what_each_has_left(ether):
    """One sends alone, is joined and left again: time by the table of each number of senders."""
    n1, n2 = (FHSS.medium(k, 3) for k in (1, 2))
    radio = {"mac": FHSS.model_dump(), "packet_payload_bytes": 1073}
    e = ether(radio | {"arq": {"kind": "unlimited"}, "ttl_s": 1e6}, nodes=3)
    e.send(0, 2, 50_000 * 8584, at_ns=0)
    e.send(1, 2, 10_000 * 8584, at_ns=20 * 10_123_456)
    first, second = sorted(e.run(), key=lambda x: x.src)
    one, two = (m.slowdown * 8.584e6 + m.wait_ns for m in (n1, n2))
    assert second.at_ns - second.sent_ns == pytest.approx(10_000 * two, rel=0.01)
    assert first.at_ns == pytest.approx(40_000 * one + 10_000 * two, rel=0.01)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize(("packets", "work_ms"), [(1, 1.0), (20, 19 * 8 + 1.0), (3, 2 * 8 + 1.0)])
@pytest.mark.usefixtures("slots_in_order")
def test_tdma_waits_half_a_frame_and_is_through_at_the_end_of_its_last_slot(
    ether, packets, work_ms, fidelity
):
    """Eight slots of 1 ms, packets of 1 ms: 4 ms of waiting, then a frame a packet but the last.

    That is 5 ms for one packet and 157 ms for twenty.
    """
    n, frame_ms, waits = 8, 8.0, []
    e = ether({"mac": {"kind": "tdma"}, "fidelity": fidelity}, nodes=n)
    at_ms = np.random.default_rng(11).uniform(0.0, frame_ms, 400) + 1_000 * np.arange(400)
    for k, start_ms in enumerate(at_ms):
        e.send(k % n, (k + 1) % n, packets * PACKET, at_ns=round(start_ms * MS))
    for x in e.run():
        assert x.outcome == "delivered"
        waits.append((x.at_ns - x.sent_ns) / MS - work_ms)
        assert x.at_ns % (8 * MS) == (x.src + 1) * MS % (8 * MS)
    assert abs(np.mean(waits) - frame_ms / 2) < 4 * frame_ms / math.sqrt(12 * 400)
    assert e.recorder.airtime_ns == 400 * packets * MS


@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize("to", [1, [1]])
@pytest.mark.parametrize(
    ("slot_ms", "packets", "end_ms"),
    [(10.0, 5, 5.0), (10.0, 13, 23.0), (0.4, 1, 1.8), (2.5, 5, 7.5), (3.0, 4, 7.0)],
)
@pytest.mark.usefixtures("slots_in_order")
def test_tdma_sends_in_its_slots_whatever_their_length(
    ether, slot_ms, packets, end_ms, to, fidelity
):
    """Two slots a frame: one packet of 1 ms fills slots of 0.4 ms at 0, 0.8 and half of 1.6 ms."""
    e = ether({"mac": {"kind": "tdma", "slot_s": slot_ms / 1e3}, "fidelity": fidelity})
    e.send(0, to, packets * PACKET)
    (ended,) = e.run()
    assert ended.at_ns == round(end_ms * MS)
    assert e.recorder.airtime_ns == packets * MS
    assert e.recorder.bits_transmitted == packets * PACKET


@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.usefixtures("slots_in_order")
def test_tdma_is_cut_in_its_slots(ether, fidelity):
    """Slots of 2 ms at 0, 4, 8 ms; at 6.5 ms four packets are through, and the next waits."""
    mac = {"kind": "tdma", "slot_s": 2e-3}
    e = ether({"mac": mac, "fidelity": fidelity, "ttl_s": 6.5e-3})
    e.send(0, 1, 10 * PACKET, parts=True)
    (ended,) = e.run()
    assert (ended.outcome, int(ended.arrived.sum())) == ("partial", 4)
    assert e.recorder.airtime_ns == 4 * MS
    assert e.recorder.bits_transmitted == 4 * PACKET


@pytest.mark.usefixtures("slots_in_order")
def test_tdma_retransmits_in_its_slots(ether):
    """1 / 0.7 attempts of 1 ms a packet, one a frame of 4 ms: the last one takes one slot only."""
    mac, lossy = {"kind": "tdma"}, {"kind": "fixed", "loss": 0.3}
    found = {}
    for fidelity in ("message", "packet"):
        radio = {"mac": mac, "packet_error": lossy, "fidelity": fidelity}
        e = ether(radio | {"arq": {"kind": "unlimited"}, "ttl_s": 9.0}, nodes=4)
        for k in range(400):
            e.send(0, 1, 5 * PACKET, at_ns=k * 10**9)
        took_ms = np.array([(x.at_ns - x.sent_ns) / MS for x in e.run()])
        attempts = np.array([x.attempts for x in e.ended])
        assert np.allclose(took_ms, (attempts - 1) * 4.0 + 1.0)
        found[fidelity] = took_ms
        assert abs(took_ms.mean() - (5 / 0.7 * 4 - 3)) < 4 * 4 * math.sqrt(5 * 0.3 / 400) / 0.7


@pytest.mark.parametrize("kind", ["orthogonal", "shared", "tdma", "aloha", "csma"])
@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_all_to_all_ends(ether, kind, fidelity):
    e = ether({"mac": {"kind": kind}, "fidelity": fidelity}, nodes=5)
    for i in range(5):
        for j in range(5):
            if i != j:
                e.send(i, j, 3 * PACKET, at_ns=1)
        e.send(i, [j for j in range(5) if j != i], PACKET, at_ns=1)
    assert len(e.run()) == 40
    assert all(e.air._queue.free)
    assert not e.air._flights


def test_a_message_travels_while_the_next_is_sent(ether):
    """3 km are 10.007 us; the radios are free at once."""
    e = ether({"propagation_delay": True}, distance_m=lambda i, j, t: 3_000.0)
    e.send(0, 1, PACKET)
    e.send(0, 1, PACKET)
    assert [x.at_ns for x in e.run()] == [MS + 10_007, 2 * MS + 10_007]


def test_only_who_is_in_carrier_sense_range_contends(ether):
    at_m = [0.0, 50.0, 500.0, 550.0]
    rule = FHSS.model_dump() | {"carrier_sense_m": 100.0}
    snr = np.kron(np.eye(2), np.full((2, 2), 100.0))
    e = ether({"mac": rule}, snr, nodes=4, distance_m=lambda i, j, t: abs(at_m[i] - at_m[j]))
    for src, dst in ((0, 1), (2, 3), (3, 2)):
        e.send(src, dst, 50 * PACKET)
    ends = {x.src: x.at_ns for x in e.run()}
    alone = FHSS.medium(1, 4)
    at_once_ns = 1e9 * (FHSS.difs_s + FHSS.slot_s * (FHSS.cw_min - 1) / 2)  # before the first
    assert ends[0] == pytest.approx(50 * (MS + alone.wait_ns) - at_once_ns, rel=1e-6)
    assert min(ends[2], ends[3]) > 1.6 * ends[0]


HIDDEN = FHSS.model_dump() | {"carrier_sense_m": 100.0}


def from_two_sides(ether, at_m, snr=100.0, **radio):
    """0 and 2 send ten packets to 1, between them."""
    keys = {"mac": HIDDEN, "packet_error": {"kind": "outage"}}
    e = ether(keys | radio, snr, nodes=3, distance_m=lambda i, j, t: abs(at_m[i] - at_m[j]))
    for src in (0, 2):
        e.send(src, 1, 10 * PACKET)
    return {x.src: x.outcome for x in e.run()}


def test_senders_that_do_not_hear_each_other_collide(ether):
    retries = {"arq": {"kind": "abort", "max_attempts": 2}}
    assert from_two_sides(ether, [0.0, 45.0, 90.0]) == {0: "delivered", 2: "delivered"}
    assert "collision" in from_two_sides(ether, [0.0, 75.0, 150.0], **retries).values()
    # 0 is heard beside 2 (12.2 dB), as long as its packets do not come second
    snr = np.full((3, 3), 100.0)
    snr[2, 1] = 5.0
    snr[0, 2] = snr[2, 0] = 1e-3  # acknowledgements arrive
    by_power = {"mac": HIDDEN | {"capture": True}}
    one_sided = from_two_sides(ether, [0.0, 75.0, 150.0], snr, **retries, **by_power)
    assert one_sided == {0: "delivered", 2: "collision"}


@pytest.mark.slow
@pytest.mark.parametrize("rate_hz", [20.0, 100.0])
def test_rare_hidden_packets_are_those_of_pure_aloha(ether, rate_hz):
    """Single packets that nobody repeats, of senders that hear nobody: exp(-2 G) get through."""
    n, packet_s, rng = 20, 1e-3, np.random.default_rng(3)
    rule = Csma(difs_s=0.0, carrier_sense_m=100.0, cw_min=2, stages=0, slot_s=1e-9).model_dump()
    keys = {"mac": rule, "packet_error": {"kind": "outage"}, "arq": {"kind": "none"}}
    e = ether(keys, nodes=n + 1, distance_m=lambda i, j, t: 150.0)
    times_s = np.sort(rng.uniform(0.0, 4_000 / rate_hz, 4_000))
    for k, at_s in enumerate(times_s):
        e.send(k % n, n, PACKET, at_ns=round(at_s * S))
    ended = e.run()
    got = sum(x.outcome == "delivered" for x in ended) / len(ended)
    want = math.exp(-2.0 * rate_hz * packet_s)
    assert abs(got - want) < 4 * binomial_sd(want, len(ended)) + 0.02


def test_csma_sends_for_as_long_as_its_packets_take_whatever_their_rates(ether):
    """A lone sender sends all the time but for its waits, whatever rates its fades have."""
    still = {"kind": "none"}

    def sent(packets, fading):
        keys = {"mac": {"kind": "csma"}, "fidelity": "message", "bandwidth_hz": 1e6}
        e = ether({**keys, "fading": fading, "rate": {"kind": "shannon_gap", "min_rate_bps": 1e4}})
        e.send(0, 1, packets * 1_000)
        (x,) = e.run()
        return x.at_ns, e.spent.sending_ns[0]

    (one_ns, one_sent_ns), (two_ns, two_sent_ns) = sent(1, still), sent(2, still)
    first_ns = one_ns - one_sent_ns
    wait_ns = two_ns - two_sent_ns - first_ns
    for coherence_s in (5e-4, 2e-3, 2e-2):
        took_ns, sent_ns = sent(300, {"kind": "rayleigh", "coherence_s": coherence_s})
        assert sent_ns == pytest.approx(took_ns - first_ns - 299 * wait_ns, abs=700)
