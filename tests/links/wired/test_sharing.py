"""Shared bottlenecks: fair rates, queues, several hops, what is cut short."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from netsim.clock import Clock
from netsim.links.link import Transmission
from netsim.links.wired import plan
from netsim.links.wired.busy import BusyTime
from netsim.links.wired.max_min import max_min
from netsim.links.wired.wire import Wire, WiredLink
from netsim.messaging.message import Envelope, Message
from netsim.recording.recorder import Recorder
from netsim.rng import Streams
from netsim.traces.contacts import Meetings

S = 10**9


@dataclass(frozen=True)
class Parcel(Message):
    pass


def test_max_min_rates_by_hand():
    found = max_min({"a": ["A"], "ab": ["A", "B"], "b": ["B"]}, {"A": 10.0, "B": 4.0})
    assert found == {"a": 8.0, "ab": 2.0, "b": 2.0}
    assert max_min({}, {}) == {}
    assert max_min({1: ["X"]}, {"X": 0.0}) == {1: 0.0}


@pytest.mark.parametrize("seed", range(20))
def test_max_min_rates_have_their_defining_property(seed):
    """Every flow crosses a full bottleneck on which nobody has more (the bottleneck condition)."""
    rng = np.random.default_rng(seed)
    capacity = {r: float(c) for r, c in enumerate(rng.uniform(0.5, 10.0, 8))}
    paths = {f: rng.choice(8, size=rng.integers(1, 5), replace=False).tolist() for f in range(25)}
    rates = max_min(paths, capacity)
    load = {r: sum(rates[f] for f in paths if r in paths[f]) for r in capacity}
    assert all(load[r] <= capacity[r] * (1 + 1e-12) for r in capacity)
    for f, path in paths.items():
        assert any(
            math.isclose(load[r], capacity[r], rel_tol=1e-9)
            and all(rates[g] <= rates[f] * (1 + 1e-9) for g in paths if r in paths[g])
            for r in path
        )


def test_two_uploads_share_one_downlink_and_the_rest_has_it_to_itself(wires):
    w = wires(3, {"downlink_bps": 1000.0})
    w.send(0.0, 0, 2, 1000)
    w.send(0.0, 1, 2, 3000)
    # half each until 2 s; then 2,000 bits are left at the full rate
    assert w.run() == [(2.0, 0, 2, "delivered"), (4.0, 1, 2, "delivered")]


def test_one_that_comes_later_slows_the_one_under_way(wires):
    w = wires(3, {"uplink_bps": 1000.0, "latency_s": 0.5})
    w.send(0.0, 0, 1, 2000)
    w.send(1.0, 0, 2, 500)
    # 1,000 bits alone; then half each: the second is through at 2 s, the first 500 ms later
    assert w.run() == [(2.5, 0, 2, "delivered"), (3.0, 0, 1, "delivered")]


def test_first_come_first_served(wires):
    w = wires(3, {"uplink_bps": 1000.0, "latency_s": 0.5, "sharing": "fifo"})
    w.send(0.0, 0, 1, 2000)
    w.send(1.0, 0, 2, 500)
    assert w.run() == [(2.5, 0, 1, "delivered"), (3.0, 0, 2, "delivered")]


def test_a_group_has_access_rates_of_its_own(wires):
    w = wires(3, {"uplink_bps": 1000.0}, up_bps=[None, 4000.0, None])
    w.send(0.0, 0, 2, 1000)
    w.send(0.0, 1, 2, 1000)
    assert w.run() == [(0.25, 1, 2, "delivered"), (1.0, 0, 2, "delivered")]


LINE_OF_FOUR = "a b 5\nb c 5\nc d 5\n"
THREE_HOPS = {"routers": ["a", "d"], "rate_bps": 2e7, "latency_attribute": "3"}


@pytest.mark.parametrize("sharing", ["max_min", "fifo"])
@pytest.mark.parametrize(("forwarding", "packets_s"), [("pipelined", 2702), ("stored", 8100)])
def test_several_hops(wires, tmp_path, sharing, forwarding, packets_s):
    (tmp_path / "line.txt").write_text(LINE_OF_FOUR)
    w = wires(
        2,
        {
            "backbone": THREE_HOPS | {"path": "line.txt"},
            "packet_payload_bytes": 1500,
            "sharing": sharing,
            "forwarding": forwarding,
        },
        folder=tmp_path,
    )
    w.send(0.0, 0, 1, 2700 * 12_000)
    [(end_s, *_)] = w.run()
    # packets of 0.6 ms and three times 5 ms of propagation
    assert end_s == pytest.approx(packets_s * 0.6e-3 + 0.015, abs=1e-8)


def test_lines_carry_both_directions_at_once_and_are_shared_in_each(wires, tmp_path):
    (tmp_path / "line.txt").write_text("a b\n")
    lines = {"path": "line.txt", "rate_bps": 1000.0, "latency_s": 0.0, "routers": ["a", "a", "b"]}
    w = wires(3, {"backbone": lines}, folder=tmp_path)
    w.send(0.0, 0, 2, 1000)
    w.send(0.0, 1, 2, 1000)
    w.send(0.0, 2, 0, 1000)
    w.send(0.0, 0, 1, 10**9)  # at one router: no line
    assert sorted(w.run()) == [
        (0.0, 0, 1, "delivered"),
        (1.0, 2, 0, "delivered"),
        (2.0, 0, 2, "delivered"),
        (2.0, 1, 2, "delivered"),
    ]


@pytest.mark.parametrize("sharing", ["max_min", "fifo"])
def test_what_ends_early_frees_the_bottleneck(wires, sharing):
    """8,000 bits in 8 packets at 1,000 bit/s, cut at 3 s; the other goes on alone."""
    fields = {"uplink_bps": 1000.0, "sharing": sharing, "packet_payload_bytes": 125}
    w = wires(4, fields)
    w.send(0.0, 0, 1, 8000)
    w.send(0.0, 0, 2, 4000)
    w.at(3.0, w.switch, 1, False)
    w.at(3.5, w.switch, 1, True)
    w.send(4.0, 1, 3, 1000)
    ends = w.run()
    assert (3.0, 0, 1, "off") in ends
    # shared: 1,500 of 4,000 bits at 3 s; in turn: none
    assert (5.5 if sharing == "max_min" else 7.0, 0, 2, "delivered") in ends
    assert (5.0, 1, 3, "delivered") in ends
    # 1.5 s or 3 s of its own: 2 or 3 packets begun
    assert ("off", 2 if sharing == "max_min" else 3, 0) in w.logged


def test_a_message_to_a_node_that_is_off_meets_silence_after_the_latency(wires):
    w = wires(2, {"uplink_bps": 1000.0, "latency_s": 0.25})
    w.switch(1, False)
    w.send(1.0, 0, 1, 8000)
    assert w.run() == [(1.25, 0, 1, "off")]


def test_a_message_is_given_up_at_its_time_to_live_and_holds_nothing_up(wires):
    w = wires(3, {"uplink_bps": 1000.0, "ttl_s": 2.0, "sharing": "fifo"})
    w.send(0.0, 0, 1, 5000)
    w.send(0.5, 0, 2, 400)
    w.send(1.9, 0, 2, 100, patience_ns=S // 20)
    assert w.run() == [
        (1.95, 0, 2, "deadline"),
        (2.0, 0, 1, "deadline"),
        (2.4, 0, 2, "delivered"),
    ]
    assert [attempts for _, attempts, _ in w.logged] == [0, 1, 1]


def test_a_contact_that_ends_takes_the_message_with_it(wires):
    meetings = Meetings(3, {(0, 1): [(0, S), (5 * S, 9 * S)]})
    w = wires(3, {"rate_bps": 1000.0, "latency_s": 0.5}, meetings=meetings)
    w.send(0.0, 0, 1, 500)  # arrives as the contact ends
    w.send(0.1, 0, 1, 500)  # a moment later
    w.send(2.0, 0, 1, 500)  # no contact
    w.send(5.0, 1, 0, 500)
    w.send(5.0, 0, 2, 500)  # they never meet
    assert w.run() == [
        (1.0, 0, 1, "delivered"),
        (1.0, 0, 1, "outage"),
        (2.0, 0, 1, "outage"),
        (5.0, 0, 2, "outage"),
        (6.0, 1, 0, "delivered"),
    ]


PLAIN = [
    {"latency_s": 0.01},
    {"latency_s": 0.01, "loss": 0.4},
    {"latency_s": 0.01, "rate_bps": 1e6},
    {"rate_bps": 1e6, "loss": 0.2, "packet_payload_bytes": 50, "arq": {"kind": "hole"}},
    {"rate_bps": 1e5, "bursts": {}, "packet_payload_bytes": 10, "arq": {"kind": "unlimited"}},
    {"rate_bps": 1e5, "loss": 0.3, "packet_payload_bytes": 10, "ttl_s": 0.03, "latency_s": 0.01},
    {"rate_bps": 1e5, "loss": 0.3, "packet_payload_bytes": 10, "ttl_s": 0.03}
    | {"arq": {"kind": "unlimited"}},
]


@pytest.mark.parametrize("how", PLAIN)
def test_wires_that_are_not_shared_do_what_the_plain_wire_does(how, wires):
    def ends(link, env):
        seen = []

        finish = link.finish

        def noted(tx, outcome, attempts=1, lost=0, *more):
            seen.append((env.now, tx.src, tx.dst, tx.envelope.bits, outcome, attempts, lost))
            finish(tx, outcome, attempts, lost, *more)

        link.finish = noted

        def send(number):
            for dst in (1, 2):
                bits = 8 * (100 + 37 * number * dst)
                envelope = Envelope(Parcel(), 0, bits, 1, env.now, patience_ns=6 * 10**6)
                link.unicast(Transmission(envelope, dst, lambda *_: None))

        for number in range(20):
            env.call_after(number * 900_000, send, number)
        env.run()
        return (
            sorted(seen),
            [link.bits_transmitted_by(i) for i in range(3)],
            link.recorder.airtime_ns,
        )

    env = Clock()
    plain = ends(WiredLink(Wire(**how), 3, env, Recorder(None), Streams(3)), env)
    w = wires(3, how, seed=3)
    assert ends(w.link, w.env) == plain


def test_airtime_is_that_of_messages_that_have_ended():
    env, recorder = Clock(), Recorder(None)
    link = WiredLink(Wire(rate_bps=1000.0), 2, env, recorder, Streams(0))

    def parcel():
        return Transmission(Envelope(Parcel(), 0, 4000, 1, 0), 1, lambda *_: None)

    link.unicasts([parcel(), parcel()])
    link.unicast(parcel())
    env.run(until=9 * S)
    assert recorder.airtime_ns == 8 * S


@pytest.mark.parametrize("slow_start", [{}, {"slow_start": {"handshake": False}}])
@pytest.mark.parametrize("sharing", ["max_min", "fifo"])
def test_airtime_is_the_time_for_which_a_line_is_busy(wires, sharing, slow_start):
    """Three messages of 1 s share a line for 3 s, whatever the way; later one has it alone."""
    w = wires(4, {"sharing": sharing, **slow_start}, up_bps=[1000.0, None, None, None])
    for dst in (1, 2, 3):
        w.send(0.0, 0, dst, 1000)
    w.send(10.0, 0, 1, 1000)
    w.run()
    assert w.link.recorder.airtime_ns == pytest.approx(4 * S, abs=100)


def test_airtime_of_two_senders_that_share_a_downlink_is_that_of_both(wires):
    """Half the rate each, for 2 s."""
    w = wires(3, {}, up_bps=[1000.0, 1000.0, None], down_bps=[None, None, 1000.0])
    for src in (0, 1):
        w.send(0.0, src, 2, 1000)
    w.run()
    assert w.link.recorder.airtime_ns == pytest.approx(4 * S, abs=100)


def test_spans_that_overlap_are_busy_time_once():
    """Random spans in the order of their ends, against the nanoseconds that they cover."""
    rng, covered, busy, total = np.random.default_rng(0), np.zeros(6000, bool), BusyTime(), 0
    ends = np.sort(rng.integers(40, 6000, 300))
    begins = ends - rng.integers(1, 40, 300)
    for k, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        total += busy.more_ns("line", begin, end, lambda k=k: int(begins[k:].min()))
        covered[begin:end] = True
        assert total == covered.sum()
    assert total < (ends - begins).sum()


def test_jitter_is_uniform_and_every_messages_own(wires):
    w = wires(2, {"latency_s": 1.0, "jitter_s": 0.5})
    for number in range(2000):
        w.send(10.0 * number, 0, 1, 8)
    extra = np.array([end - 10.0 * k - 1.0 for k, (end, *_) in enumerate(w.run())])
    assert extra.min() >= 0.0
    assert extra.max() < 0.5
    # mean of 2,000 uniforms: standard error 0.5 / sqrt(12 * 2000)
    assert abs(extra.mean() - 0.25) < 4 * 0.5 / math.sqrt(24_000)


@pytest.mark.slow
def test_a_settled_storm_leaves_nothing_behind(wires):
    w = wires(20, {"uplink_bps": 1e6, "downlink_bps": 2e6, "ttl_s": 3.0, "latency_s": 0.01})
    rng = np.random.default_rng(0)
    for _ in range(400):
        src, dst = rng.choice(20, 2, replace=False)
        w.send(rng.uniform(0, 2), int(src), int(dst), int(rng.integers(1000, 400_000)))
    for node in (3, 7):
        w.at(1.0, w.switch, node, False)
    ends = w.run()
    assert len(ends) == 400
    assert {e[3] for e in ends} == {"delivered", "deadline", "off"}
    assert not w.link._live
    assert not any(w.link._service._crossing.values())


@pytest.mark.parametrize("sharing", ["max_min", "fifo"])
@pytest.mark.parametrize(("downlink", "ends_s"), [({}, 9.5), ({"downlink_bps": 200.0}, 40.5)])
def test_what_is_served_goes_on_at_the_new_capacity(wires, sharing, downlink, ends_s):
    """8,000 bits at 1,000 bit/s, from 3 s on at 250, from 7 s on at 2,000; or at 200 throughout."""
    fields = {"uplink_bps": 1000.0, "sharing": sharing, "latency_s": 0.5} | downlink
    w = wires(3, fields)
    w.send(0.0, 0, 1, 8000)
    if sharing == "fifo":
        w.send(1.0, 0, 2, 1000)
    for at_s, bps in ((3.0, 250.0), (7.0, 2000.0)):
        none = [None] * 3
        found = plan.read_wiring(
            Wire(**fields | {"uplink_bps": bps}), none, none, [True] * 3, Streams(0), None
        )
        w.at(at_s, w.link.set_wiring, found)
    ends = {dst: end_s for end_s, _, dst, _ in w.run()}
    assert ends[1] == pytest.approx(ends_s)
    if sharing == "fifo" and not downlink:
        assert ends[2] == pytest.approx(10.0)


@pytest.mark.parametrize("sharing", ["max_min", "fifo"])
def test_what_is_cut_short_has_sent_what_its_line_carried(wires, tmp_path, sharing):
    """Nothing for a second of every two, else 1,000 bit/s: 1,500 of 3,000 bits by 3.5 s."""
    (tmp_path / "t.csv").write_text("time_s,mbps\n0,0\n1,0.001\n")
    trace = {"uplink": str(tmp_path / "t.csv"), "assign": "order"}
    w = wires(2, {"trace": trace, "sharing": sharing, "packet_payload_bytes": 125, "ttl_s": 3.5})
    w.send(0.0, 0, 1, 3000)
    w.run()
    assert w.logged == [("deadline", 2, 0)]
    assert w.link.bits_transmitted_by(0) == 1500
