"""CSMA/CA frame by frame: each rule of the DCF on two or three radios, by hand.

A packet of 1000 bits takes 1 ms. With the defaults of 802.11a a slot is 9 us, SIFS 16, DIFS 34 and
the acknowledgement, at 6 Mb/s, 44 us.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from netsim.channels.mac.csma import PREAMBLE_SNR, Csma
from netsim.channels.sleep import Rhythm
from netsim.links.radio.mac.frame_level.frame import Frame, Timing
from netsim.links.radio.mac.frame_level.hearing import NO_ENERGY, Heard
from netsim.links.radio.mac.frame_level.receiver import Decoder, Receivers
from netsim.links.radio.table import Radio
from netsim.rng import Streams

US, MS = 1_000, 1_000_000
PACKET = 1_000
SLOT, SIFS, DIFS, ACK, RTS, CTS = (us * US for us in (9, 16, 34, 44, 52, 44))
EXCHANGE = MS + SIFS + ACK
"""From the beginning of a frame to the end of its acknowledgement."""
ANSWER = SIFS + SLOT + 20 * US
"""Within which an answer has to begin."""
STRICT = {"packet_error": {"kind": "outage"}}
"""Decodes at 5 dB and more."""


@pytest.fixture
def frames(ether):
    """Make an Ether that plays CSMA frame by frame: `frames({mac keys}, **what ether takes)`."""

    def make(mac=None, radio=None, **keys):
        radio = {"fidelity": "packet", "arq": {"kind": "hole", "max_attempts": 7}} | (radio or {})
        return ether(radio | {"mac": {"kind": "csma"} | (mac or {})}, **keys)

    return make


def snr_of(nodes, *pairs, both_ways=True):
    """SNR 100 between the pairs, 0 between others."""
    snr = np.zeros((nodes, nodes))
    for i, j in pairs:
        snr[i, j] = 100.0
        if both_ways:
            snr[j, i] = 100.0
    return snr


def ns(ended):
    return [x.at_ns for x in ended]


def test_a_frame_is_sent_at_once_on_an_idle_medium_and_acknowledged(frames):
    e = frames()
    e.send(0, 1, PACKET, at_ns=MS)
    (ended,) = e.run()
    assert (ended.outcome, ended.attempts, ended.lost) == ("delivered", 1, 0)
    assert ended.at_ns == MS + EXCHANGE
    assert ended.snr_db == pytest.approx(20.0)


def test_packets_of_a_message_are_apart_by_a_backoff_of_less_than_w_slots(frames):
    """Fifty of them: a mean of 7.5 slots, and every number from 0 to 15."""
    e = frames()
    for _ in range(400):
        e.send(0, 1, PACKET)
    gaps = np.diff(ns(e.run())) - DIFS - EXCHANGE
    assert set(gaps % SLOT) == {0}
    assert set(gaps // SLOT) == set(range(16))
    assert np.mean(gaps / SLOT) == pytest.approx(7.5, abs=4 * 4.61 / 20)


def test_time_on_the_air_and_energy_are_those_of_the_frames(frames):
    """Data count as airtime; who sends an acknowledgement pays for it, who overhears for both."""
    e = frames(nodes=3)
    e.send(0, 1, 3 * PACKET)
    e.run()
    assert e.recorder.airtime_ns == 3 * MS
    assert e.spent.sending_ns == [3 * MS, 3 * ACK, 0]
    assert e.spent.receiving_ns == [3 * ACK, 3 * MS, 3 * (MS + ACK)]
    assert e.spent.bits == [3 * PACKET, 0, 0]


def test_the_window_doubles_until_the_attempts_are_used_up(frames):
    """Attempt k + 1 follows attempt k by the wait for an answer, DIFS and up to 16 * 2^k slots."""
    spans, most = [], [0] * 6
    for seed in range(60):
        e = frames(radio=STRICT, mean_snr=snr_of(2), seed=seed)
        sent = watch(e, 0)
        e.send(0, 1, PACKET)
        (ended,) = e.run()
        assert (ended.outcome, ended.attempts, ended.lost) == ("outage", 7, 1)
        assert ended.at_ns == sent[-1] + MS + ANSWER
        slots = (np.diff(sent) - MS - ANSWER - DIFS) / SLOT
        spans.append(slots)
        most = np.maximum(most, slots)
    windows = 32 * 2 ** np.arange(6)
    assert (most < windows).all()
    assert (most > 0.8 * windows).all()
    mean = np.mean(spans, axis=0)
    assert mean == pytest.approx((windows - 1) / 2, abs=4 * 1024 / np.sqrt(12 * 60))


def watch(e, node):
    """Record the starts of a node's data frames, in a list that fills while the air is played."""
    sent, medium = [], e.air._frames._stations[node]._medium
    send = medium.send

    def seen(frame):
        if frame.kind == "data" and frame.src == node:
            sent.append(e.env.now)
        send(frame)

    medium.send = seen
    return sent


