"""Interference that follows the interferers, at message level and at packet level."""

import math

import numpy as np
import pytest

from netsim.links.radio.phy.background import FEW, Background, Interferer
from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.phy.mean_snr import MeanSnr, PlacedMeanSnr
from netsim.links.radio.table import Radio
from netsim.rng import Streams

MS, S = 1_000_000, 1_000_000_000
PACKET = 1_000
"""Bits of a packet, which takes a millisecond."""
FIDELITIES = pytest.mark.parametrize("fidelity", ["message", "packet"])


# -- interferers that move ---------------------------------------------------------------------


class DrivePast:
    """0 sends to 1 over 50 m; 2 and 3, 10 m apart, drive past them at 20 m/s."""

    fastest_m_per_s = 20.0
    starts_m = np.array([[50.0, 0.0], [0.0, 0.0], [-1000.0, 30.0], [-1000.0, 40.0]])

    def at(self, nodes, time_ns):
        found = self.starts_m[list(nodes)].copy()
        found[:, 0] += [20.0 * time_ns / S if i > 1 else 0.0 for i in nodes]
        return found


def lost_to_who_drives_past(ether, fidelity, begins_ns, lasts_s):
    """Packets of 1 s that 0 loses while 2 sends throughout, in messages that last so long."""
    radio = {
        "mac": {"kind": "shared"},
        "packet_payload_bytes": 125_000,
        "tx_power_dbm": 50.0,
        "path_loss": {"kind": "log_distance", "exponent": 3.0},
        "packet_error": {"kind": "outage"},
        "threshold_db": 5.0,
        "arq": {"kind": "none"},
        "fidelity": fidelity,
    }
    table = Radio.model_validate(radio | {"fading": {"kind": "none"}})
    track = DrivePast()
    means = PlacedMeanSnr(table, (50.0,) * 4, track.starts_m, Streams(0), math.inf, track)
    e = ether(radio, means, nodes=4)
    e.send(0, 1, 100_000_000, at_ns=begins_ns, parts=True)
    for k in range(round(104 / lasts_s)):
        e.send(2, 3, round(lasts_s * 1_000_000), at_ns=round(k * lasts_s * S))
    (ended,) = [x for x in e.run() if x.src == 0]
    return ended.lost


