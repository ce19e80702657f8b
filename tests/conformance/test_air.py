"""The air, judged by the log alone: radios, queues, broadcasts, patience, discovery, fading."""

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest

from netsim.messaging.message import Envelope, ProbeReply

STILL = {
    "fading": {"kind": "none"},
    "rate": {"kind": "fixed", "rate_bps": 1e6},
    "packet_payload_bytes": 100_000,
}
"""A radio over which a message of b bits takes b microseconds, always."""

NUMBERS = """
@dataclass(frozen=True)
class Shout(Message):
    payload: tuple = ()

@dataclass(frozen=True)
class Whisper(Message):
    payload: tuple = ()

"""
STORM = (
    NUMBERS
    + """
def processes(node, params):
    return [on_air(node)]

def on_air(node):
    while True:
        gap, which, size, loud = node.uniform("load", 4)
        yield node.sleep(0.01 * gap)
        payload = (0.0,) * (1 + int(200 * size))
        if loud < 0.3:
            node.broadcast(Shout(payload))
        else:
            node.send(node.peers[int(which * len(node.peers))], Whisper(payload))
"""
)


def on_air(log, radio):
    """(start, end, radios) of every transmission, from the log; busy and queued ones were none."""
    intervals = []
    payload_bits, overhead_s = 8 * radio["packet_payload_bytes"], radio["attempt_overhead_s"]

    def airtime_s(bits, attempts=None):
        packets = math.ceil(bits / payload_bits)
        packet_bits = math.ceil(bits / packets) + 8 * radio["packet_header_bytes"]
        return (attempts or packets) * (overhead_s + packet_bits / radio["rate"]["rate_bps"])

    for row in log[log.kind == "Whisper"].itertuples():
        start = row.t_done_s - airtime_s(row.bits, row.attempts)
        intervals.append((start, row.t_done_s, {row.src, row.dst}))
    for (src, done), rows in log[log.kind == "Shout"].groupby(["src", "t_done_s"]):
        heard = set(rows.dst[rows.outcome != "busy"])
        intervals.append((done - airtime_s(rows.bits.iloc[0]), done, {src} | heard))
    return intervals


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_no_radio_is_ever_in_two_transmissions_and_none_that_could_start_waits(play_source, seed):
    radio = STILL | {
        "packet_error": {"kind": "fixed", "loss": 0.2},
        "packet_payload_bytes": 100,
        "packet_header_bytes": 10,
        "attempt_overhead_s": 1e-4,
        "arq": {"kind": "abort", "max_attempts": 3},
    }
    played = play_source(
        STORM, "poisson", radio=radio, seed=seed, nodes={"count": 7}, horizon_s=1.0
    )
    intervals = on_air(played.log, radio)
    assert len(intervals) > 200
    by_radio = defaultdict(list)
    for start, end, radios in intervals:
        for r in radios:
            by_radio[r].append((start, end))
    for spans in by_radio.values():
        spans.sort()
        for (_, end), (start, _) in itertools.pairwise(spans):
            assert start >= end - 3e-9  # whole nanoseconds, rounded once each
    # a message that waited starts at the moment at which one of its radios became free
    ends = {r: np.array([e for _, e in spans]) for r, spans in by_radio.items()}
    waited = 0
    whispers = played.kind("Whisper")
    for row, (start, _, radios) in zip(whispers.itertuples(), intervals, strict=False):
        if start > row.t_sent_s + 3e-9:
            waited += 1
            assert min(np.abs(ends[r] - start).min() for r in radios) < 3e-9
    assert waited > 50
    # a broadcast is missed by exactly those receivers that are in another transmission
    shouts = played.log[played.log.kind == "Shout"]
    missed = shouts[shouts.outcome == "busy"]
    assert 0 < len(missed) < len(shouts)
    start_of = {(row.src, row.t_done_s): None for row in missed.itertuples()}
    for start, end, radios in intervals:
        for src in radios:
            if (src, end) in start_of:
                start_of[src, end] = start
    for row in missed[missed.t_done_s < 0.9].itertuples():  # the log ends before the last ones do
        start = start_of[row.src, row.t_done_s]
        assert any(s - 3e-9 <= start < e for s, e in by_radio[row.dst])


