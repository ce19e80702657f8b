"""Messages over several bottlenecks one after the other, whose capacities change in time."""

import math
from bisect import bisect_right

import numpy as np
import pytest

PACKETS = [None, 125]
"""Bytes of a packet; None: bit by bit."""


def trace(folder, name, pieces):
    """A file of pieces (seconds, bit/s), the last of which lasts."""
    at_s, lines = 0.0, ["time_s,bps"]
    for lasts_s, bps in pieces:
        lines.append(f"{at_s!r},{bps!r}")
        at_s += lasts_s
    (folder / name).write_text("\n".join(lines) + "\n")
    return str(folder / name)


class Line:
    """A capacity and the bits that it carries, worked out apart: pieces (seconds, bit/s)."""

    def __init__(self, pieces):
        self.begins_s = np.cumsum([0.0, *[lasts_s for lasts_s, _ in pieces[:-1]]]).tolist()
        self.bps = [bps for _, bps in pieces]

    def finish_s(self, at_s, bits):
        """Time at which bits that begin at an instant have crossed."""
        while True:
            piece = bisect_right(self.begins_s, at_s) - 1
            last = piece + 1 == len(self.begins_s)
            until_s = math.inf if last else self.begins_s[piece + 1]
            if self.bps[piece] > 0.0 and at_s + bits / self.bps[piece] <= until_s + 1e-12:
                return at_s + bits / self.bps[piece]
            bits -= self.bps[piece] * (until_s - at_s)
            at_s = until_s


def packet_by_packet_s(lines, packets, packet_bits, sent_s=(0.0,)):
    """Ends of messages, sent by nodes of their own, whose packets cross each line one by one.

    The first line is the sender's own, those that follow are common and serve the messages as a
    whole, in order.
    """
    free_s, found = [0.0] * len(lines), []
    for begin_s in sent_s:
        comes_s = [begin_s] * packets
        for k, line in enumerate(lines):
            at_s = free_s[k] if k else 0.0
            for j in range(packets):
                comes_s[j] = at_s = line.finish_s(max(comes_s[j], at_s), packet_bits)
            free_s[k] = at_s
        found.append(comes_s[-1])
    return found


def test_a_line_that_starves_has_its_backlog_left(wires, tmp_path):
    """Up: 5 s at 1, nothing for 5 s, then 8 Mbit/s. Down: 4 Mbit/s. 14 Mbit.

    5 Mbit cross with 1 Mbit/s by 5 s. From 10 s on 9 Mbit come within 1.125 s, of which 4 cross
    a second: the last at 10 + 9 / 4 s. Without the pause in between it would be 14 / 4 s, and
    the last bit comes at 11.125 s.
    """
    up = trace(tmp_path, "up.csv", [(5, 1e6), (5, 0.0), (1, 8e6)])
    w = wires(2, {
        "trace": {"uplink": up, "after": "hold"}, "downlink_bps": 4e6, "sharing": "fifo",
    })  # fmt: skip
    w.send(0.0, 0, 1, 14_000_000)
    assert w.run() == [(12.25, 0, 1, "delivered")]


@pytest.mark.thinned(4)
@pytest.mark.parametrize("packet_bytes", PACKETS)
@pytest.mark.parametrize("shape", ["one", "both", "three", "looped"])
@pytest.mark.parametrize("seed", range(8))
def test_messages_end_as_if_every_packet_were_played(wires, tmp_path, seed, shape, packet_bytes):
    """Random capacities, with times without any; the receiver's line serves two messages."""
    rng = np.random.default_rng([seed, len(shape)])

    def pieces():
        number = int(rng.integers(2, 9))
        bps = rng.integers(0, 5, number) * 1000.0
        bps[-1] = 1000.0 * rng.integers(1, 5)
        return [(float(rng.integers(1, 40)) / 10, b) for b in bps.tolist()]

    up, down, rate = pieces(), pieces() if shape != "one" else [(1.0, 2500.0)], 3100.0
    fields = {"sharing": "fifo", "trace": {"uplink": trace(tmp_path, "up.csv", up)}}
    fields["trace"]["after"] = "loop" if shape == "looped" else "hold"
    if shape == "one":
        fields["downlink_bps"] = 2500.0
    else:
        fields["trace"]["downlink"] = trace(tmp_path, "down.csv", down)
    if shape == "looped":
        for one in (up, down):
            if len(one) > 1:
                one[-1] = (one[-2][0], one[-1][1])  # a last row lasts for as long as the one before
                one *= 40
    lines = [Line(up), Line(down)]
    if shape == "three":
        fields["rate_bps"] = rate
        lines.insert(1, Line([(1.0, rate)]))
    packets = 24
    sent_s = (0.0, 1.7)
    if shape == "three":  # each pair has a line of its own
        sent_s = (0.0,)
    if packet_bytes is not None:
        fields["packet_payload_bytes"] = packet_bytes
    w = wires(3, fields)
    for src, at_s in enumerate(sent_s):
        w.send(at_s, src, 2, packets * 1000)
    found = [end[0] for end in w.run()]
    if packet_bytes is None:
        fine = 400
        expected = packet_by_packet_s(lines, packets * fine, 1000 / fine, sent_s)
        assert found == pytest.approx(expected, abs=0.02)
    else:
        assert found == pytest.approx(packet_by_packet_s(lines, packets, 1000, sent_s), abs=1e-7)


@pytest.mark.parametrize("key", ["uplink_bps", "downlink_bps"])
def test_what_changes_in_mid_run_changes_on_both_sides(wires, key):
    """8 kbit up at 1 and down at 2 kbit/s.

    Up 4 kbit/s from 4 s on: 4 kbit have crossed both lines by then, 4 more come by 5 s and are
    through at 6 s. Down 500 bit/s from 4 s on: 4 kbit have crossed, 4 are left for 8 s.
    """
    fields = {"uplink_bps": 1000.0, "downlink_bps": 2000.0, "sharing": "fifo"}
    w, after = wires(2, fields), {"uplink_bps": 4000.0, "downlink_bps": 500.0}[key]
    w.send(0.0, 0, 1, 8000)
    w.at(4.0, w.link.set_wiring, wires(2, fields | {key: after}).wiring)
    assert w.run() == [(6.0 if key == "uplink_bps" else 12.0, 0, 1, "delivered")]


@pytest.mark.parametrize("packet_bytes", [None, 1000, 10**9])
def test_a_message_that_takes_for_ever_takes_no_time_to_plan(wires, tmp_path, packet_bytes):
    """100 years of a trace of 2 ms."""
    up = trace(tmp_path, "up.csv", [(0.001, 500.0), (0.001, 100.0)])
    fields = {"trace": {"uplink": up}, "downlink_bps": 200.0, "sharing": "fifo", "ttl_s": 1.0}
    w = wires(2, fields | ({} if packet_bytes is None else {"packet_payload_bytes": packet_bytes}))
    w.send(0.0, 0, 1, 700_000_000_000)
    assert w.run() == [(1.0, 0, 1, "deadline")]
