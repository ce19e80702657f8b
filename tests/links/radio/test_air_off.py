"""Nodes that are switched off while messages are on their way."""

import math

import numpy as np
import pytest

from netsim.traces.contacts import Meetings

MS = 1_000_000
PACKET = 1_000
"""Bits of a packet, which takes a millisecond."""

LOSSY = {"packet_error": {"kind": "fixed", "loss": 0.4}}
KINDS = ["none", "abort", "hole", "unlimited"]


def arq(kind):
    return (
        {"arq": {"kind": kind}, "ttl_s": 60.0} if kind == "unlimited" else {"arq": {"kind": kind}}
    )


@pytest.mark.parametrize("node", [0, 1])
@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_a_message_ends_when_either_end_goes_off(ether, node, fidelity):
    e = ether({"fidelity": fidelity})
    e.send(0, 1, 10 * PACKET)
    e.switch(node, False, 3 * MS + MS // 2)
    (ended,) = e.run()
    assert (ended.outcome, ended.at_ns, ended.attempts) == ("off", 3_500_000, 4)
    assert e.recorder.airtime_ns == 3_500_000
    assert e.spent.sending_ns == [3_500_000, 0]
    assert e.spent.receiving_ns == [0, 3_500_000]
    assert e.spent.bits == [4 * PACKET, 0]


def test_what_waits_for_a_node_that_goes_off_has_never_been_sent(ether):
    e = ether(nodes=3)
    e.send(0, 1, 10 * PACKET)
    e.send(0, 2, 10 * PACKET)
    e.switch(0, False, 2 * MS)
    assert [(x.dst, x.outcome, x.attempts, x.at_ns) for x in e.run()] == [
        (2, "off", 0, 2 * MS),
        (1, "off", 2, 2 * MS),
    ]
    assert [e.air.bits_transmitted_by(i) for i in range(3)] == [2 * PACKET, 0, 0]


@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize(
    ("kind", "attempts", "end_ms"),
    [("none", 3, 3), ("abort", 7, 7), ("hole", 21, 21), ("unlimited", 50, 50)],
)
def test_a_message_to_a_node_that_is_off_is_sent_in_vain(ether, kind, attempts, end_ms, fidelity):
    radio = {"arq": {"kind": kind}, "ttl_s": 0.05, "fidelity": fidelity}
    e = ether(radio, nodes=3)
    e.switch(1, False, 0)
    e.send(0, 1, 3 * PACKET, at_ns=1)
    e.send(2, 0, PACKET, at_ns=2)
    first, second = e.run() if kind != "unlimited" else sorted(e.run(), key=lambda x: x.src)
    assert (first.outcome, first.attempts) == ("off", attempts)
    assert first.at_ns == end_ms * MS + 1
    # the sender's radio was taken
    late = kind == "unlimited"
    assert second.outcome == ("deadline" if late else "delivered")
    assert second.at_ns == (50 * MS + 2 if late else (end_ms + 1) * MS + 1)


def test_the_radio_of_a_node_that_comes_back_is_not_held_by_what_is_sent_in_vain(ether):
    e = ether(nodes=3)
    e.switch(1, False, 0)
    e.send(0, 1, 100 * PACKET, at_ns=1)
    e.switch(1, True, 2 * MS)
    e.send(2, 1, PACKET, at_ns=3 * MS)
    assert [(x.src, x.outcome, x.at_ns) for x in e.run()] == [
        (2, "delivered", 4 * MS),
        (0, "off", 7 * MS + 1),
    ]


@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_a_broadcast_goes_on_without_a_receiver_that_goes_off(ether, fidelity):
    e = ether({"fidelity": fidelity}, nodes=5)
    e.switch(4, False, 0)
    e.send(0, [1, 2, 3, 4], 10 * PACKET, at_ns=1)
    e.switch(2, False, 4 * MS + 1)
    e.switch(2, True, 5 * MS)
    got = [(x.dst, x.outcome, x.attempts, x.at_ns) for x in e.run()]
    end = 10 * MS + 1
    assert got[0] == (2, "off", 4, 4 * MS + 1)
    assert e.spent.receiving_ns == [0, 10 * MS, 4 * MS, 10 * MS, 0]
    assert got[1:4] == [(1, "delivered", 10, end), (3, "delivered", 10, end), (4, "off", 0, end)]


@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize("off_ns", [0, 4_500_000])
def test_a_broadcast_that_nobody_hears_is_sent_to_its_end(ether, off_ns, fidelity):
    """Its sender does not know, and pays for it."""
    e = ether({"fidelity": fidelity}, nodes=3)
    e.switch(1, False, off_ns)
    e.switch(2, False, off_ns)
    e.send(0, [1, 2], 10 * PACKET, at_ns=1)
    assert {x.outcome for x in e.run()} == {"off"}
    assert e.recorder.airtime_ns == 10 * MS
    assert e.spent.bits == [10 * PACKET, 0, 0]
    assert e.spent.receiving_ns == [0, *[max(0, off_ns - 1)] * 2]


@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_attempts_to_a_node_that_is_off_do_not_add_up(ether, fidelity):
    radio = {
        "arq": {"kind": "harq_chase", "max_attempts": 4},
        "packet_error": {"kind": "outage"},
        "threshold_db": 10.0,
        "fidelity": fidelity,
    }
    e = ether(radio, mean_snr=6.0)
    e.switch(1, False, 0)
    e.send(0, 1, 8 * PACKET, at_ns=1)
    assert [(x.outcome, x.attempts, x.lost) for x in e.run()] == [("off", 32, 8)]


@pytest.mark.thinned(6)
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_lost_until_a_node_went_off_has_its_mean(ether, kind):
    """At 20.5 of 40 packet times 20 attempts are over: lost 20 p for `none`; p^7 a packet else."""
    lost = []
    for seed in range(400):
        e = ether(LOSSY | arq(kind), seed=seed)
        e.send(0, 1, 40 * PACKET)
        e.switch(1, False, 20 * MS + MS // 2)
        (ended,) = e.run()
        if ended.outcome == "off":
            assert ended.attempts == 21
            lost.append(ended.lost)
    assert len(lost) > 390
    if kind == "none":
        assert abs(np.mean(lost) - 8.0) < 4 * math.sqrt(20 * 0.24 / len(lost))
    else:
        assert max(lost) <= 1


def test_nothing_else_changes_when_nobody_goes_off(ether):
    def play(switched):
        e = ether(LOSSY, nodes=6)
        for i in range(5):
            e.send(i, (i + 1) % 5, 30 * PACKET, at_ns=1 + i * MS)
        if switched:
            e.switch(5, False, 10 * MS)
            e.switch(5, True, 20 * MS)
        return [vars(x) for x in e.run()]

    assert play(True) == play(False)


@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_a_message_ends_when_its_ends_lose_contact(ether, fidelity):
    """Both radios are free from then on, and are charged for what they were on the air."""
    meetings = Meetings(2, {(0, 1): [(0, 3_500_000)]})
    e = ether({"fidelity": fidelity}, meetings=meetings)
    e.send(0, 1, 10 * PACKET)
    (ended,) = e.run()
    assert (ended.outcome, ended.at_ns, ended.attempts) == ("outage", 3_500_000, 4)
    assert e.spent.sending_ns == [3_500_000, 0]
    assert e.spent.receiving_ns == [0, 3_500_000]


@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_a_broadcast_goes_on_without_a_receiver_that_loses_contact(ether, fidelity):
    always, for_a_while = [(0, 1000 * MS)], [(0, 4 * MS)]
    meetings = Meetings(3, {(0, 1): always, (0, 2): for_a_while, (1, 2): always})
    e = ether({"fidelity": fidelity}, nodes=3, meetings=meetings)
    e.send(0, [1, 2], 10 * PACKET)
    e.send(2, 1, PACKET, at_ns=5 * MS)  # node 2 is free, and waits for node 1
    ended = {(x.src, x.dst): (x.outcome, x.at_ns) for x in e.run()}
    assert ended[0, 1] == ("delivered", 10 * MS)
    assert ended[0, 2] == ("outage", 4 * MS)
    assert ended[2, 1] == ("delivered", 11 * MS)
    assert e.spent.receiving_ns == [0, 11 * MS, 4 * MS]


def test_what_ends_with_its_contact_has_arrived(ether):
    e = ether(meetings=Meetings(2, {(0, 1): [(0, 10 * MS)]}))
    e.send(0, 1, 10 * PACKET)
    assert [x.outcome for x in e.run()] == ["delivered"]


@pytest.mark.slow
@pytest.mark.usefixtures("slots_in_order")
def test_a_receiver_that_goes_off_before_its_slot_has_not_listened(ether):
    """Node 1's slot begins at 2 ms, and the next one at 8 ms."""
    mac = {"kind": "tdma", "slot_s": 2e-3}
    e = ether({"mac": mac}, nodes=3)
    e.send(1, [0, 2], PACKET)
    e.switch(2, False, MS)
    ended = {x.dst: (x.outcome, x.at_ns) for x in e.run()}
    assert ended == {0: ("delivered", 3 * MS), 2: ("off", MS)}
    assert e.spent.receiving_ns == [MS, 0, 0]