@pytest.mark.slow
def test_all_to_all_over_half_duplex_radios_finishes(play):
    """Five nodes, 20 messages a round, at most two at once: at least ten airtimes a round."""
    played = play("toy_flood", "rounds", radio=STILL, horizon_s=3.9)
    log = played.log
    assert set(log.outcome) == {"delivered"}
    assert {s.value[2] for s in played.saw("outcome")} == {"delivered"}
    per_round = log.groupby("round").size()
    assert set(per_round) == {20}
    assert len(per_round) == 8
    airtime_s = log.bits.iloc[0] / 1e6
    for _, rows in log.groupby("round"):
        lasted_s = rows.t_done_s.max() - rows.t_sent_s.min()
        assert 10 * airtime_s - 1e-9 <= lasted_s <= 20 * airtime_s + 1e-9
    received = [s.value for s in played.saw("flood")]
    assert len(received) == len(set(received)) * 4  # each (round, sender) at four nodes
    assert played.summary["messages"]["airtime_s"] == pytest.approx(len(log) * airtime_s)


def test_a_broadcast_takes_one_airtime_and_a_busy_receiver_misses_it(play_source):
    source = (
        NUMBERS
        + """
def processes(node, params):
    return [on_start(node)]

def on_start(node):
    if node.id == 0:
        node.send(1, Whisper((0.0,) * 1000))
    yield node.sleep(0.01)
    if node.id == 2:
        outcomes = yield node.broadcast(Shout((0.0,) * 500), to=[0, 3, 3, 1])
        saw(node, "over", (node.now_s, outcomes))
"""
    )
    played = play_source(source, radio=STILL, nodes={"count": 4})
    shouts = {r.dst: r.outcome for r in played.kind("Shout").itertuples()}
    assert shouts == {0: "busy", 1: "busy", 3: "delivered"}
    assert [s.value for s in played.saw("over")] == [(0.026, {0: None, 1: None, 3: None})]
    assert played.summary["messages"]["airtime_s"] == pytest.approx(0.048)
    # a broadcast is offered to each receiver and transmitted once
    assert played.summary["messages"]["bits_offered"] == 32000 + 3 * 16000
    assert played.summary["messages"]["bits_transmitted"] == 32000 + 16000
    assert played.summary["messages"]["bits_delivered"] == 32000 + 16000


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kind", ["Whisper", "Shout"])
def test_a_message_is_given_up_at_its_time_to_live_queued_or_half_way(play_source, kind):
    send = "node.send(1, " if kind == "Whisper" else "node.broadcast("
    source = (
        NUMBERS
        + f"""
def processes(node, params):
    return [on_start(node)] if node.id == 0 else []

def on_start(node):
    for length in (1000, 1000, 1000):
        {send}{kind}((0.0,) * length))
    yield node.sleep(1.0)
"""
    )
    radio = STILL | {"ttl_s": 0.05}
    played = play_source(source, radio=radio, nodes={"count": 2})
    rows = list(played.log.sort_values("t_done_s", kind="stable").itertuples())
    # 32 ms each: the first is done, the second is cut at 50 ms, the third never starts
    assert [r.outcome for r in rows] == ["delivered", "deadline", "deadline"]
    assert [r.t_done_s for r in rows] == pytest.approx([0.032, 0.05, 0.05])
    assert sorted(r.attempts > 0 for r in rows) == [False, True, True]
    assert played.summary["messages"]["expired"] == 2
    assert played.summary["messages"]["airtime_s"] == pytest.approx(0.05)


def test_a_long_outage_ends_at_the_time_to_live_without_searching_for_its_end(play_source):
    source = (
        NUMBERS
        + """
def processes(node, params):
    return [on_start(node)] if node.id == 0 else []

def on_start(node):
    saw(node, "outcome", (yield node.send(1, Whisper((0.0,) * 1000))))
"""
    )
    radio = {
        "mean_snr_db": -60.0,
        "ttl_s": 0.5,
        "arq": {"kind": "unlimited"},
        "rate": {"kind": "shannon_gap", "min_rate_bps": 1e5},
    }
    played = play_source(source, radio=radio, nodes={"count": 2})
    assert [(s.t_s, s.value) for s in played.saw("outcome")] == [(0.5, "deadline")]


