"""Messages to radios that sleep by a duty cycle."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from netsim.channels.sleep import Rhythm, rhythms
from netsim.channels.sleep.duty_cycle import DutyCycle
from netsim.channels.sleep.none import NoSleep
from netsim.links.link import Transmission
from netsim.messaging.message import Envelope
from netsim.messaging.over_the_air import OverTheAir
from netsim.rng import Streams

MS, S = 1_000_000, 1_000_000_000
PACKET = 1_000
"""Bits of a packet, which takes a millisecond."""

FIDELITIES = pytest.mark.parametrize("fidelity", ["message", "packet"])
FROM_20_MS = (None, Rhythm(100 * MS, 30 * MS, 80 * MS), None, None)
"""Node 1 is awake from 20 to 50 ms, from 120 to 150 ms, ..."""


# -- the rhythm ---------------------------------------------------------------------------------


def test_a_rhythm_is_what_it_says_at_every_instant():
    rhythm = Rhythm(period_ns=7, awake_ns=3, offset_ns=5)
    awake = [(t + 5) % 7 < 3 for t in range(60)]
    for t in range(40):
        assert rhythm.wakes_ns(t) == awake.index(True, t)
        for end in range(t, 60):
            assert rhythm.asleep_ns(t, end) == awake[t:end].count(False)


def test_phases_are_drawn_by_node_or_aligned():
    random, aligned = DutyCycle(period_s=2.0), DutyCycle(period_s=2.0, phase="aligned")
    some = rhythms([random, NoSleep(), random, aligned], Streams(0))
    assert some[1] is None
    assert some[3] == (2 * S, S // 5, 0)
    assert some[0].offset_ns != some[2].offset_ns
    assert rhythms([NoSleep(), NoSleep(), random], Streams(0))[2] == some[2]
    assert rhythms([random], Streams(1))[0] != some[0]
    offsets = [r.offset_ns for r in rhythms([random] * 4000, Streams(0))]
    assert abs(np.mean(offsets) / S - 1.0) < 4 * 2 / math.sqrt(12 * 4000)
    assert rhythms([NoSleep(), DutyCycle(awake_fraction=1.0)], Streams(0)) == ()


# -- backoffs -----------------------------------------------------------------------------------

TRIES = 150


def csma(**keys):
    """Packets of 1 ms under 802.11's DCF, RTS of 52 us."""
    return {"mac": {"kind": "csma"} | keys, "fading": {"kind": "none"}, "ttl_s": 1e3}


@FIDELITIES
@pytest.mark.parametrize("rts", [False, True])
def test_backoffs_grow_where_nobody_listens(ether, fidelity, rts):
    """Seven frames to a node that is off, each followed by 45 us in which no answer comes.

    Six follow a DIFS and a backoff: its windows of 16, 32, ..., 1,024 and again 1,024 slots take
    turns, as the station's counter has one more failure than the packet's, 190.5 slots in the mean.
    """
    mac = csma(**({"rts_threshold_bits": 0} if rts else {}))
    e = ether({"fidelity": fidelity} | mac, nodes=2)
    e.off.add(1)
    for k in range(TRIES):
        e.send(0, 1, PACKET, at_ns=100 * MS * k)
    ended = e.run()
    assert {(one.outcome, one.attempts) for one in ended} == {("off", 7)}
    frames_ns, waits_ns = 7 * (0.052 * MS if rts else MS), 7 * 45_000 + 6 * (34_000 + 190.5 * 9_000)
    took_ns = np.mean([one.at_ns - one.sent_ns for one in ended])
    assert took_ns == pytest.approx(frames_ns + waits_ns, rel=0.07)
    if rts and fidelity == "message":  # frames count packets alone
        assert sum(e.recorder.transmitted) == pytest.approx(TRIES * 7 * 0.052 * PACKET, rel=0.01)


@FIDELITIES
@pytest.mark.parametrize("others", [0, 2])
def test_a_sender_to_a_radio_that_sleeps_backs_off(ether, fidelity, others):
    """For 1 s: some 6 attempts while windows grow, then one every 4.6 ms of backoff and 1.1 ms.

    With two others that do the same, who hear each other, a packet of theirs may come between.
    """
    sleeper = Rhythm(2 * S, S, S)
    count = 2 * (1 + others)
    rhythms = tuple([None, sleeper] * (1 + others))
    keys = {"fidelity": fidelity, "arq": {"kind": "unlimited"}} | csma()
    e = ether(keys, nodes=count, rhythms=rhythms)
    for k in range(20):
        for node in range(0, count, 2):
            e.send(node, node + 1, PACKET, at_ns=2 * S * k)
    ended = e.run()
    assert {one.outcome for one in ended} == {"delivered"}
    attempts = np.mean([one.attempts for one in ended])
    assert attempts == pytest.approx(6 + 1000 / (4.6 + 1.1 * (1 + others)), rel=0.08)
    assert np.mean([one.at_ns - one.sent_ns for one in ended]) == pytest.approx(1.003 * S, rel=5e-3)


