"""Bits on the air, by hand: each attempt with its header, a broadcast once, parts by their part."""

import math

import numpy as np
import pytest

MS = 1_000_000
PACKET = 1_000
"""Bits of a packet: 1 ms at 1 Mb/s."""
FIDELITIES = pytest.mark.parametrize("fidelity", ["message", "packet"])


def transmitted(e):
    """Bits on the air of all nodes; the rows of the log add up to them."""
    e.run()
    assert sum(e.recorder.transmitted) == e.recorder.bits_transmitted
    return e.recorder.bits_transmitted


@FIDELITIES
def test_every_packet_counts_with_its_header(ether, fidelity):
    """2,500 bits are three packets of 834 bits; each has a header of 80."""
    e = ether({"packet_header_bytes": 10, "fidelity": fidelity})
    e.send(0, 1, 2_500)
    assert transmitted(e) == 3 * (834 + 80)
    assert [e.air.bits_transmitted_by(i) for i in range(2)] == [2742, 0]


@FIDELITIES
def test_retransmissions_count_at_loss_three_tenths(ether, fidelity):
    """1 / (1 - 0.3) = 1.43 attempts a packet: Var = 0.3 / 0.7**2 each."""
    lossy = {"packet_error": {"kind": "fixed", "loss": 0.3}, "fidelity": fidelity}
    e = ether(lossy | {"arq": {"kind": "unlimited"}, "ttl_s": 100.0, "packet_header_bytes": 25})
    packets = 3_000
    e.send(0, 1, packets * PACKET)
    attempts = transmitted(e) / (PACKET + 200)
    assert attempts == e.ended[0].attempts
    assert abs(attempts - packets / 0.7) < 4 * math.sqrt(packets * 0.3) / 0.7


@FIDELITIES
def test_a_broadcast_counts_once_whoever_hears_it(ether, fidelity):
    e = ether({"packet_header_bytes": 25, "fidelity": fidelity}, nodes=4)
    e.send(0, [1, 2, 3], 5 * PACKET)
    assert transmitted(e) == 5 * (PACKET + 200)
    assert sorted(e.recorder.transmitted) == [0, 0, 6_000]


@FIDELITIES
def test_a_broadcast_that_everybody_misses_counts(ether, fidelity):
    """Both receivers are busy with each other."""
    e = ether({"fidelity": fidelity}, nodes=4)
    e.send(1, 2, 10 * PACKET)
    e.send(0, [1, 2], 3 * PACKET, at_ns=MS)
    assert transmitted(e) == 13 * PACKET
    assert [x.outcome for x in e.ended] == ["busy", "busy", "delivered"]


@FIDELITIES
def test_a_broadcast_that_all_its_receivers_leave_goes_on(ether, fidelity):
    e = ether({"fidelity": fidelity}, nodes=3)
    e.send(0, [1, 2], 10 * PACKET)
    e.switch(1, False, 2 * MS)
    e.switch(2, False, 3 * MS)
    e.run()
    assert e.recorder.bits_transmitted == 10 * PACKET
    assert e.recorder.transmitted == [0, 10 * PACKET]


@FIDELITIES
@pytest.mark.parametrize("to", [1, [1]])
def test_a_message_that_expires_counts_by_what_was_sent(ether, to, fidelity):
    """Five and a half of ten packets, each 1.2 ms with its header."""
    e = ether({"ttl_s": 0.0066, "packet_header_bytes": 25, "fidelity": fidelity})
    e.send(0, to, 10 * PACKET)
    assert transmitted(e) == 5.5 * 1_200
    assert (e.ended[0].outcome, e.ended[0].attempts) == ("deadline", 6)


@FIDELITIES
def test_a_message_that_is_cut_counts_by_what_was_sent(ether, fidelity):
    e = ether({"fidelity": fidelity}, nodes=3)
    e.send(0, 1, 10 * PACKET)
    e.send(0, 2, 10 * PACKET)
    e.switch(0, False, 2_250_000)
    assert transmitted(e) == 2_250
    assert e.recorder.transmitted == [0, 2_250]  # what waited was never sent


@FIDELITIES
def test_packets_given_up_count(ether, fidelity):
    """Nothing gets through: seven attempts at each of three packets."""
    radio = {"arq": {"kind": "hole"}, "packet_error": {"kind": "fixed", "loss": 1.0}}
    e = ether(radio | {"fidelity": fidelity})
    e.send(0, 1, 3 * PACKET)
    assert transmitted(e) == 21 * PACKET


def test_collisions_that_csma_plays_as_part_of_an_attempt_count(ether):
    """A sender's own collisions to a success: as its time on the air has them."""
    e = ether({"mac": {"kind": "csma"}}, nodes=11)
    packets = 200
    for i in range(10):
        e.send(i, 10, packets * PACKET, at_ns=1)
    bits = transmitted(e)
    airtime_ms = e.recorder.airtime_ns / MS
    assert bits > 1.2 * 10 * packets * PACKET
    assert bits == pytest.approx(airtime_ms * PACKET, rel=1e-6)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("to", [1, [1]])
def test_both_fidelities_transmit_as_much_in_the_mean(ether, to):
    """Interference comes and goes, attempts fail, messages expire; 300 of each."""
    snr = np.full((4, 4), 100.0)
    snr[2, 1], snr[0, 3], snr[2, 3] = 3.0, 0.0, 1e12
    found = {}
    for fidelity in ("message", "packet"):
        radio = {
            "packet_error": {"kind": "exponential_snr", "m": 40.0},
            "mac": {"kind": "shared"},
            "arq": {"kind": "unlimited"},
            "ttl_s": 0.0203,
            "fidelity": fidelity,
        }
        e = ether(radio, mean_snr=snr, nodes=4)
        for k in range(300):
            e.send(0, to, 8 * PACKET, at_ns=1 + k * 100 * MS)
            e.send(2, 3, 4 * PACKET, at_ns=1 + k * 100 * MS + 2_350_000)
        transmitted(e)
        rows = zip(e.ended, e.recorder.transmitted, strict=True)
        found[fidelity] = np.array([bits for x, bits in rows if x.src == 0])
    a, b = found.values()
    sd = math.sqrt((a.var() + b.var()) / 300)
    assert abs(a.mean() - b.mean()) <= 4 * sd
    assert (a.mean() > 8 * PACKET) == (to == 1)
