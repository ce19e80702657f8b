"""Message by message and packet by packet, networks are the same; and what the textbooks say.

Two levels that share a rule can't check it, so each is also held against a formula that neither
uses: Bianchi's fixed point, Abramson's and Roberts' exponentials, the standard's first access.
"""

import math

import numpy as np
import pytest

from netsim.channels.mac._dcf import fixed_point, two_hidden_senders
from netsim.channels.mac.csma import ContentionProblem, Csma, Hidden, Sender

from .bianchi import throughput_bps
from .media import FAMILY, MEDIA, named, of_cells, radio, to_one

MS, S = 1_000_000, 1_000_000_000
BOTH = ["message", "packet"]


def many(found):
    return pytest.mark.parametrize("mac", found, ids=named)


def over_time(ether, mac, senders, packets, fidelity, seeds, **keys):
    """Mean time to the last of messages that begin together [ms], and its standard error."""
    ends = []
    for seed in range(seeds):
        air = radio(mac, fidelity=fidelity, fading={"kind": "none"}, **keys)
        e = ether(air, nodes=senders + 1, seed=seed, base_stations=of_cells(mac))
        to_one(e, range(1, senders + 1), packets)
        ends.append(max(x.at_ns for x in e.run()) / MS)
    return np.mean(ends), np.std(ends, ddof=1) / math.sqrt(seeds)


@pytest.mark.thinned(2)
@many(MEDIA)
@pytest.mark.parametrize("senders", [1, 3, pytest.param(12, marks=pytest.mark.slow)])
def test_both_levels_take_as_long(ether, mac, senders):
    one, each = (over_time(ether, mac, senders, 40, fidelity, 8) for fidelity in BOTH)
    assert abs(one[0] - each[0]) < 0.05 * each[0] + 4 * math.hypot(one[1], each[1])


def dcf(mbps, limit, fidelity, **keys):
    arq = {"kind": "unlimited"} if limit is None else {"kind": "hole", "max_attempts": limit}
    return {
        "mac": {"kind": "csma"},
        "packet_payload_bytes": 1500,
        "packet_header_bytes": 40,
        "attempt_overhead_s": 20e-6,
        "rate": {"kind": "fixed", "rate_bps": mbps * 1e6},
        "packet_error": {"kind": "fixed", "loss": 0.0},
        "fading": {"kind": "none"},
        "arq": arq,
        "fidelity": fidelity,
    } | keys


def test_a_message_of_one_packet_waits_for_the_one_on_the_air(ether):
    """Never two packets in less time than the channel needs, and on average as frame by frame."""
    ends = {}
    for fidelity in BOTH:
        ends[fidelity] = []
        for seed in range(25):
            keys = radio({"kind": "csma"}, fading={"kind": "none"}, fidelity=fidelity)
            e = ether(keys, nodes=3, seed=seed)
            for node, at_ns in ((1, MS), (2, MS + 20_000 + 39_000 * seed)):
                e.send(node, 0, 1_000, at_ns=at_ns)
            ends[fidelity].append(max(x.at_ns for x in e.run()) - MS)
    assert min(ends["message"]) >= 2 * MS
    assert np.mean(ends["message"]) == pytest.approx(np.mean(ends["packet"]), rel=0.02)


SATURATED = {}


def saturated_bps(ether, senders, mbps, limit, fidelity, seconds, seed=0):
    """Payload that arrives of senders that always have more to send; played once."""
    key = senders, mbps, limit, fidelity, seconds, seed
    if key not in SATURATED:
        e = ether(dcf(mbps, limit, fidelity, ttl_s=seconds), nodes=senders + 1, seed=seed)
        for node in range(1, senders + 1):
            e.send(node, 0, round(mbps * 1e6 * seconds / 12_000) * 12_000, parts=True)
        arrived = [x.arrived.sum() for x in e.run() if x.arrived is not None]
        SATURATED[key] = sum(arrived) * 12_000 / seconds
    return SATURATED[key]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("mbps", [6, 54])