@pytest.mark.slow
def test_probing_costs_airtime_and_finds_only_whose_reply_was_decoded(play):
    fading = {"kind": "rayleigh", "hold": "exchange"}
    radio = {"mean_snr_db": 6.0, "threshold_db": 5.0, "fading": fading}
    probing = radio | {"discovery": "probe", "probe_window_s": 0.05}
    played = play("toy_hello", "star", radio=probing)
    probes, replies = played.kind("Probe"), played.kind("ProbeReply")
    assert set(probes.bits) == {256}
    decoded = {
        (r.dst, round(r.t_done_s, 3)) for r in replies[replies.outcome == "delivered"].itertuples()
    }
    for sight in played.saw("echoes"):
        in_reach = sight.value[0]
        asked = probes[(probes.src == sight.node) & (probes.t_sent_s <= sight.t_s)]
        last = asked[asked.t_sent_s == asked.t_sent_s.max()]
        answered = replies[
            (replies.dst == sight.node)
            & (replies.outcome == "delivered")
            & (replies.t_sent_s >= last.t_sent_s.max())
            & (replies.t_done_s <= last.t_sent_s.max() + 0.05)
        ]
        assert in_reach == sorted(answered.src)
    assert decoded
    assert {"outage", "delivered"} <= set(probes.outcome)
    # the channel is reciprocal and holds over the exchange, so the oracle finds the same peers
    oracle = play("toy_hello", "star", radio=radio)
    assert [s.value[0] for s in oracle.saw("echoes")] == [s.value[0] for s in played.saw("echoes")]
    assert not len(oracle.kind("Probe"))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("link", ["wired", "air"])
def test_a_partial_message_tells_which_packets_arrived(play, link):
    if link == "wired":
        where = {"link": {"loss": 0.3, "packet_payload_bytes": 100}}
    else:
        error = {"kind": "fixed", "loss": 0.3}
        arq = {"kind": "none"}
        where = {"radio": STILL | {"packet_error": error, "packet_payload_bytes": 100, "arq": arq}}
    played = play("toy_partial", "rounds", **where)
    log = played.log
    assert set(log.outcome) <= {"delivered", "partial", "retries"}
    partial = log[log.outcome == "partial"]
    assert len(partial) > 10
    packets = math.ceil(log.bits.iloc[0] / 800)
    seen = [s.value for s in played.saw("patchy") if s.value is not None]
    masks = [r.arrived for r in seen if r.arrived is not None]
    assert {len(m) for m in masks} == {packets}
    assert sorted(int((~m).sum()) for m in masks) == sorted(partial.packets_lost)
    assert len(seen) == log.outcome.isin(["delivered", "partial"]).sum()
    # mean loss of n packets: 0.3 with a standard error of sqrt(0.21 / n); four of them
    n = packets * len(log)
    assert abs(log.packets_lost.sum() / n - 0.3) < 4 * math.sqrt(0.21 / n)


def test_a_message_that_does_not_accept_parts_is_lost_with_its_first_packet(play):
    played = play("toy_flood", "rounds", link={"loss": 0.3, "packet_payload_bytes": 500})
    log = played.log
    assert set(log.outcome) == {"delivered", "retries"}
    assert (log.packets_lost[log.outcome == "delivered"] == 0).all()
    assert (log.packets_lost[log.outcome == "retries"] > 0).all()
    packets = math.ceil(log.bits.iloc[0] / 4000)
    share, expected = (log.outcome == "delivered").mean(), 0.7**packets
    assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / len(log))


@pytest.mark.thinned(6)
@pytest.mark.parametrize("schedule", ["star", "rounds", "poisson"])
@pytest.mark.parametrize("hold", ["exchange", "coherence"])
def test_fading_is_reciprocal_and_does_not_depend_on_who_asks_when(play, schedule, hold):
    radio = {"mean_snr_db": 10.0, "fading": {"kind": "rayleigh", "hold": hold}}
    played = play("toy_hello", schedule, radio=radio)
    air = played.run.link._channel
    times = [int(t * 1e9) for t in np.linspace(0.0, 4.0, 41)]
    pairs = [(i, j) for i in range(5) for j in range(i)]
    there = {(i, j, t): air.snr(i, j, t) for t in times for i, j in pairs}
    back = {(i, j, t): air.snr(j, i, t) for t in reversed(times) for i, j in reversed(pairs)}
    assert there == back
    if hold == "coherence" or schedule != "rounds":
        assert len(set(there.values())) > 2 * len(pairs)
    # what the messages met is what anybody finds who asks later
    if hold == "coherence":
        for row in played.kind("Echo").itertuples():
            if row.t_sent_s // 0.1 == row.t_done_s // 0.1:
                met = 10 * math.log10(air.snr(row.src, row.dst, int(row.t_sent_s * 1e9) + 1))
                assert row.snr_db == pytest.approx(met)


def test_the_mask_of_a_partial_message_is_not_needed_to_tell_it_from_a_whole_one():
    whole = Envelope(ProbeReply(), 0, 8, 0, 0).handed_to(1, 5)
    assert whole.arrived is None
    assert whole.age_s == 5e-9
