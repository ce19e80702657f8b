"""Wake-ups, slots and link times against their closed forms."""

import math

import numpy as np
import pytest

WAKES = """
def processes(node, params):
    return [on_wakeup(node)]

def on_wakeup(node):
    while True:
        wake = yield node.wakeup()
        saw(node, "wake", wake)
"""


def test_the_number_of_poisson_wakeups_is_rate_times_time(play_source):
    """N ~ Poisson(20 nodes * 2 Hz * 100 s = 4000); four standard deviations are 253."""
    schedule = {"schedule": "poisson", "rate_hz": 2.0}
    played = play_source(WAKES, schedule, timing_only=True, horizon_s=100.0, nodes={"count": 20})
    assert abs(played.summary["wakes"]["woke"] - 4000) < 4 * math.sqrt(4000)
    times = [np.array([s.t_s for s in played.saw("wake", node=i)]) for i in range(20)]
    gaps = np.concatenate([np.diff(t, prepend=0.0) for t in times])
    # exponential gaps: mean 1/2, standard deviation 1/2; the tail beyond 1 s has e^-2 of them
    assert abs(gaps.mean() - 0.5) < 4 * 0.5 / math.sqrt(len(gaps))
    tail = math.exp(-2)
    assert abs((gaps > 1.0).mean() - tail) < 4 * math.sqrt(tail * (1 - tail) / len(gaps))
    assert all(s.value.round == k + 1 for k, s in enumerate(played.saw("wake", node=3)))


@pytest.mark.slow
def test_one_uniformly_random_node_wakes_in_every_star_interval(play_source):
    schedule = {"schedule": "star", "slot_s": 0.25, "slots_per_exchange": 4}
    played = play_source(WAKES, schedule, timing_only=True, horizon_s=1000.0, nodes={"count": 5})
    wakes = played.saw("wake")
    assert [s.t_s for s in wakes] == [float(n) for n in range(1, 1001)]
    assert [s.value for s in wakes] == [(n, 4 * n) for n in range(1, 1001)]
    share = np.bincount([s.node for s in wakes], minlength=5) / 1000
    assert np.abs(share - 0.2).max() < 4 * math.sqrt(0.16 / 1000)


def test_rounds_last_their_interval_where_nothing_takes_longer(play_source):
    played = play_source(WAKES, {"schedule": "rounds", "interval_s": 0.5}, timing_only=True)
    for node in range(5):
        assert [s.t_s for s in played.saw("wake", node=node)] == [0.5 * k for k in range(9)]


def test_periodic_wakeups_keep_their_phase(play_source):
    schedule = {"schedule": "periodic", "period_s": 0.5}
    played = play_source(WAKES, schedule, timing_only=True)
    for node in range(5):
        times = np.array([s.t_s for s in played.saw("wake", node=node)])
        assert 0 <= times[0] < 0.5
        assert np.allclose(np.diff(times), 0.5)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("busy_s", [0.0, 0.3, 1.7])
def test_wakeups_that_fall_into_work_are_skipped_and_logged_and_clocks_stay_absolute(play, busy_s):
    schedule = {"schedule": "star", "slot_s": 0.1, "slots_per_exchange": 2}
    played = play("toy_clock", schedule, horizon_s=40.0, params={"busy_s": busy_s})
    wakes = played.summary["wakes"]
    assert len(played.saw("wake")) == wakes["woke"]
    assert all(s.t_s == pytest.approx(0.2 * s.value.round) for s in played.saw("wake"))
    if busy_s == 0.0:
        assert wakes == {"woke": 200, "skipped": 0}
    else:
        # what is missing fell into work that outlasts the horizon, at most one job a node
        assert wakes["skipped"] > 0
        assert 200 - 5 * math.ceil(busy_s / 0.2) <= wakes["woke"] + wakes["skipped"] <= 200
        for node in range(5):
            times = [s.t_s for s in played.saw("wake", node=node)]
            assert np.diff(times).min() >= busy_s - 1e-9


def test_a_wakeup_is_counted_once_however_many_processes_ask_for_it(play_source):
    """One process of a node takes every wake-up, another one every second."""
    source = """
def processes(node, params):
    return [on_wake(node, 0.0), on_wake(node, 1.5), on_wake(node, 0.0)]

def on_wake(node, busy_s):
    while True:
        saw(node, "wake", ((yield node.wakeup()).round, node.round))
        yield node.sleep(busy_s)
"""
    played = play_source(source, {"schedule": "periodic", "period_s": 1.0}, nodes={"count": 2})
    assert [s.value for s in played.saw("wake", 0)] == [
        (k, k) for k in (1, 1, 1, 2, 2, 3, 3, 3, 4, 4)
    ]
    assert played.summary["wakes"] == {"woke": 8, "skipped": 0}
    assert "wakeups_skipped" not in played.summary["counts"]