def test_a_lost_acknowledgement_costs_an_attempt_but_no_packet(frames):
    """The receiver's frames do not reach the sender: what has arrived is sent seven times."""
    e = frames(radio=STRICT, mean_snr=snr_of(2, (0, 1), both_ways=False))
    e.send(0, 1, 2 * PACKET, parts=True)
    (ended,) = e.run()
    assert (ended.outcome, ended.attempts, ended.lost) == ("delivered", 14, 0)
    assert e.spent.sending_ns == [14 * MS, 14 * ACK]


def test_a_sender_that_hears_another_lets_it_finish(frames):
    """The second message comes while the first frame is sent: it waits for DIFS and a backoff."""
    e = frames(nodes=3)
    e.send(0, 2, PACKET, at_ns=MS)
    e.send(1, 2, PACKET, at_ns=MS + 300 * US)
    first, second = ns(e.run())
    assert first == MS + EXCHANGE
    slots, rest = divmod(second - first - DIFS - EXCHANGE, SLOT)
    assert rest == 0
    assert 0 <= slots < 16


def test_two_that_begin_at_once_collide_and_back_off_apart(frames):
    e = frames(nodes=3)
    for src in (0, 1):
        e.send(src, 2, PACKET, at_ns=MS)
    ended = e.run()
    assert [x.outcome for x in ended] == ["delivered"] * 2
    assert min(x.attempts for x in ended) == 2
    assert ended[0].at_ns > MS + MS + ANSWER + DIFS


def test_with_capture_the_stronger_of_two_is_received(frames):
    """4 dB and more apart; the weaker one is sent again."""
    snr = np.full((3, 3), 100.0)
    snr[0, 2] = 3_000.0
    outcomes = {}
    for capture in (False, True):
        e = frames({"capture": capture}, STRICT, mean_snr=snr, nodes=3)
        for src in (0, 1):
            e.send(src, 2, PACKET, at_ns=MS)
        outcomes[capture] = {x.src: x.attempts for x in e.run()}
    assert outcomes[False][0] > 1
    assert outcomes[True][0] == 1
    assert outcomes[True][1] > 1


def test_a_receiver_stays_with_the_first_frame_that_it_hears(frames):
    """A hidden sender that is stronger ruins the frame that came first, and is not received."""
    snr = snr_of(3, (0, 2), (1, 2))
    snr[1, 2] = 10_000.0
    e = frames({"capture": True}, STRICT, mean_snr=snr, nodes=3)
    sense_nothing_of_each_other(e, 0, 1)
    e.send(0, 2, PACKET, at_ns=MS)
    e.send(1, 2, PACKET, at_ns=MS + 300 * US)
    assert all(x.attempts > 1 for x in e.run())


def sense_nothing_of_each_other(e, one, other):
    """Take two nodes out of each other's hearing, which has no range here."""
    hearing = e.air._frames._stations[0]._medium._hearing
    at = hearing._at
    apart = {one: other, other: one}

    def partly(src, time_ns):
        heard = at(src, time_ns)
        near, snr = heard.sensed.copy(), heard.snr.copy()
        if src in apart:
            near[apart[src]], snr[apart[src]] = False, 0.0
        return Heard(snr, near, src, hearing.least_snr)

    hearing._at = partly


def hidden_pair(frames, **mac):
    e = frames(mac, nodes=3, mean_snr=snr_of(3, (0, 1), (2, 1)))
    sense_nothing_of_each_other(e, 0, 2)
    return e


def test_the_loss_of_overlapping_frames_is_a_collision(frames):
    """Saturated hidden senders: of 40 packets each many are lost, all of them to the other."""
    e = hidden_pair(frames)
    for src in (0, 2):
        for _ in range(40):
            e.send(src, 1, 10 * PACKET)
    outcomes = [x.outcome for x in e.run()]
    assert set(outcomes) == {"delivered", "collision"}
    assert outcomes.count("collision") > 20