# -- unicasts -----------------------------------------------------------------------------------


@FIDELITIES
@pytest.mark.parametrize(
    ("kind", "attempts", "lost", "heard"),
    [("none", 3, 3, 0), ("abort", 7, 1, 0), ("hole", 21, 2, 1)],
)
def test_what_is_sent_to_a_sleeping_radio_is_lost(ether, kind, attempts, lost, heard, fidelity):
    """The third packet of `hole` has its last attempt when node 1 is awake."""
    e = ether({"arq": {"kind": kind}, "fidelity": fidelity}, rhythms=FROM_20_MS)
    e.send(0, 1, 3 * PACKET)
    (ended,) = e.run()
    assert (ended.outcome, ended.attempts, ended.lost) == ("asleep", attempts, lost)
    assert ended.at_ns == attempts * MS
    assert ended.snr_db == pytest.approx(20.0)
    assert e.spent.sending_ns == [attempts * MS, 0]
    assert e.spent.receiving_ns == [0, heard * MS]
    assert e.spent.bits == [attempts * PACKET, 0]
    assert e.spent.heard_bits == [0, heard * PACKET]


@FIDELITIES
def test_what_is_repeated_until_a_radio_wakes_arrives(ether, fidelity):
    """20 attempts in vain, then ten packets: X-MAC's strobes."""
    radio = {"arq": {"kind": "unlimited"}, "ttl_s": 1.0, "fidelity": fidelity}
    e = ether(radio, rhythms=FROM_20_MS)
    e.send(0, 1, 10 * PACKET)
    e.send(0, 1, 10 * PACKET, at_ns=50 * MS)
    one, other = e.run()
    assert (one.outcome, one.attempts, one.lost, one.at_ns) == ("delivered", 30, 0, 30 * MS)
    assert (other.outcome, other.attempts, other.at_ns) == ("delivered", 80, 130 * MS)
    assert e.spent.receiving_ns == [0, 20 * MS]
    assert e.spent.heard_bits == [0, 20 * PACKET]