@pytest.mark.thinned(4)
@FIDELITIES
@pytest.mark.parametrize("lasts_s", [104.0, 1.3])
@pytest.mark.slow
def test_a_sender_that_drives_past_costs_the_packets_that_it_is_near_for(ether, fidelity, lasts_s):
    """It is too loud nearer than 50 m * 10^(5 dB / 3) = 73.4 m, for 6.70 s at 20 m/s.

    So many packets of 1 s begin meanwhile on average: 6 or 7, by when the first one begins.
    """
    nearest_m = 50.0 * 10 ** (0.5 / 3.0)
    expected = 2.0 * math.sqrt(nearest_m**2 - 30.0**2) / 20.0
    assert expected == pytest.approx(6.698, abs=5e-4)
    phases = 20
    lost = [
        lost_to_who_drives_past(ether, fidelity, k * S // phases, lasts_s) for k in range(phases)
    ]
    assert set(lost) == {6, 7}
    # phases are a step of movement apart, so the mean errs by no more than one of them
    assert abs(np.mean(lost) - expected) <= 1.0 / phases


# -- interferers that fade ---------------------------------------------------------------------

MESSAGES = 200


def through_a_fading_interferer(ether, fidelity, arq, broadcast=False, cut_ms=None):
    """100 packets of 10 ms, Rayleigh blocks of 10 ms, I/S = .3, threshold 3 dB; what became of all.

    `cut_ms`: the interferer sends messages of this length instead of one throughout.
    """
    snr = np.full((5, 5), 1e12)
    snr[0, 1] = snr[0, 4] = 1e9
    snr[2, 1] = snr[2, 4] = 0.3e9
    snr[0, 3] = 0.0
    radio = {
        "mac": {"kind": "shared"},
        "rate": {"kind": "fixed", "rate_bps": 1e5},
        "fading": {"kind": "rayleigh", "coherence_s": 0.01},
        "packet_error": {"kind": "outage"},
        "threshold_db": 3.0,
        "arq": arq,
        "fidelity": fidelity,
    }
    e = ether(radio, snr, nodes=5, seed=3)
    for k in range(MESSAGES):
        at_ns = k * 5 * S
        for part in range(1 if cut_ms is None else 4_000 // cut_ms):
            lasts_ms = cut_ms or 4_000
            e.send(2, 3, lasts_ms * PACKET // 10, at_ns=at_ns + part * lasts_ms * MS)
        parts = arq["kind"] == "none"
        e.send(0, [1, 4] if broadcast else 1, 100 * PACKET, at_ns=at_ns, parts=parts)
    return [x for x in e.run() if x.src == 0]


def assert_binomial(lost):
    """Mean and variance of 100 independent packets, of which 1 - 1 / (1 + t I/S) = .374 are lost.

    The variance estimated from n normal values has the relative standard error sqrt(2 / (n - 1)).
    """
    p, n = 1.0 - 1.0 / (1.0 + 0.3 * 10**0.3), len(lost)
    assert 100 * p == pytest.approx(37.44, abs=0.01)
    variance = 100 * p * (1.0 - p)
    assert variance == pytest.approx(23.4, abs=0.05)
    assert abs(np.mean(lost) - 100 * p) < 4 * math.sqrt(variance / n)
    assert abs(np.var(lost, ddof=1) - variance) < 4 * variance * math.sqrt(2 / (n - 1))


@pytest.mark.slow
@FIDELITIES
@pytest.mark.parametrize("cut_ms", [None, 370], ids=["throughout", "in-pieces"])
def test_an_interferer_fades_from_block_to_block(ether, fidelity, cut_ms):
    ended = through_a_fading_interferer(ether, fidelity, {"kind": "none"}, cut_ms=cut_ms)
    assert_binomial([x.lost for x in ended])
    assert {x.outcome for x in ended} == {"partial"}


@pytest.mark.slow
@FIDELITIES
def test_it_fades_at_each_receiver_of_a_broadcast(ether, fidelity):
    ended = through_a_fading_interferer(ether, fidelity, {"kind": "none"}, broadcast=True)
    one, other = ([x.lost for x in ended if x.dst == j] for j in (1, 4))
    assert_binomial(one)
    assert_binomial(other)
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / math.sqrt(MESSAGES)


@pytest.mark.slow
@pytest.mark.thinned(2)
@FIDELITIES
def test_seven_tries_get_a_message_past_a_fading_interferer(ether, fidelity):
    """(1 - .3744^7)^100 = .902: each try is in a block of its own."""
    ended = through_a_fading_interferer(ether, fidelity, {"kind": "abort", "max_attempts": 7})
    p = 1.0 - 1.0 / (1.0 + 0.3 * 10**0.3)
    want = (1.0 - p**7) ** 100
    assert want == pytest.approx(0.902, abs=5e-4)
    got = np.mean([x.outcome == "delivered" for x in ended])
    assert abs(got - want) < 4 * math.sqrt(want * (1.0 - want) / MESSAGES)
    assert {x.outcome for x in ended} == {"delivered", "collision"}


# -- bursts shorter than a packet --------------------------------------------------------------


def second_packets_under_two_bursts(ether, fidelity, arq, to=1, rises=(0.5, 0.75)):
    """Messages of 3 packets, the second under two bursts, one after the other, of .2 ms each.

    Each burst alone would have it lost with the probability of `rises`; alone it is never lost.
    """
    m, snr = 1e-6, np.zeros((7, 7))
    snr[0, 1] = snr[0, 6] = snr[2, 3] = snr[4, 5] = 1e3
    for src, lost in zip((2, 4), rises, strict=True):
        snr[src, [1, 6]] = -math.log1p(-lost) / m * 1e3 - 1.0
    radio = {
        "mac": {"kind": "shared"},
        "packet_error": {"kind": "exponential_snr", "m": m},
        "arq": arq,
        "fidelity": fidelity,
    }
    e = ether(radio, snr, nodes=7, seed=2)
    for k in range(MESSAGES):
        at_ns = k * 10 * MS
        e.send(0, to, 3 * PACKET, at_ns=at_ns, parts=arq["kind"] == "none")
        e.send(2, 3, PACKET // 5, at_ns=at_ns + MS + 100_000)
        e.send(4, 5, PACKET // 5, at_ns=at_ns + MS + 500_000)
    return [x for x in e.run() if x.src == 0]


@FIDELITIES
@pytest.mark.parametrize("to", [1, [1, 6]], ids=["unicast", "broadcast"])
@pytest.mark.parametrize("rises", [(0.5, 0.75), (0.75, 0.5)], ids=["louder", "softer"])
@pytest.mark.slow
def test_a_packet_meets_the_louder_of_two_bursts(ether, fidelity, to, rises):
    """Whichever comes first: it is lost with .75."""
    ended = second_packets_under_two_bursts(ether, fidelity, {"kind": "none"}, to, rises=rises)
    lost = [x.arrived is not None and not x.arrived[1] for x in ended]
    assert abs(np.mean(lost) - 0.75) < 4 * math.sqrt(0.75 * 0.25 / len(lost))
    assert all(x.arrived[[0, 2]].all() for x in ended if x.arrived is not None)


@pytest.mark.thinned(3)
@FIDELITIES
@pytest.mark.parametrize(("limit", "share"), [(1, 0.25), (2, 1.0)])
def test_what_it_costs_is_that_attempt(ether, fidelity, limit, share):
    arq = {"kind": "abort", "max_attempts": limit}
    ended = second_packets_under_two_bursts(ether, fidelity, arq)
    came = [x.outcome == "delivered" for x in ended]
    assert abs(np.mean(came) - share) <= 4 * math.sqrt(share * (1.0 - share) / MESSAGES)
    attempts = {x.attempts for x in ended if x.outcome == "delivered"}
    assert attempts == ({3} if limit == 1 else {3, 4})
    assert {(x.attempts, x.lost, x.outcome) for x in ended if x.outcome != "delivered"} == (
        {(2, 1, "collision")} if limit == 1 else set()
    )


@FIDELITIES
@pytest.mark.parametrize(
    ("arq", "ends_ms", "attempts", "outcome"),
    [("hole", 4, 4, "delivered"), ("unlimited", 4, 4, "delivered"), ("none", 3, 3, "partial")],
)
def test_a_packet_under_way_keeps_its_rate(ether, fidelity, arq, ends_ms, attempts, outcome):
    """log2(1 + 1023) bits/s/Hz in 100 kHz: 1 ms a packet. The second meets a burst, and is lost."""
    snr = np.zeros((4, 4))
    snr[0, 1] = snr[2, 3] = 1023.0
    snr[2, 1] = 100.0
    radio = {
        "mac": {"kind": "shared"},
        "bandwidth_hz": 1e5,
        "rate": {"kind": "shannon_gap", "gap_db": 0.0, "min_rate_bps": 1e3},
        "packet_error": {"kind": "rate_outage"},
        "arq": {"kind": arq},
        "ttl_s": 1.0,
        "fidelity": fidelity,
    }
    e = ether(radio, snr, nodes=4)
    e.send(0, 1, 3 * PACKET, parts=True)
    e.send(2, 3, PACKET // 5, at_ns=1_500_000)
    (ended,) = [x for x in e.run() if x.src == 0]
    assert ended.at_ns == pytest.approx(ends_ms * MS, abs=3)
    assert (ended.attempts, ended.outcome) == (attempts, outcome)


# -- what a receiver hears ---------------------------------------------------------------------


class Wander(MeanSnr):
    """Mean SNRs that change every 7 ms, otherwise for each link."""

    moving = True

    def snr(self, src, others, time_ns):
        return np.array([self.pair_snr(src, j, time_ns) for j in others])

    def pair_snr(self, src, dst, time_ns):
        return 1.0 + (3 * src + dst + time_ns // (7 * MS)) % 5

    def holds_until_ns(self, src, dst, time_ns):
        return (time_ns // (7 * MS) + 1) * 7 * MS


class Stand(Wander):
    """Those of the first 7 ms."""

    moving = False

    def pair_snr(self, src, dst, time_ns):
        return super().pair_snr(src, dst, 0)

    def holds_until_ns(self, src, dst, time_ns):
        return None


FADES = {
    "none": {"kind": "none"},
    "blocks": {"kind": "rayleigh", "coherence_s": 0.003},
    "sinusoids": {"kind": "rayleigh", "process": "sum_of_sinusoids", "doppler_hz": 20.0},
    "exchange": {"kind": "rayleigh", "hold": "exchange"},
}


@pytest.mark.parametrize("means", [Stand(), Wander()], ids=["standing", "moving"])
@pytest.mark.parametrize("fading", FADES)
@pytest.mark.parametrize("interferers", [1, FEW, FEW + 3])
def test_an_interferer_has_the_snr_that_its_own_link_to_the_receiver_has(
    means, fading, interferers
):
    radio = Radio.model_validate({"fading": FADES[fading]})
    budget = LinkBudget(means, 1.0, (1.0,) * 10)

    def wakes(node, time_ns):
        return time_ns // (4 * MS) * 4 * MS, time_ns // (4 * MS)

    channel = RadioChannel(radio, budget, wakes, Streams(5))
    others = [Interferer(k, 1.0 / k, k * MS) for k in range(2, 2 + interferers)]
    blocks, time_ns = channel.blocks(0, 1, 0, 1_000, 1e6, interferers=others), 0
    for _ in range(20):
        block = next(blocks)

        def gains(k, at_ns=time_ns):
            since_ns = k * MS if fading == "exchange" else at_ns
            return channel.snr(k, 1, since_ns) / means.pair_snr(k, 1, since_ns)

        rise = 1.0 + sum(i.share * means.pair_snr(i.src, 1, time_ns) * gains(i.src) for i in others)
        assert block.noise_rise == pytest.approx(rise, rel=1e-12)
        wanted = means.pair_snr(0, 1, time_ns)
        wanted *= channel.snr(0, 1, 0 if fading == "exchange" else time_ns) / means.pair_snr(
            0, 1, 0 if fading == "exchange" else time_ns
        )
        assert block.snr == pytest.approx(wanted / rise, rel=1e-12)
        if block.length_ns is None:
            break
        time_ns += block.length_ns
    assert (block.length_ns is None) == (not means.moving and fading in ("none", "exchange"))


def test_it_does_not_matter_in_what_order_interference_is_asked_for():
    radio = Radio.model_validate({"fading": FADES["blocks"]})
    others = [Interferer(k, 1.0, 0) for k in range(2, 9)]
    times = [k * MS for k in range(0, 60, 2)]

    def asked(order):
        channel = RadioChannel(radio, LinkBudget(Wander(), 1.0, (1.0,) * 9), None, Streams(5))
        heard = Background(channel._mean_snr, channel._fading, 1, others)
        found = {t: heard.rise(t) for t in order}
        return [found[t] for t in times]

    forth = asked(times)
    assert asked(times[::-1]) == forth
    assert len(set(forth)) > 20


# -- who is told -------------------------------------------------------------------------------


def told_of(e, src):
    """Count the updates of the conditions of a sender's flights."""
    calls, right = [], e.air._sampler.change

    def change(flight, worse):
        if flight.src == src:
            calls.append((e.env.now, worse))
        right(flight, worse)

    e.air._sampler.change = change
    return calls


@pytest.mark.parametrize(
    ("inr", "error", "fading", "told"),
    [
        (0.9e-3, {"kind": "exponential_snr", "m": 40.0}, {"kind": "none"}, 0),  # not heard
        (1e-2, {"kind": "exponential_snr", "m": 40.0}, {"kind": "none"}, 2),
        (8.0, {"kind": "outage"}, {"kind": "none"}, 0),  # an SNR of 100 or 11: decoded
        (12.0, {"kind": "outage"}, {"kind": "none"}, 2),
        (12.0, {"kind": "fixed", "loss": 0.1}, {"kind": "none"}, 0),
        (0.9e-3, {"kind": "outage"}, {"kind": "rayleigh"}, 0),
        (0.9e-2, {"kind": "outage"}, {"kind": "rayleigh"}, 0),
        (2e-2, {"kind": "outage"}, {"kind": "rayleigh"}, 2),
    ],
)
def test_a_flight_is_told_of_interference_that_makes_a_difference(ether, inr, error, fading, told):
    snr = np.full((4, 4), 0.0)
    snr[0, 1] = snr[2, 3] = 100.0
    snr[2, 1] = inr
    radio = {"mac": {"kind": "shared"}, "packet_error": error, "fading": fading}
    e = ether(radio | {"threshold_db": 10.0, "arq": {"kind": "none"}}, snr, nodes=4)
    calls = told_of(e, 0)
    e.send(0, 1, 10 * PACKET)
    e.send(2, 3, 3 * PACKET, at_ns=2 * MS)
    e.run()
    assert calls == [(2 * MS, True), (5 * MS, False)][:told]


@pytest.mark.parametrize(
    "radio",
    [
        {"mac": {"kind": "shared"}},
        {"mac": {"kind": "shared"}, "fading": {"kind": "rayleigh"}},
        {"mac": {"kind": "aloha", "attempt_rate": 0.5}},
    ],
    ids=["shared", "fading", "aloha"],
)
def test_a_sender_whose_messages_follow_each_other_changes_nothing_in_between(ether, radio):
    snr = np.full((4, 4), 100.0)
    snr[0, 3] = 0.0
    e = ether({"packet_error": {"kind": "outage"}, "threshold_db": 10.0} | radio, snr, nodes=4)
    calls = told_of(e, 0)
    e.send(0, 1, 200 * PACKET)
    for _ in range(5):
        e.send(2, 3, PACKET, at_ns=2_500_000)
    ended = e.run()
    last_ns = max(x.at_ns for x in ended if x.src == 2)
    assert calls == [(2_500_000, True), (last_ns, False)]


def test_who_is_far_away_costs_nothing(ether):
    """Pairs in a row of which each hears its own partner alone: an event a message."""
    pairs = 100
    snr = np.full((2 * pairs, 2 * pairs), 1e-4)
    for k in range(pairs):
        snr[2 * k, 2 * k + 1] = 100.0
    radio = {"mac": {"kind": "shared"}, "fading": {"kind": "rayleigh"}}
    e = ether(radio | {"packet_error": {"kind": "outage"}}, snr, nodes=2 * pairs)
    told, right = [], e.air._sampler.change
    e.air._sampler.change = lambda flight, worse: (told.append(flight), right(flight, worse))
    for k in range(pairs):
        e.send(2 * k, 2 * k + 1, 10 * PACKET, at_ns=k * 50_000)
    assert len(e.run()) == pairs
    assert told == []


@FIDELITIES
@pytest.mark.parametrize("arq", ["none", "hole"])
def test_the_mean_snr_counts_interference_that_makes_no_difference(ether, fidelity, arq):
    """Three attempts of ten at an SNR of 100 / 9, the others at 100: all of them get through."""
    snr = np.full((4, 4), 0.0)
    snr[0, 1] = snr[2, 3] = 100.0
    snr[2, 1] = 8.0
    radio = {"mac": {"kind": "shared"}, "packet_error": {"kind": "outage"}, "threshold_db": 10.0}
    e = ether(radio | {"fidelity": fidelity, "arq": {"kind": arq}}, snr, nodes=4)
    e.send(0, 1, 10 * PACKET)
    e.send(2, 3, 3 * PACKET, at_ns=2_500_000)
    (ended,) = [x for x in e.run() if x.src == 0]
    assert ended.outcome == "delivered"
    assert 10 ** (ended.snr_db / 10) == pytest.approx((3 * 100 / 9 + 700) / 10)


@pytest.mark.parametrize(
    ("mac", "fidelity"),
    [
        ("shared", "message"),
        ("shared", "packet"),
        ("csma", "message"),  # frame by frame, backoffs part the two
        ("aloha", "message"),
        ("aloha", "packet"),
    ],
)
@pytest.mark.parametrize("packets", [1, 3])
def test_those_who_end_in_the_same_instant_have_collided(ether, fidelity, mac, packets):
    snr = np.full((4, 4), 100.0)
    rules = {
        "shared": {"kind": "shared"},
        "csma": {"kind": "csma", "carrier_sense_m": 50.0},
        "aloha": {"kind": "aloha", "slotted": True, "attempt_rate": 1.0},
    }
    radio = {
        "mac": rules[mac],
        "packet_error": {"kind": "outage"},
        "arq": {"kind": "none"},
        "fidelity": fidelity,
    }
    e = ether(radio, snr, nodes=4, distance_m=lambda i, j, t: 100.0)
    e.send(0, 1, packets * PACKET)
    e.send(2, 3, packets * PACKET)
    ended = e.run()
    assert [x.at_ns for x in ended] == [ended[0].at_ns] * 2
    assert [x.outcome for x in ended] == ["collision"] * 2


@FIDELITIES
@pytest.mark.parametrize("loud", [1e7, 1e17, 1e25])
def test_who_was_drowned_counts_when_the_loud_one_has_gone(ether, fidelity, loud):
    """0 to 1 at an SNR of 1,000 beside 2, of 9 over noise: 100, whatever 4 was while it sent."""
    snr = np.full((6, 6), 0.0)
    snr[0, 1], snr[2, 1], snr[4, 1] = 1_000.0, 9.0, loud
    snr[2, 3] = snr[4, 5] = 1e9
    for threshold_db, lost in ((19.9, 3), (20.1, 50)):
        radio = {
            "mac": {"kind": "shared"}, "packet_error": {"kind": "outage"}, "arq": {"kind": "none"},
            "threshold_db": threshold_db, "fidelity": fidelity,
        }  # fmt: skip
        e = ether(radio, snr, nodes=6)
        e.send(0, 1, 50 * PACKET, parts=True)
        e.send(2, 3, 60 * PACKET)
        e.send(4, 5, 2 * PACKET, at_ns=4_500_000)
        (found,) = [x for x in e.run() if x.src == 0]
        assert found.lost == lost