@pytest.mark.parametrize("rts", [True, False])
def test_rts_and_cts_protect_a_frame_from_hidden_senders(frames, rts):
    """Both have a packet within a millisecond: with CTS one waits, without they collide."""
    e = hidden_pair(frames, rts_threshold_bits=0 if rts else None)
    later_us = np.random.default_rng(3).uniform(0.0, 1_000.0, 100)
    for k, later in enumerate(later_us):
        e.send(0, 1, PACKET, at_ns=MS + 50 * k * MS)
        e.send(2, 1, PACKET, at_ns=MS + 50 * k * MS + round(later * US))
    ended = e.run()
    assert len(ended) == 200
    packets = sum(e.recorder.transmitted) / PACKET
    assert packets < 210 if rts else packets > 400


def test_an_exchange_with_rts_takes_as_long_as_its_frames(frames):
    e = frames({"rts_threshold_bits": PACKET - 1})
    e.send(0, 1, PACKET, at_ns=MS)
    (ended,) = e.run()
    assert ended.at_ns == MS + RTS + SIFS + CTS + SIFS + EXCHANGE
    assert e.spent.sending_ns == [RTS + MS, CTS + ACK]


def test_a_packet_of_no_more_bits_than_the_threshold_needs_no_rts(frames):
    e = frames({"rts_threshold_bits": PACKET})
    e.send(0, 1, PACKET, at_ns=MS)
    assert ns(e.run()) == [MS + EXCHANGE]


def test_after_a_frame_that_was_not_understood_a_station_waits_for_eifs(frames):
    """2 hears 0's data too weakly to decode them, 3 well: 2 follows EIFS, 3 DIFS after its end.

    Both have a message that came during that frame; the acknowledgement reaches neither.
    """
    snr = snr_of(6, (0, 1), (0, 3), (2, 4), (3, 5))
    snr[0, 2] = 2.0
    ends = {2: [], 3: []}
    for seed in range(40):
        keys = STRICT | {"arq": {"kind": "none"}}
        e = frames({"eifs_s": 1e-3}, keys, mean_snr=snr, nodes=6, seed=seed,
                   distance_m=lambda i, j, t: 1.0)  # fmt: skip
        sense_nothing_of_each_other(e, 2, 3)
        for node in (2, 3):
            e.send(node, node + 2, PACKET, at_ns=MS + 100 * US)
        e.send(0, 1, PACKET, at_ns=MS)
        for x in e.run():
            if x.src:
                ends[x.src].append(x.at_ns - (MS + MS) - MS)
    for node, gap in ((3, DIFS), (2, MS)):
        slots = (np.array(ends[node]) - gap) / SLOT
        assert set(slots) <= set(range(16))
        assert np.ptp(slots) > 9


def test_weak_signals_are_not_noticed(frames):
    """At 10 dB under the sensitivity a frame is not received; at 10 dB over it is."""
    noise_dbm = Radio().noise_dbm
    for over_db, outcome in ((-10.0, "retries"), (10.0, "delivered")):
        e = frames(radio={"sensitivity_dbm": noise_dbm + 20.0 - over_db})
        e.send(0, 1, PACKET)
        assert [x.outcome for x in e.run()] == [outcome]


def test_what_is_out_of_range_is_sensed_only_if_it_is_addressed(frames):
    """Two exchanges 150 m apart do not wait for each other, though either could be received."""
    at_m = [0.0, 10.0, 150.0, 160.0]
    e = frames(
        {"carrier_sense_m": 100.0, "capture": True},
        STRICT,
        nodes=4,
        mean_snr=snr_of(4, (0, 1), (2, 3)) + 0.1,
        distance_m=lambda i, j, t: abs(at_m[i] - at_m[j]),
    )
    e.send(0, 1, PACKET, at_ns=MS)
    e.send(2, 3, PACKET, at_ns=MS + 100 * US)
    assert ns(e.run()) == [MS + EXCHANGE, MS + 100 * US + EXCHANGE]
    e = frames({"carrier_sense_m": 1.0}, distance_m=lambda i, j, t: 100.0)
    e.send(0, 1, PACKET, at_ns=MS)
    assert ns(e.run()) == [MS + EXCHANGE]