@pytest.mark.parametrize("limit", [None, 7])
@pytest.mark.parametrize(
    "senders", [5, 20, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 10, 25, 32, 50, 100))]
)
def test_saturated_senders_carry_what_bianchi_says(ether, senders, limit, mbps):
    frame_s = 20e-6 + 1540 * 8 / (mbps * 1e6)
    want = throughput_bps(senders, frame_s, 12_000, mbps, limit)
    got = saturated_bps(ether, senders, mbps, limit, "message", 50.0 if mbps == 6 else 5.0)
    assert got == pytest.approx(want, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("senders", "limit", "mbps"),
    [
        (senders, limit, mbps)
        for number, senders in enumerate([5, 20, 32, 50, 100])
        for limit, mbps in ([(None, 6), (7, 54)], [(7, 6), (None, 54)])[number % 2]
    ],
)
def test_saturated_senders_carry_as_much_frame_by_frame(ether, senders, limit, mbps):
    """Within 3 %; every two settings meet."""
    one = saturated_bps(ether, senders, mbps, limit, "message", 50.0 if mbps == 6 else 5.0)
    each = saturated_bps(ether, senders, mbps, limit, "packet", 10.0 if mbps == 6 else 1.0)
    assert one == pytest.approx(each, rel=0.03)


@pytest.mark.parametrize("eifs_s", [None, 94e-6])
@pytest.mark.parametrize(
    "senders", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 5, 20))]
)
def test_radios_listen_for_as_long(ether, senders, eifs_s):
    """Packets that collide are found by none, and answers are sent and heard, at both levels."""
    found, mac = [], {"kind": "csma", "eifs_s": eifs_s}
    for fidelity, seconds in zip(BOTH, (20.0, 5.0), strict=True):
        e = ether(dcf(6, 7, fidelity, ttl_s=seconds, mac=mac), nodes=senders + 1)
        for node in range(1, senders + 1):
            e.send(node, 0, round(500 * seconds) * 12_000, parts=True)
        e.run()
        spent = e.spent
        hears = np.add(spent.receiving_ns, spent.overheard_ns) / seconds
        found.append((hears[0], hears[1:].mean(), spent.sending_ns[0] / seconds))
    assert found[0] == pytest.approx(found[1], rel=0.04)


def apart_m(one, other, time_ns):
    """Two senders around node 2, out of each other's range."""
    return 1.0 if 2 in (one, other) else 5.0


HIDDEN_LOSS = {"packet_error": {"kind": "outage"}, "threshold_db": 4.0}
HIDDEN = {"mac": {"kind": "csma", "carrier_sense_m": 2.0}, "packet_error": {"kind": "outage"}}


@pytest.mark.slow
def test_who_hears_no_carrier_overhears_nothing(ether):
    """Beyond the range of the carrier sense: of a hidden sender only the answers are heard."""
    found = []
    for fidelity, seconds in zip(BOTH, (20.0, 10.0), strict=True):
        e = ether(dcf(6, 7, fidelity, ttl_s=seconds, **HIDDEN), nodes=3, distance_m=apart_m)
        for node in (0, 1):
            e.send(node, 2, round(500 * seconds) * 12_000, parts=True)
        e.run()
        spent = e.spent
        hears = np.add(spent.receiving_ns, spent.overheard_ns) / seconds / 1e9
        found.append((hears[2], np.mean(spent.sending_ns[:2]) / seconds / 1e9, hears[:2].mean()))
    (packets, sent, answers), each = found
    assert packets == pytest.approx(each[0], rel=0.08)  # the chain's throughput is within 5 %
    assert sent == pytest.approx(each[1], rel=0.02)
    assert answers == pytest.approx(each[2], rel=0.2)  # 5 ms of a second, by some 90 packets


