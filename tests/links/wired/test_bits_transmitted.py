"""Bits through the wires, by hand: every attempt with its header, what is cut short by its part."""

import math

import pytest

BITS = 8_000
"""Four packets of 250 bytes."""
PACKETS = {"packet_payload_bytes": 250, "packet_header_bytes": 10}
WAYS = pytest.mark.parametrize("way", [{"rate_bps": 1e6}, {"uplink_bps": 1e6}])


def transmitted(w):
    w.run()
    return w.link.recorder.bits_transmitted


@WAYS
def test_headers_take_time_and_count(way, wires):
    w = wires(2, way | PACKETS)
    w.send(0.0, 0, 1, BITS)
    assert transmitted(w) == BITS + 4 * 80
    assert [end[0] for end in w.ends] == [pytest.approx(8.32e-3)]
    assert [w.link.bits_transmitted_by(i) for i in range(2)] == [BITS + 320, 0]


@WAYS
def test_retransmissions_count(way, wires):
    """1 / 0.7 attempts a packet."""
    w = wires(2, way | PACKETS | {"loss": 0.3, "arq": {"kind": "unlimited"}})
    for k in range(400):
        w.send(float(k), 0, 1, BITS)
    attempts = transmitted(w) / 2_080
    assert attempts == sum(row[1] for row in w.logged)
    assert abs(attempts - 1600 / 0.7) < 4 * math.sqrt(1600 * 0.3) / 0.7


@WAYS
def test_what_is_cut_short_counts_by_its_part(way, wires):
    """5 ms at 1 Mb/s, then the time to live has passed."""
    w = wires(2, way | PACKETS | {"ttl_s": 5e-3})
    w.send(0.0, 0, 1, BITS)
    assert transmitted(w) == 5_000
    assert w.logged == [("deadline", 3, 0)]


def test_what_never_had_the_wire_counts_nothing(wires):
    w = wires(3, PACKETS | {"uplink_bps": 1e6, "sharing": "fifo", "ttl_s": 8.4e-3})
    w.send(0.0, 0, 1, BITS)
    w.send(0.0, 0, 2, BITS)
    assert transmitted(w) == BITS + 320 + 80  # of the second one 80 us


def test_what_has_left_its_sender_counts_whole(wires):
    w = wires(2, {"uplink_bps": 1e6, "downlink_bps": 1e5, "forwarding": "stored"})
    w.send(0.0, 0, 1, BITS)
    w.at(0.02, w.switch, 1, False)
    assert transmitted(w) == BITS