@pytest.mark.parametrize(
    ("arq", "outcomes"),
    [
        ({"kind": "none"}, {"delivered", "retries"}),
        ({"kind": "abort", "max_attempts": 2}, {"delivered", "retries"}),
        ({"kind": "hole", "max_attempts": 2}, {"delivered", "retries"}),
        ({"kind": "unlimited"}, {"delivered"}),
    ],
)
def test_retransmission_follows_its_model(frames, arq, outcomes):
    """Three packets at loss .5, which no other sender causes."""
    radio = {"arq": arq, "packet_error": {"kind": "fixed", "loss": 0.5}, "ttl_s": 10.0}
    found = set()
    for seed in range(30):
        e = frames(radio=radio, seed=seed)
        e.send(0, 1, 3 * PACKET)
        (ended,) = e.run()
        found.add(ended.outcome)
        answers = e.spent.sending_ns[1] // ACK
        if arq["kind"] == "none":
            assert (ended.attempts, answers) == (3, 0)
        elif arq["kind"] == "abort":
            assert ended.lost <= 1
        else:
            assert answers >= 3 - ended.lost
    assert found == outcomes


def test_a_receiver_that_combines_attempts_needs_two_where_one_is_too_weak(frames):
    """3 dB each and 5 dB needed; after an acknowledgement the next packet begins anew."""
    snr = np.array([[0.0, 2.0], [100.0, 0.0]])
    e = frames(radio=STRICT | {"arq": {"kind": "harq_chase"}}, mean_snr=snr)
    e.send(0, 1, 3 * PACKET)
    (ended,) = e.run()
    assert (ended.outcome, ended.attempts) == ("delivered", 6)


def test_a_broadcast_is_sent_once_and_not_acknowledged(frames):
    e = frames(nodes=4, mean_snr=snr_of(4, (0, 1), (0, 2)))
    e.send(0, [1, 2], 2 * PACKET)
    ended = e.run()
    assert [(x.dst, x.outcome, x.attempts) for x in ended] == [
        (1, "delivered", 2),
        (2, "delivered", 2),
    ]
    slots, rest = divmod(ended[0].at_ns - DIFS - 2 * MS, SLOT)
    assert rest == 0
    assert 0 <= slots < 16
    assert e.spent.sending_ns == [2 * MS, 0, 0, 0]


def test_the_time_to_live_ends_a_frame_on_the_air(frames):
    e = frames(radio={"ttl_s": 0.0025})
    e.send(0, 1, 10 * PACKET, parts=True)
    e.send(0, 1, PACKET, at_ns=2 * MS)
    first, second = e.run()
    assert (first.outcome, first.at_ns, int(first.arrived.sum())) == ("partial", 2_500_000, 2)
    slots, rest = divmod(second.at_ns - 2_500_000 - DIFS - EXCHANGE, SLOT)
    assert second.outcome == "delivered"
    assert rest == 0
    assert 0 <= slots < 16


