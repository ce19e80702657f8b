"""Reliable broadcasts: what they cost, and what becomes of them."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from netsim.links.radio.table import Radio
from netsim.traces.contacts import Meetings
from netsim.units import NS_PER_S

MS = 1_000_000
PACKET = 1_000
FIDELITIES = pytest.mark.parametrize("fidelity", ["message", "packet"])


def times_sent(loss: float, receivers: int, rounds: int) -> tuple[float, float]:
    """Mean and variance of how often a packet is sent: E = sum of 1 - (1 - p^k)^n."""
    sent_more = 1.0 - (1.0 - loss ** np.arange(rounds)) ** receivers  # P(more than k times)
    sent_more[0] = 1.0
    mean = float(sent_more.sum())
    square = float(((2 * np.arange(rounds) + 1) * sent_more).sum())
    return mean, square - mean**2


def repeated(loss, rounds=100, fidelity="message", **more):
    return {
        "broadcast": {"kind": "repeated", "max_rounds": rounds} | more,
        "packet_error": {"kind": "fixed", "loss": loss},
        "fidelity": fidelity,
    }


def test_the_formula():
    """One receiver: 1 / (1 - p). Two at p = 1/2: 8/3. Two rounds: 1 + 1 - (1 - p)^n."""
    assert times_sent(0.3, 1, 200)[0] == pytest.approx(1 / 0.7)
    assert times_sent(0.5, 2, 200)[0] == pytest.approx(8 / 3)
    assert times_sent(0.2, 5, 2)[0] == pytest.approx(2 - 0.8**5)


@pytest.mark.thinned(3)
@FIDELITIES
@pytest.mark.parametrize(
    ("loss", "receivers", "rounds"), [(0.1, 1, 100), (0.3, 5, 100), (0.5, 12, 100), (0.5, 5, 3)]
)
def test_packets_are_sent_as_often_as_the_formula_says(ether, loss, receivers, rounds, fidelity):
    """Bits and airtime, within 4 standard errors; every receiver loses p^R of the packets."""
    packets = 3000 if fidelity == "message" else 600
    here = ether(repeated(loss, rounds, fidelity), nodes=receivers + 1, seed=2)
    here.send(0, list(range(1, receivers + 1)), packets * PACKET, parts=True)
    ended = here.run()
    mean, variance = times_sent(loss, receivers, rounds)
    bits = here.recorder.bits_transmitted
    tolerance = 4.0 * math.sqrt(variance / packets)
    assert bits / (packets * PACKET) == pytest.approx(mean, abs=tolerance)
    assert here.air.bits_transmitted_by(0) == sum(here.recorder.transmitted) == bits
    assert here.recorder.airtime_ns == pytest.approx(bits / 1e6 * NS_PER_S, rel=1e-9)
    for one in ended:
        lost = loss**rounds
        assert one.lost / packets == pytest.approx(lost, abs=4.0 * math.sqrt(lost / packets))
        assert one.outcome == ("delivered" if one.lost == 0 else "partial")
        assert one.arrived is None or (~one.arrived).sum() == one.lost


@FIDELITIES
def test_receivers_far_away_are_waited_for(ether, fidelity):
    """Only one of three loses packets: it alone is sent to again, 1 / (1 - p) times a packet."""
    rates = np.array([[100.0, 1e9, 1e9, 100.0]] * 4)
    error = {"kind": "exponential_snr", "m": -100.0 * math.log(0.6)}
    here = ether(repeated(0.0, 100, fidelity) | {"packet_error": error}, rates, nodes=4, seed=1)
    packets = 3000
    here.send(0, [1, 2, 3], packets * PACKET)
    ended = {one.dst: one for one in here.run()}
    assert [ended[dst].outcome for dst in (1, 2, 3)] == ["delivered"] * 3
    assert ended[1].at_ns == ended[2].at_ns == packets * 1_000_000
    assert ended[1].attempts == packets
    sd = math.sqrt(0.4 / 0.6**2 / packets)
    assert ended[3].attempts / packets == pytest.approx(1 / 0.6, abs=4 * sd)
    assert ended[3].at_ns == ended[3].attempts * 1_000_000


@FIDELITIES
def test_what_receivers_tell_takes_time_and_bits(ether, fidelity):
    """One round of 4 packets to 3 receivers, each of which then tells 500 bits: 4 + 1.5 ms."""
    here = ether(repeated(0.0, 7, fidelity, feedback_bits=500), nodes=4)
    here.send(0, [1, 2, 3], 4 * PACKET)
    ended = here.run()
    assert [one.at_ns for one in ended] == [5_500_000] * 3
    assert here.recorder.airtime_ns == 5_500_000
    assert [here.air.bits_transmitted_by(node) for node in range(4)] == [4_000, 500, 500, 500]
    assert sum(here.recorder.transmitted) == here.recorder.bits_transmitted == 5_500


@FIDELITIES
def test_a_time_to_live_ends_the_rounds(ether, fidelity):
    """Nothing gets through: 4 packets a round of 4 ms, given up after 10 ms."""
    here = ether(repeated(1.0, 50, fidelity) | {"ttl_s": 0.010}, nodes=3)
    here.send(0, [1, 2], 4 * PACKET)
    ended = here.run()
    assert [(one.outcome, one.at_ns, one.lost) for one in ended] == [
        ("deadline", 10_000_000, 4)
    ] * 2
    assert here.recorder.bits_transmitted == 10 * PACKET


@FIDELITIES
def test_a_receiver_that_is_busy_gets_the_next_round(ether, fidelity):
    """Node 2 receives from 3 for 2 ms when a broadcast of 4 ms begins; it is sent it again."""
    here = ether(repeated(0.0, 7, fidelity), nodes=4)
    here.send(3, 2, 2 * PACKET)
    here.send(0, [1, 2], 4 * PACKET, at_ns=1_000_000)
    ended = {(one.src, one.dst): one for one in here.run()}
    assert ended[0, 1].at_ns == 5_000_000
    assert (ended[0, 2].outcome, ended[0, 2].at_ns) == ("delivered", 9_000_000)
    assert here.recorder.bits_transmitted == 10 * PACKET


@FIDELITIES
def test_a_receiver_that_is_switched_off_ends_as_off(ether, fidelity):
    """After 6 ms, in the second round; the other one is sent to until the rounds are over."""
    here = ether(repeated(1.0, 3, fidelity), nodes=3)
    here.send(0, [1, 2], 4 * PACKET)
    here.switch(2, False, 6_000_000)
    ended = {one.dst: one for one in here.run()}
    assert (ended[2].outcome, ended[2].at_ns) == ("off", 6_000_000)
    assert (ended[1].outcome, ended[1].at_ns, ended[1].attempts) == ("outage", 12_000_000, 12)


def test_rounds_are_not_played_frame_by_frame():
    with pytest.raises(ValidationError, match="not played frame by frame"):
        Radio.model_validate(
            {"mac": {"kind": "csma"}, "fidelity": "packet", "broadcast": {"kind": "repeated"}}
        )


@FIDELITIES
@pytest.mark.parametrize("gone", [(1,), (1, 2)])
def test_who_parts_between_two_rounds_keeps_what_it_has(ether, fidelity, gone):
    """The contact ends at the very end of the first round of 20 packets, of which half came."""
    ends_ns = {node: 20 * MS if node in gone else 10**12 for node in (1, 2)}
    meetings = Meetings(3, {(0, node): [(0, end_ns)] for node, end_ns in ends_ns.items()})
    radio = {
        "broadcast": {"kind": "repeated", "max_rounds": 40},
        "packet_error": {"kind": "fixed", "loss": 0.5}, "fidelity": fidelity,
    }  # fmt: skip
    e = ether(radio, nodes=3, meetings=meetings)
    e.send(0, [1, 2], 20_000, parts=True)
    ended = {x.dst: x for x in e.run()}
    for node in (1, 2):
        x = ended[node]
        if node in gone:
            assert (x.outcome, x.attempts, x.at_ns) == ("partial", 20, 20 * MS)
            assert x.lost == 20 - x.arrived.sum()
            assert 0 < x.lost < 20
        else:
            assert x.outcome == "delivered"
    assert sum(e.recorder.transmitted) == e.air.bits_transmitted_by(0) >= 20_000