@FIDELITIES
def test_an_attempt_that_begins_before_a_radio_wakes_is_lost(ether, fidelity):
    e = ether({"fidelity": fidelity}, rhythms=FROM_20_MS)
    e.send(0, 1, 10 * PACKET, at_ns=15 * MS + MS // 2)
    (ended,) = e.run()
    # at 15.5, ..., 19.5 ms
    assert (ended.outcome, ended.attempts, ended.at_ns) == ("delivered", 15, 30 * MS + MS // 2)
    assert e.spent.receiving_ns == [0, 10 * MS + MS // 2]


@FIDELITIES
def test_a_radio_that_hears_a_message_stays_awake_to_its_end(ether, fidelity):
    e = ether({"fidelity": fidelity}, nodes=3, rhythms=FROM_20_MS)
    e.send(0, 1, 40 * PACKET, at_ns=49 * MS)
    e.send(2, 1, PACKET, at_ns=60 * MS)  # waits, and then it is as late as that
    first, second = e.run()
    assert (first.outcome, first.attempts, first.at_ns) == ("delivered", 40, 89 * MS)
    assert (second.outcome, second.attempts, second.at_ns) == ("asleep", 7, 96 * MS)


@FIDELITIES
def test_a_sleeping_node_sends(ether, fidelity):
    e = ether({"fidelity": fidelity}, rhythms=FROM_20_MS)
    e.send(1, 0, 3 * PACKET)
    (ended,) = e.run()
    assert (ended.outcome, ended.at_ns) == ("delivered", 3 * MS)


@FIDELITIES
def test_who_has_asked_hears_the_reply(ether, fidelity):
    e = ether({"fidelity": fidelity}, rhythms=FROM_20_MS)
    e.send(0, 1, PACKET, reply=True)
    assert [(x.outcome, x.at_ns) for x in e.run()] == [("delivered", MS)]


@FIDELITIES
def test_parts_that_came_after_waking_are_kept(ether, fidelity):
    e = ether({"arq": {"kind": "none"}, "fidelity": fidelity}, rhythms=FROM_20_MS)
    e.send(0, 1, 10 * PACKET, at_ns=16 * MS, parts=True)
    e.send(0, 1, 10 * PACKET, at_ns=116 * MS)
    part, whole = e.run()
    assert (part.outcome, part.lost) == ("partial", 4)
    assert part.arrived.tolist() == [False] * 4 + [True] * 6
    assert (whole.outcome, whole.lost) == ("asleep", 4)


@FIDELITIES
def test_what_is_lost_after_waking_is_lost_to_the_channel(ether, fidelity):
    radio = {"threshold_db": 30.0, "packet_error": {"kind": "outage"}, "fidelity": fidelity}
    e = ether(radio, rhythms=FROM_20_MS)
    e.send(0, 1, PACKET, at_ns=17 * MS)
    (ended,) = e.run()
    assert (ended.outcome, ended.attempts) == ("outage", 7)


@FIDELITIES
def test_the_time_to_live_of_a_message_ends_before_its_receiver_wakes(ether, fidelity):
    radio = {"arq": {"kind": "unlimited"}, "ttl_s": 0.0125, "fidelity": fidelity}
    e = ether(radio, rhythms=FROM_20_MS)
    e.send(0, 1, PACKET)
    (ended,) = e.run()
    assert (ended.outcome, ended.attempts, ended.at_ns) == ("deadline", 13, 12_500_000)
    assert e.spent.receiving_ns == [0, 0]
    assert e.spent.heard_bits == [0, 0]


@FIDELITIES
def test_a_receiver_may_go_off_in_its_sleep(ether, fidelity):
    e = ether({"fidelity": fidelity}, rhythms=FROM_20_MS)
    e.send(0, 1, PACKET)
    e.switch(1, False, 3 * MS + MS // 2)
    (ended,) = e.run()
    assert (ended.outcome, ended.attempts, ended.at_ns) == ("off", 4, 3_500_000)
    assert e.spent.receiving_ns == [0, 0]


@FIDELITIES
def test_attempts_at_a_sleeping_radio_are_not_combined(ether, fidelity):
    """At 100, an SNR of 250 needs three attempts; those before waking add nothing."""
    radio = {
        "arq": {"kind": "harq_chase"},
        "packet_error": {"kind": "outage"},
        "threshold_db": 10 * math.log10(250),
        "fidelity": fidelity,
    }
    e = ether(radio, rhythms=FROM_20_MS)
    e.send(0, 1, PACKET, at_ns=17 * MS)
    (ended,) = e.run()
    assert (ended.outcome, ended.attempts) == ("delivered", 6)


@FIDELITIES
def test_sleep_is_not_taken_for_a_collision(ether, fidelity):
    snr = np.full((4, 4), 100.0)
    snr[2, 3] = 1e6
    radio = {"mac": {"kind": "shared"}, "packet_error": {"kind": "outage"}, "fidelity": fidelity}
    e = ether(radio, mean_snr=snr, nodes=4, rhythms=FROM_20_MS)
    e.send(2, 3, 60 * PACKET)
    for at_ms in (2, 30):
        e.send(0, 1, PACKET, at_ns=at_ms * MS)
    assert [x.outcome for x in e.run()] == ["asleep", "collision", "delivered"]


# -- broadcasts ---------------------------------------------------------------------------------


@FIDELITIES
def test_a_broadcast_is_missed_by_who_sleeps_when_it_begins(ether, fidelity):
    e = ether({"fidelity": fidelity}, nodes=4, rhythms=FROM_20_MS)
    e.send(0, [1, 2], 10 * PACKET, at_ns=15 * MS)
    e.send(3, 1, PACKET, at_ns=21 * MS)  # its radio is free
    e.send(0, [1, 2], 10 * PACKET, at_ns=45 * MS)  # heard to its end
    got = [(x.src, x.dst, x.outcome, x.attempts, x.at_ns) for x in e.run()]
    assert got == [
        (3, 1, "delivered", 1, 22 * MS),
        (0, 2, "delivered", 10, 25 * MS),
        (0, 1, "asleep", 0, 25 * MS),
        (0, 1, "delivered", 10, 55 * MS),
        (0, 2, "delivered", 10, 55 * MS),
    ]
    assert e.spent.receiving_ns == [0, 11 * MS, 20 * MS, 0]


def test_rhythms_of_others_change_nothing(ether):
    def play(rhythms):
        loss = {"packet_error": {"kind": "fixed", "loss": 0.4}}
        e = ether(loss, nodes=6, rhythms=rhythms)
        for i in range(5):
            e.send(i, (i + 1) % 5, 30 * PACKET, at_ns=1 + i * MS)
        return [vars(x) for x in e.run()]

    assert play(()) == play((None,) * 5 + (Rhythm(10, 5, 0),))


# -- over the air -------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [False, True])
def test_a_frame_over_the_air_to_a_sleeping_radio_is_lost(ether, answer):
    """At 0 node 1 sleeps, at 25 ms it is awake; whoever waits for an answer is always awake."""
    e = ether({"bandwidth_hz": 1e6}, nodes=4, rhythms=FROM_20_MS)
    message = OverTheAir(SimpleNamespace(num_values=1_000), 0.5, 2, 1.0)

    def send():
        for src in (2, 3):
            envelope = Envelope(message, src, 32_000, 0, e.env.now, reply=answer)
            e.air.unicast(Transmission(envelope, 1, e._done))

    for at_ns in (0, 25 * MS):
        e.env.call_after(at_ns, send)
    ended = [(x.outcome, x.attempts, x.at_ns) for x in e.run()]
    heard = ("delivered", 1)
    first = (*heard, MS) if answer else ("asleep", 0, 0)
    assert ended == 2 * [first] + 2 * [(*heard, 26 * MS)]