@pytest.mark.parametrize("node", [0, 1])
def test_a_node_that_goes_off_breaks_off_what_it_sends_and_receives(frames, node):
    e = frames(nodes=3)
    e.send(0, 1, 10 * PACKET)
    e.switch(node, False, 3 * MS + MS // 2)
    e.send(1 - node, 2, PACKET, at_ns=4 * MS)
    first, second = e.run()
    assert (first.outcome, first.at_ns) == ("off", 3_500_000)
    assert (second.outcome, second.attempts) == ("delivered", 1)


def test_a_sleeping_receiver_hears_nothing_until_it_wakes(frames):
    """Awake from 5 ms on: with one attempt a packet is lost, with many it arrives."""
    naps = Rhythm(period_ns=10 * MS, awake_ns=5 * MS, offset_ns=5 * MS)
    for attempts, outcome in ((1, "asleep"), (9, "delivered")):
        e = frames(radio={"arq": {"kind": "hole", "max_attempts": attempts}}, rhythms=(None, naps))
        e.send(0, 1, PACKET)
        (ended,) = e.run()
        assert ended.outcome == outcome
        assert (ended.at_ns > 5 * MS) == (outcome == "delivered")


def test_acknowledgements_follow_the_highest_basic_rate_that_the_data_allow():
    timing = Timing(Radio(), Csma())
    found = [timing.ack_ns(mbps * 1e6) for mbps in (1, 6, 9, 12, 18, 24, 54)]
    assert found == [us * US for us in (44, 44, 44, 32, 32, 28, 28)]
    assert Timing(Radio(), Csma(ack_s=1e-4)).ack_ns(54e6) == 100 * US


def test_equal_runs_have_equal_logs_and_others_differ(frames):
    def log(seed):
        e = frames(nodes=5, seed=seed)
        for i in range(4):
            for k in range(10):
                e.send(i, (i + 1) % 5, 2 * PACKET, at_ns=1 + k * MS)
        return [(x.src, x.outcome, x.at_ns, x.attempts) for x in e.run()]

    assert log(1) == log(1)
    assert log(1) != log(2)


@pytest.mark.parametrize("propagation_us", [0, 3])
def test_propagation_delays_frames_and_their_answers(frames, propagation_us):
    e = frames({"propagation_s": propagation_us * 1e-6}, nodes=3)
    for src in (0, 1):
        e.send(src, 2, 5 * PACKET, at_ns=MS + src * 200 * US)
    ended = e.run()
    assert [x.outcome for x in ended] == ["delivered"] * 2
    e = frames({"propagation_s": propagation_us * 1e-6})
    e.send(0, 1, PACKET, at_ns=MS)
    assert ns(e.run()) == [MS + EXCHANGE + 2 * propagation_us * US]


@pytest.mark.parametrize("least_snr", [0.0, 2.0])
def test_what_is_found_for_all_at_once_is_what_each_station_finds(least_snr):
    """400 beginnings, preambles and ends among ten stations, looked at one by one."""
    rng, n, now = np.random.default_rng(3), 10, 0
    error = SimpleNamespace(packet_error=lambda snr, bits, rate_bps: float(snr < 4.0))
    listens = rng.uniform(size=n) < 0.9
    ears = Receivers(
        n, Decoder(error, Streams(0), True, False), least_snr, lambda i, _: listens[i], None
    )
    on_air, sensed, locked, sending = [], [], {}, set()
    met = {"locked": 0, "in vain": 0, "busy by sums": 0}
    for _ in range(400):
        now += int(rng.integers(1, 50))
        unsensed = [frame for frame in on_air if frame not in sensed]
        what = rng.choice(["begins", "passes", "ends"], p=[0.4, 0.35, 0.25])
        if what == "begins" and (idle := [i for i in range(n) if i not in sending]):
            src = int(rng.choice(idle))
            frame = Frame("data", src, None, SimpleNamespace(receptions=(), packet_bits=100), 100,
                          1e6, 100)  # fmt: skip
            snr = rng.exponential(3.0, n) * (rng.uniform(size=n) < 0.7)
            frame.heard = Heard(snr, rng.uniform(size=n) < 0.8, src, least_snr)
            frame.noticed, frame.arrives_ns = frame.heard.noticed, now
            sending.add(src)
            locked.pop(src, None)
            ears.note_sending(src)
            ears.begin_arrival(frame, now)
            on_air.append(frame)
        elif what == "passes" and unsensed:
            frame = unsensed[0]
            before = set(locked) | sending
            ears.lock_receivers(frame)
            sensed.append(frame)
            for i in range(n):
                others = [other.heard.snr[i] for other in on_air if other is not frame]
                noise = min(1.0, least_snr / PREAMBLE_SNR) + sum(others)
                found = frame.heard.snr[i] >= PREAMBLE_SNR * noise and frame.noticed[i]
                met["in vain"] += bool(frame.noticed[i] and not found)
                if found and i not in before and listens[i]:
                    locked[i] = frame
        elif what == "ends" and on_air:
            frame = on_air.pop(int(rng.integers(len(on_air))))
            sensed = [other for other in sensed if other is not frame]
            mine = [i for i, other in locked.items() if other is frame]
            assert sorted(ears.end_arrival(frame, now)) == sorted(mine)
            ears.stop_receiving(frame.src)
            sending.discard(frame.src)
            locked = {i: other for i, other in locked.items() if other is not frame}
        was = ears.busy.copy()
        changed = ears.changes()
        for i in range(n):
            strong = sum(frame.heard.energy[i] for frame in sensed) >= max(least_snr, NO_ENERGY)
            assert ears.is_receiving(i) == (i in locked)
            assert ears.busy[i] == (strong or i in sending or i in locked)
            assert (i in changed) == (ears.busy[i] != was[i])
            met["locked"] += i in locked
            met["busy by sums"] += bool(strong and i not in locked and i not in sending)
    assert min(met.values()) >= 50