@pytest.mark.parametrize("schedule", ["rounds", "periodic"])
def test_a_wakeup_that_was_not_waited_for_to_the_end_is_still_to_come(play_source, schedule):
    source = """
def processes(node, params):
    return [on_wake(node)]

def on_wake(node):
    while True:
        woke = node.wakeup()
        got = yield woke | node.sleep(0.3)
        if woke in got:
            saw(node, "wake", got[woke].round)
"""
    exchange = {"schedule": schedule, **INTERVAL[schedule]}
    played = play_source(source, exchange, nodes={"count": 2}, horizon_s=4.5)
    for node in range(2):
        rounds = [s.value for s in played.saw("wake", node)]
        assert rounds == list(range(1, len(rounds) + 1))
        assert len(rounds) >= 4
    assert played.summary["wakes"] == {"woke": len(played.saw("wake")), "skipped": 0}


INTERVAL = {"rounds": {"interval_s": 1.0}, "periodic": {"period_s": 1.0}}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("schedule", ["star", "rounds", "poisson"])
def test_ticks_are_the_multiples_of_the_slot(play, schedule):
    played = play("toy_clock", schedule)
    slot_s = 0.01 if schedule == "rounds" else 0.1  # without slot_s: one local step
    slots = played.saw("slot", node=2)
    assert [s.value for s in slots] == list(range(1, round(4.0 / slot_s) + 1))
    assert [s.t_s for s in slots] == pytest.approx([slot_s * s.value for s in slots])
    rings = played.saw("bell", node=2)
    if schedule != "rounds":  # every third slot, 0.05 s later
        assert [s.t_s for s in rings] == pytest.approx(np.arange(0.35, 4.0, 0.3))


BURST = """
def processes(node, params):
    return [on_start(node)] if node.id == 0 else []

def on_start(node):
    for _ in range(3):
        node.send(1, Model(node.initial()))
    yield node.send(2, Model(node.initial()))
"""


def test_a_wired_message_takes_its_bits_over_the_rate_plus_latency_behind_those_before(play_source):
    played = play_source(BURST, link={"rate_bps": 1e5, "latency_s": 0.25})
    serial_s = played.log.bits.iloc[0] / 1e5
    done = {i: sorted(played.log[played.log.dst == i].t_done_s) for i in (1, 2)}
    assert done[1] == pytest.approx([0.25 + k * serial_s for k in (1, 2, 3)])
    assert done[2] == pytest.approx([0.25 + serial_s])  # another direction, another queue
    assert played.summary["messages"]["airtime_s"] == pytest.approx(4 * serial_s)


def test_an_unstarted_wired_message_that_expires_costs_nothing(play_source):
    played = play_source(BURST, link={"rate_bps": 1e5, "ttl_s": 0.05})
    serial_s = played.log.bits.iloc[0] / 1e5
    assert serial_s > 0.05
    rows = sorted((r.dst, r.outcome, r.attempts) for r in played.log.itertuples())
    assert rows == [
        (1, "deadline", 0), (1, "deadline", 0), (1, "deadline", 1), (2, "deadline", 1)
    ]  # fmt: skip
    assert played.summary["messages"]["airtime_s"] == pytest.approx(0.1)


def test_repeated_packets_take_their_time(play):
    """M packets take M + NegBinomial(M, 0.7) attempts: mean M / 0.7, variance 0.3 M / 0.49."""
    link = {
        "loss": 0.3,
        "rate_bps": 1e6,
        "packet_payload_bytes": 50,
        "arq": {"kind": "unlimited"},
    }
    played = play("toy_flood", "rounds", link=link)
    log = played.log
    packets = math.ceil(log.bits.iloc[0] / 400)
    assert np.allclose(
        log.t_done_s - log.t_sent_s, log.bits / 1e6 * log.attempts / packets, atol=2e-9
    )
    n = packets * len(log)
    assert abs(log.attempts.sum() - n / 0.7) < 4 * math.sqrt(0.3 * n / 0.49)


def test_training_takes_steps_times_step_time_over_speed_one_job_after_the_other(play_source):
    source = """
def processes(node, params):
    return [on_start(node), on_start(node)]

def on_start(node):
    trained = yield node.train(node.initial(), steps=10)
    saw(node, "trained")
"""
    groups = [{"name": "fast", "count": 1, "speed": 4.0}]
    played = play_source(source, nodes={"count": 2, "groups": groups})
    assert [s.t_s for s in played.saw("trained", node=0)] == [0.025, 0.05]
    assert [s.t_s for s in played.saw("trained", node=1)] == [0.1, 0.2]
    assert played.summary["local_steps"] == 40