# places on a line [m], power over noise at 1 m of each, who sends to whom, carrier-sense range [m]
PLACES = {
    "hidden at one receiver": ((0.0, -10.0, 11.0), (1e7, 1e7, 1e7), ((1, 0), (2, 0)), 15.0),
    "one ten times as loud": ((0.0, -10.0, 10.0), (1e7, 1e7, 1e6), ((1, 0), (2, 0)), 15.0),
    "receivers out of range": ((0.0, 10.0, 25.0, 35.0), (1e5,) * 4, ((0, 1), (3, 2)), 12.0),
    "contenders, receivers out of range": (
        (0.0, -14.0, 10.0, 24.0), (1e6,) * 4, ((0, 1), (2, 3)), 15.0
    ),
    "one loses answers alone": ((0.0, -10.0, 11.0, 40.0), (1e7,) * 4, ((1, 0), (2, 3)), 15.0),
    "as weak as noise": ((0.0, 10.0, 30.0, 24.0), (3e4, 1e4, 3e3, 2.7e3), ((0, 1), (3, 2)), 15.0),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("capture", [False, True])
@pytest.mark.parametrize("places", PLACES)
def test_packets_that_overlap_are_judged_alike(ether, places, capture):
    """Preambles that receivers find come first, power after them."""
    at_m, power, flows, range_m = PLACES[places]
    apart_m = np.abs(np.subtract.outer(at_m, at_m))
    snr = np.array(power)[:, None] / np.maximum(apart_m, np.eye(len(at_m))) ** 3
    mac, found = {"kind": "csma", "carrier_sense_m": range_m, "capture": capture}, []
    for fidelity, seconds in zip(BOTH, (10.0, 6.0), strict=True):
        keys = dcf(6, 7, fidelity, ttl_s=seconds, mac=mac, **HIDDEN_LOSS)
        e = ether(keys, snr, nodes=len(at_m), distance_m=lambda i, j, _: float(apart_m[i, j]))
        for src, dst in flows:
            e.send(src, dst, round(500 * seconds) * 12_000, parts=True)
        came = {x.src: 0 if x.arrived is None else x.arrived.sum() for x in e.run()}
        found.append([came[src] / seconds for src, _ in flows])
    assert found[0] == pytest.approx(found[1], rel=0.1, abs=20)  # packets/s of some 450


@pytest.mark.slow
def test_hidden_senders_of_single_packets_carry_what_their_chain_says(ether):
    """Messages that follow each other at once change nothing for the other sender's attempt."""
    e = ether(dcf(6, 7, "message", **HIDDEN), nodes=3, distance_m=apart_m)

    def goes_on(tx, outcome, arrived):
        done(tx, outcome, arrived)
        if e.env.now < 20 * S:
            e.env.call_after(0, e.send, tx.src, 2, 12_000)  # after the other one has been told

    done, e._done = e._done, goes_on
    e.send(0, 2, 12_000)
    e.send(1, 2, 12_000, at_ns=1_300_000)
    ended = e.run()
    rate_hz = sum(x.attempts for x in ended) / 20
    fails = 1 - sum(x.outcome == "delivered" for x in ended) / sum(x.attempts for x in ended)
    one = Sender(20e-6 + 1540 * 8 / 6e6, 44e-6, False, 7, 0.0)
    hidden = tuple(((Hidden(1 - k, 1.0, 1.0, False),),) for k in (0, 1))
    access = Csma().access(ContentionProblem((one, one), ((), ()), (), hidden))[0]
    assert rate_hz == pytest.approx(2 / access.attempt_s, rel=0.01)
    error = math.sqrt(fails * (1 - fails) / (20 * rate_hz))
    assert abs(fails - access.losses[0]) < 0.005 + 4 * error


@pytest.mark.slow
def test_answers_collide_where_both_packets_are_received(ether):
    """Of two that hear each other one hears both answers alike: its collisions cost attempts."""
    at_m = np.array([[0.0, 0.0], [10.0, 0.0], [-13.0, 0.0], [-13.0, 9.0]])
    apart_m = np.linalg.norm(at_m[:, None] - at_m[None], axis=2) + np.eye(4)
    found = []
    for fidelity in BOTH:
        keys = dcf(6, 7, fidelity, ttl_s=10.0, mac={"kind": "csma", "capture": True})
        e = ether(keys, mean_snr=1e8 / apart_m**3, nodes=4)
        e.send(0, 1, 5_000 * 12_000, parts=True)
        e.send(3, 2, 5_000 * 12_000, parts=True)
        packets = {x.src: (x.attempts, x.arrived.sum()) for x in e.run()}
        found.append([packets[0], packets[3]])
    (one, other), each = ([tried / came for tried, came in level] for level in found)
    assert one > 1.05 > 1.001 > other
    for got, want, of in zip((one, other), each, zip(*found, strict=True), strict=True):
        # Attempts at a packet have the variance p / (1 - p)^2, if each fails with p.
        error = math.sqrt(sum((want - 1.0) * want / came for _, came in of))
        assert abs(got - want) < 4 * error + 1e-3


def test_a_run_says_that_a_chain_of_two_hidden_senders_was_not_solved(ether, monkeypatch):
    for steps, told in ((1, 1), (two_hidden_senders.MOST_STEPS, 0)):
        monkeypatch.setattr(two_hidden_senders, "MOST_STEPS", steps)
        fixed_point.solve.cache_clear()
        e = ether(dcf(6, 7, "message", **HIDDEN), nodes=3, distance_m=apart_m)
        for node in (0, 1):
            e.send(node, 2, 120_000)
        e.run()
        fixed_point.solve.cache_clear()
        assert len(e.recorder.warnings.texts) == told


@pytest.mark.parametrize("fidelity", BOTH)
def test_a_sender_whose_link_has_no_rate_holds_nobody_up(ether, fidelity):
    """Among three that contend: of a rate that follows the channel, one link is always under it."""
    snr = np.full((4, 4), 1e3)
    snr[1, 0] = snr[0, 1] = 1e-3
    rate = {"kind": "shannon_gap", "min_rate_bps": 1e6}
    fading = {"kind": "rayleigh", "coherence_s": 5e-3}
    e = ether(dcf(6, 7, fidelity, ttl_s=0.2, rate=rate, fading=fading), mean_snr=snr, nodes=4)
    for src in (1, 2, 3):
        e.send(src, 0, 50 * 12_000, at_ns=MS)
    assert sorted((x.src, x.outcome) for x in e.run()) == [
        (1, "deadline"), (2, "delivered"), (3, "delivered"),
    ]  # fmt: skip


@pytest.mark.thinned(2)
@pytest.mark.parametrize("fidelity", BOTH)
@pytest.mark.parametrize(
    "mac",
    [
        {"kind": "shared"},
        {"kind": "aloha"},
        {"kind": "tdma"},
        {"kind": "csma"},
        {"kind": "csma", "carrier_sense_m": 1.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("silent", [1, 3])
def test_senders_whose_links_have_no_rate_change_nothing(ether, fidelity, mac, silent):
    """Beside one that sends: it takes as long, to the nanosecond, and tries as often, as alone."""
    found = []
    for others in (0, silent):
        snr = np.full((8, 8), 1e5)
        for src in (2, 3, 4):
            snr[src, src + 3] = snr[src + 3, src] = 1e-3
        rate = {"kind": "shannon_gap", "min_rate_bps": 1e6}
        fading = {"kind": "rayleigh", "coherence_s": 0.1}
        keys = dcf(6, 7, fidelity, ttl_s=2.0, rate=rate, fading=fading, mac=mac)
        places = {"distance_m": lambda *_: 100.0} if "carrier_sense_m" in mac else {}
        e = ether(keys, mean_snr=snr, nodes=8, **places)
        for src in range(2, 2 + others):
            e.send(src, src + 3, 50 * 12_000)
        e.send(1, 0, 500 * 12_000, at_ns=MS)
        (mine,) = (x for x in e.run() if x.src == 1)
        found.append((mine.outcome, mine.attempts, mine.at_ns))
    assert found[0] == found[1]
    assert found[0][:2] >= ("delivered", 500)


@pytest.mark.slow
@pytest.mark.parametrize("csi_delay_s", [0.0, 0.03])
def test_senders_that_have_a_rate_now_and_then_contend_as_often_at_both_levels(ether, csi_delay_s):
    """Twelve to one receiver, fades of 100 ms, in a third of which a link has no rate."""
    tried = []
    for fidelity in BOTH:
        rate = {"kind": "shannon_gap", "min_rate_bps": 6e6, "csi_delay_s": csi_delay_s}
        fading = {"kind": "rayleigh", "coherence_s": 0.1}
        keys = dcf(6, None, fidelity, ttl_s=100.0, rate=rate, fading=fading)
        e = ether(keys, mean_snr=np.full((13, 13), 3.2), nodes=13)
        for src in range(1, 13):
            e.send(src, 0, 400 * 12_000)
        ended = e.run()
        assert {x.outcome for x in ended} == {"delivered"}
        tried.append(sum(x.attempts for x in ended) / (12 * 400))
    messages, frames = tried
    assert frames > 1.05
    assert messages == pytest.approx(frames, rel=0.03)


def test_a_run_says_that_its_contention_was_not_solved(ether, monkeypatch):
    monkeypatch.setattr(fixed_point, "ROUNDS", 1)
    fixed_point.solve.cache_clear()
    e = ether(dcf(6, 7, "message"), nodes=6)
    for node in range(1, 6):
        e.send(node, 0, 120_000)
    e.run()
    fixed_point.solve.cache_clear()
    (told,) = e.recorder.warnings.texts
    assert "senders" in told
    assert 'radio.fidelity = "packet"' in told
    monkeypatch.undo()
    e = ether(dcf(6, 7, "message"), nodes=6)
    for node in range(1, 6):
        e.send(node, 0, 120_000)
    e.run()
    assert not e.recorder.warnings.texts


@pytest.mark.parametrize("fidelity", BOTH)
def test_a_packet_that_finds_the_medium_idle_is_sent_at_once(ether, fidelity):
    """IEEE 802.11a, 1,000 bytes at 54 Mb/s: preamble, data, SIFS, acknowledgement."""
    want_us = 20 + 8_000 / 54 + 16 + 28
    keys = dcf(54, 7, fidelity, packet_payload_bytes=1000, packet_header_bytes=0)
    e = ether(keys, nodes=3)
    for number in range(5):
        e.send(number % 2, 2, 8_000, at_ns=MS * (1 + number))
    took_us = [(x.at_ns - x.sent_ns) / 1e3 for x in e.run()]
    assert took_us == pytest.approx([want_us] * 5, abs=0.01)
    e = ether(keys, nodes=3)
    e.send(0, 2, 8_000, at_ns=MS)
    e.send(1, 2, 8_000, at_ns=MS + round(1e3 * want_us) + 10_000)  # 10 us after its end
    assert e.run()[1].at_ns == pytest.approx(MS + 1e3 * (2 * want_us + 34), abs=20)


@pytest.mark.parametrize("fidelity", BOTH)
def test_broadcasts_of_one_instant_collide_where_the_medium_is_idle(ether, fidelity):
    e = ether(dcf(54, None, fidelity, ttl_s=1.0), nodes=4)
    for src in (0, 1):
        e.send(src, [j for j in range(4) if j != src], 12_000, at_ns=MS)
    assert {x.outcome for x in e.run()} == {"collision"}


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.1, 0.4])
def test_delays_of_a_few_packets_a_second(ether, load):
    """Ten senders of Poisson packets: mean delays of both levels."""
    delays = []
    for fidelity in BOTH:
        keys = dcf(54, 7, fidelity, packet_payload_bytes=1000, packet_header_bytes=0)
        e, rng = ether(keys, nodes=11, seed=1), np.random.default_rng(5)
        at_s = np.cumsum(rng.exponential(246e-6 / load, 1_500))
        for t, src in zip(at_s, rng.integers(1, 11, 1_500), strict=True):
            e.send(int(src), 0, 8_000, at_ns=1 + int(t * S))
        delays.append([(x.at_ns - x.sent_ns) / 1e3 for x in e.run()])
    one, each = (np.mean(d) for d in delays)
    error = math.hypot(*(np.std(d) / math.sqrt(len(d)) for d in delays))
    assert abs(one - each) < 0.06 * each + 4 * error


# -- random access ------------------------------------------------------------------------------

RANDOM = [
    mac for mac in MEDIA if FAMILY[mac["kind"]].random_access and not FAMILY[mac["kind"]].reserves
]


@pytest.mark.thinned(3)
@many(RANDOM)
@pytest.mark.parametrize("fidelity", BOTH)
def test_of_two_that_overlap_the_later_fares_as_the_earlier(ether, mac, fidelity):
    """Half a packet apart, with hardly a wait: both are lost."""
    mac = mac | {"attempt_rate": 1.0 if mac.get("slotted") else 50.0}
    e = ether(radio(mac, fidelity=fidelity, arq={"kind": "none"}), nodes=3)
    for k in range(400):
        e.send(1, 0, 1_000, at_ns=1 + 10 * k * MS)
        e.send(2, 0, 1_000, at_ns=1 + 10 * k * MS + MS // 2)
    lost = {src: 0 for src in (1, 2)}
    for x in e.run():
        lost[x.src] += x.outcome != "delivered"
    assert abs(lost[1] - lost[2]) < 4 * math.sqrt(400)
    assert min(lost.values()) > 350


@pytest.mark.slow
@pytest.mark.thinned(4)
@many(RANDOM)
@pytest.mark.parametrize("fidelity", BOTH)
@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_poisson_packets_get_through_as_abramson_and_roberts_say(ether, mac, fidelity, rate):
    """exp(-2G) of G packets a packet's time, in slots exp(-G); delays by their waits."""
    mac, load, count = mac | {"attempt_rate": rate}, 0.15, 2_000
    e = ether(radio(mac, fidelity=fidelity, arq={"kind": "none"}), nodes=201, seed=3)
    rng = np.random.default_rng(1)
    for at_ms in np.cumsum(rng.exponential(1 / load, count)):
        e.send(int(rng.integers(1, 201)), 0, 1_000, at_ns=1 + int(at_ms * MS))
    ended = e.run()
    want = math.exp(-load if mac.get("slotted") else -2 * load)
    got = np.mean([x.outcome == "delivered" for x in ended])
    assert abs(got - want) < 4 * math.sqrt(want * (1 - want) / count)
    delays = [(x.at_ns - x.sent_ns) / MS for x in ended]
    want_ms = 1 / rate + (0.5 if mac.get("slotted") else 1.0)
    assert abs(np.mean(delays) - want_ms) < 0.03 * want_ms + 4 * np.std(delays) / math.sqrt(count)


@many([mac for mac in RANDOM if mac.get("slotted")])
@pytest.mark.parametrize("packets", [1, 32, 33, 50])
@pytest.mark.parametrize("to", [0, [0, 2]])
def test_the_first_packet_waits_for_a_slot_however_long_the_message(ether, mac, packets, to):
    """Slots of 1 ms, each taken: from 2.3 ms on the next one begins at 3 ms."""
    e = ether(
        radio(mac | {"attempt_rate": 1.0}, arq={"kind": "none"}, fading={"kind": "none"}), nodes=3
    )
    e.send(1, to, 1_000 * packets, at_ns=2_300_000)
    e.send(1, to, 1_000 * packets, at_ns=200 * MS)
    assert {x.at_ns for x in e.run()} == {(3 + packets) * MS, (200 + packets) * MS}
