"""A node that is switched off pauses; algorithms see only that time has passed."""

import numpy as np
import pandas as pd
import pytest

from netsim.errors import DeadlockError, NetsimError

SLEEPER = """
def processes(node, params):
    return [on_start(node)]

def on_start(node):
    saw(node, "start")
    while True:
        yield node.sleep(0.5)
        saw(node, "awake")
"""
RADIO = {
    "radio": {
        "fading": {"kind": "none"},
        "rate": {"kind": "fixed", "rate_bps": 1e6},
        "packet_payload_bytes": 100_000,
    }
}
LINKS = {"wire": {"link": {"latency_s": 0.05}}, "air": RADIO}


@pytest.fixture
def life(tmp_path):
    """The table [churn] of a trace: rows (node, on_s, off_s)."""

    def write(*rows):
        path = tmp_path / "life.csv"
        cells = ["node,on_s,off_s", *(f"{i},{a},{'' if b is None else b}" for i, a, b in rows)]
        path.write_text("\n".join(cells) + "\n")
        return {"kind": "trace", "path": str(path), "start_s": 0.0}

    return write


OFF_1_TO_3 = ((1, 0, 1.0), (1, 3.0, None))


def test_a_sleep_that_ends_while_the_node_is_off_is_over_when_it_is_on(play_source, life):
    played = play_source(SLEEPER, churn=life(*OFF_1_TO_3))
    assert [s.t_s for s in played.saw("awake", 1)] == [0.5, 3.0, 3.5, 4.0]
    assert [s.t_s for s in played.saw("awake", 0)] == [0.5 * k for k in range(1, 9)]
    power = played.summary["power"]
    assert power["switch_offs"] == 1
    assert power["off_at_end"] == 0
    assert power["mean_availability"] == pytest.approx((4 + 0.5) / 5)
    assert power["min_availability"] == 0.5


def test_a_node_that_is_off_at_first_starts_when_it_is_on(play_source, life):
    played = play_source(SLEEPER, churn=life((2, 1.25, 2.0)))
    assert [s.t_s for s in played.saw("start", 2)] == [1.25]
    assert [s.t_s for s in played.saw("awake", 2)] == [1.75]
    assert played.summary["power"]["off_at_end"] == 1


def test_a_switch_comes_before_all_else_of_its_instant(play_source, life):
    """Off at 0.5, when a sleep ends, and on at 1.0, when another would."""
    played = play_source(SLEEPER, churn=life((0, 0, 0.5), (0, 1.0, None)), horizon_s=1.6)
    assert [s.t_s for s in played.saw("awake", 0)] == [1.0, 1.5]


def test_without_churn_the_summary_says_nothing_of_it(play_source):
    assert "power" not in play_source(SLEEPER).summary


TRAINS = """
def processes(node, params):
    return [on_start(node)]

def on_start(node):
    yield node.sleep(0.5)
    trained = yield node.train(node.initial(), steps=10)
    node.publish(trained.theta, "trained")
    saw(node, "trained")
    numbers = yield node.value(node.loss(trained.theta), duration_s=1.0, default=0.0)
    saw(node, "valued")
"""


@pytest.mark.slow
def test_compute_time_is_time_on(play_source, life):
    """A second of training from 0.5 s, a second of looking; off from 1 to 3 and 3.2 to 4 s."""
    churn = life((1, 0, 1.0), (1, 3.0, 3.2), (1, 4.0, None), (2, 0, 1.0))
    compute = {"kind": "fixed", "step_s": 0.1}
    played = play_source(TRAINS, churn=churn, compute=compute, horizon_s=6.0)
    assert [s.t_s for s in played.saw("trained", 0)] == [1.5]
    assert [s.t_s for s in played.saw("trained", 1)] == [4.3]
    assert [s.t_s for s in played.saw("valued", 1)] == [5.3]
    assert not played.saw("trained", 2)  # never on again, and nobody is blamed for a deadlock
    # training changes no number for being interrupted
    whole = play_source(TRAINS, compute=compute, horizon_s=6.0)
    last = played.run.parts[1].publishing.published["trained"].ref.tensor()
    assert (last == whole.run.parts[1].publishing.published["trained"].ref.tensor()).all()


def test_evaluation_includes_nodes_that_are_off(play_source, life, tmp_path):
    played = play_source(TRAINS, churn=life((1, 0, 2.0)), horizon_s=8.0)
    metrics = played.run.recorder.metric_rows()
    late = (metrics["t_s"] == 8.0) & (metrics["metric"] == "accuracy")
    assert sorted(metrics["node"][late].tolist()) == [0, 1, 2, 3, 4]


TALKS = """
def processes(node, params):
    node.serve(Note, lambda received: answer(node, received))
    return [on_start(node), on_model(node)]

def answer(node, received):
    saw(node, "served", received.sender)
    yield node.sleep(0.2)
    saw(node, "answers", received.sender)
    return Model(node.initial())

def on_start(node):
    while True:
        yield node.sleep(0.3)
        if node.id == 0:
            got = yield node.ask([1, 2], Note(), Model, timeout_s=0.35)
            saw(node, "got", sorted(got))
            outcome = yield node.send(1, Model(node.initial()))
            saw(node, "outcome", outcome)

def on_model(node):
    while True:
        yield node.receive(Model, timeout_s=None)
        saw(node, "model")
"""


@pytest.mark.thinned(2)
@pytest.mark.parametrize("link", LINKS)
def test_what_is_sent_to_a_node_that_is_off_is_lost(play_source, life, link):
    played = play_source(TALKS, churn=life(*OFF_1_TO_3), horizon_s=5.0, **LINKS[link])
    log = played.log
    off = (log.t_done_s >= 1.0) & (log.t_done_s < 3.0) & ((log.src == 1) | (log.dst == 1))
    assert off.sum() > 3
    assert set(log[off].outcome) <= {"off", "deadline"}
    assert set(log[off & (log.kind == "Model")].outcome) == {"off"}
    assert set(log[~off & (log.dst == 2)].outcome) == {"delivered"}
    outcomes = {s.value for s in played.saw("outcome") if 1.0 <= s.t_s < 3.0}
    assert outcomes == {"off"}
    for what in ("served", "answers", "model"):
        assert all(not 1.0 <= s.t_s < 3.0 for s in played.saw(what, 1))
        assert any(s.t_s >= 3.0 for s in played.saw(what, 1))
    assert {2} == {j for s in played.saw("got") if 1.3 <= s.t_s < 3.0 for j in s.value}


@pytest.mark.slow
def test_time_outs_run_on_and_tries_that_fall_into_the_pause_are_lost(play_source, life):
    source = """
def processes(node, params):
    node.serve(Note, lambda received: Model(node.initial()))
    return [on_start(node)]

def on_start(node):
    yield node.sleep(0.9)
    if node.id == 1:
        got = yield node.ask([0], Note(), Model, timeout_s=0.3, tries=3)
        saw(node, "got", sorted(got))
        note = yield node.receive(Model, timeout_s=0.5)
        saw(node, "none", note)
"""
    wire = {"link": {"latency_s": 0.1}}
    played = play_source(source, churn=life(*OFF_1_TO_3), horizon_s=5.0, **wire)
    assert [(s.t_s, s.value) for s in played.saw("got")] == [(3.0, [])]
    assert [s.t_s for s in played.saw("none")] == [3.5]
    assert len(played.kind("Note")) == 1  # the tries at 1.2 and 1.5 s were not sent
    again = play_source(source, churn=life((1, 0, 1.0), (1, 1.3, None)), horizon_s=5.0, **wire)
    assert [s.value for s in again.saw("got")] == [[0]]
    assert again.kind("Note").t_sent_s.tolist() == [0.9, 1.5]


MEANWHILE = "(yield node.sleep(1.4))"
"""Another wait, which ends in the pause, too, but first."""

WAITS = {
    "gather": "yield node.gather(Model, [0, 2], timeout_s=1.5)",
    "ask": "yield node.ask([0, 2], Note(), Model, timeout_s=1.5)",
    "exchange": "yield node.exchange({}, kind=Model)",
    "both": "(yield node.gather(Model, [0, 2], 1.5) & node.sleep(0.1)).events[0].value",
    "gather later": f"[w := node.gather(Model, [0, 2], 1.5), {MEANWHILE}, (yield w)][2]",
    "ask later": f"[w := node.ask([0, 2], Note(), Model, 1.5), {MEANWHILE}, (yield w)][2]",
}
"""Node 1 has a model of node 0 from 0.1 or 0.2 s on, and waits in vain for one of node 2."""

WAITING = """
def processes(node, params):
    node.serve(Note, lambda asked: None if node.id == 2 else Model(node.initial()))
    return [on_wait(node)] if node.id == 1 else [on_start(node)]

def on_start(node):
    yield node.sleep(1.2 if node.id == 2 else 0.0)
    how = {how!r}
    if how == "exchange":
        yield node.exchange({{1: Model(node.initial())}}, expect=[])
    elif how[:3] != "ask" and node.id == 0:
        yield node.send(1, Model(node.initial()))

def on_wait(node):
    got = {wait}
    saw(node, "got", [(j, r.age_s) for j, r in got.items()])
    node.publish(node.mix([r.msg.theta for r in got.values()], [1.0]), "mixed")
"""


@pytest.mark.parametrize("how", WAITS)
def test_what_came_before_a_pause_has_the_age_of_the_instant_at_which_the_process_goes_on(
    play_source, life, how
):
    """The wait ends while node 1 is off, from 1 to 3 s or for good."""
    source = WAITING.format(how=how, wait=WAITS[how])
    wire = {"nodes": {"count": 3}, "link": {"latency_s": 0.1}}
    played = play_source(source, churn=life(*OFF_1_TO_3), horizon_s=5.0, **wire)
    ((_, age_s),) = played.saw("got")[0].value
    assert played.saw("got")[0].t_s == 3.0
    assert age_s == (2.9 if how.startswith("ask") else 3.0)
    assert played.summary["staleness"]["mean_s"] == age_s
    assert played.summary["uses"]["mean_age_s"] == age_s
    assert played.summary["counts"]["messages_unread"] == 0

    gone = play_source(source, churn=life((1, 0, 1.0)), horizon_s=5.0, **wire)
    assert gone.summary["staleness"] == {}
    assert gone.summary["uses"]["unread"] == gone.summary["uses"]["arrived"] == 1
    assert gone.summary["counts"]["messages_unread"] == 1


@pytest.mark.slow
def test_nobody_reaches_a_node_that_is_off(play_source, life):
    source = """
def processes(node, params):
    return [on_start(node)]

def on_start(node):
    while True:
        yield node.sleep(0.5)
        saw(node, "reach", (yield node.reachable()))
"""
    for link in (LINKS["wire"], RADIO, {"radio": RADIO["radio"] | {"discovery": "probe"}}):
        played = play_source(source, churn=life(*OFF_1_TO_3), **link)
        for sight in played.saw("reach"):
            asked_s = 0.5 * (sight.t_s // 0.5)
            if sight.node != 1 and asked_s not in (1.0, 3.0):
                assert (1 in sight.value) == (not 1.0 < asked_s < 3.0)


WAKES = """
def processes(node, params):
    return [on_wakeup(node)]

def on_wakeup(node):
    while True:
        wake = yield node.wakeup()
        saw(node, "woke", wake)
        yield node.sleep(0.01)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "schedule",
    [
        {"schedule": "star", "slot_s": 0.1, "slots_per_exchange": 1},
        {"schedule": "poisson", "rate_hz": 5.0},
        {"schedule": "periodic", "period_s": 0.2},
    ],
    ids=lambda s: s["schedule"],
)
def test_wakeups_while_off_are_skipped_and_logged(play_source, life, schedule):
    always = play_source(WAKES, schedule, horizon_s=20.0)
    assert always.summary["wakes"]["skipped"] < 60
    churn = life(*((i, 0.0, 5.0 + i) for i in range(5)), *((i, 12.0 + i, None) for i in range(5)))
    played = play_source(WAKES, schedule, horizon_s=20.0, churn=churn)
    for node in range(5):
        off = (5.0 + node, 12.0 + node)
        expected = [s for s in always.saw("woke", node) if not off[0] <= s.t_s < off[1]]
        assert played.saw("woke", node) == expected
    ratio = played.summary["wakes"]["woke"] / always.summary["wakes"]["woke"]
    assert ratio == pytest.approx(13 / 20, abs=0.15)
    assert sum(played.summary["wakes"].values()) == sum(always.summary["wakes"].values())
    assert "exchanges_outlasting_interval" not in {
        k for k, v in played.summary["counts"].items() if v
    }


MEETS = """
def processes(node, params):
    return [on_wakeup(node)]

def on_wakeup(node):
    while True:
        wake = yield node.wakeup()
        trained = yield node.train(node.initial(), steps=node.id + 1)
        got = yield node.exchange(Model(trained.theta))
        saw(node, "met", (wake.round, sorted(got)))
"""
ROUNDS = {"schedule": "rounds", "interval_s": 0.1}


def test_the_barrier_waits_for_live_nodes_only(play_source, life):
    """Rounds of a second; node 4 is off from 1.5 s, in training, to 4.25 s."""
    compute = {"kind": "fixed", "step_s": 0.2}
    churn = life((4, 0.0, 1.5), (4, 4.25, None))
    played = play_source(MEETS, ROUNDS, churn=churn, compute=compute, horizon_s=9.0)
    met = {i: [(round(s.t_s, 6), *s.value) for s in played.saw("met", i)] for i in range(5)}
    everyone = [0, 1, 2, 3, 4]
    others = {i: [j for j in everyone if j != i] for i in everyone}
    assert met[0][0] == (1.0, 1, others[0])
    # round 2: what node 4 trained is not there, and node 3 is done 0.8 s after its start
    assert met[0][1:4] == [(1.8, 2, [1, 2, 3]), (2.6, 3, [1, 2, 3]), (3.4, 4, [1, 2, 3])]
    # at 4.25 s it goes on with its half second of training and meets round 6 of the others
    assert met[4][1][0] == 5.0 == met[0][5][0]
    assert met[4][1][1] == 2
    # and from then on all are together again
    later = {i: [row for row in met[i] if row[0] > 5.9] for i in everyone}
    assert all(row[2] == others[i] for i in everyone for row in later[i])
    assert {row[1] for row in later[0]} == {row[1] for row in later[4]}
    skipped = played.summary["wakes"]["skipped"]
    assert skipped == played.summary["counts"]["wakeups_skipped"] > 0


TWICE = """
def processes(node, params):
    return [on_round(node)]

@dataclass(frozen=True)
class First(Message):
    pass

@dataclass(frozen=True)
class Second(Message):
    pass

def on_round(node):
    while True:
        wake = yield node.wakeup()
        yield node.sleep(0.4)
        first = yield node.exchange(First())
        saw(node, "first", (wake.round, sorted(first)))
        yield node.sleep(0.4)
        second = yield node.exchange(Second())
        saw(node, "second", (wake.round, sorted(second)))
"""


def test_who_comes_back_in_the_midst_of_a_round_does_not_wait_for_an_exchange_that_is_over(
    play_source, life
):
    """Node 4 is off from 0.2 s to 0.6 s: the others meet without it at 0.4 s, and go on."""
    churn = life((4, 0.0, 0.2), (4, 0.6, None))
    played = play_source(TWICE, ROUNDS, churn=churn, horizon_s=4.0)
    first = [(s.t_s, *s.value) for s in played.saw("first", 4)]
    second = [(s.t_s, *s.value) for s in played.saw("second", 4)]
    # its own first exchange ends when the others wait for it in the second, which it then joins
    assert first[0] == (0.8, 1, [])
    assert second[0] == (pytest.approx(1.2), 1, [0, 1, 2, 3])
    assert played.saw("first", 0)[0].value == (1, [1, 2, 3])
    assert played.saw("second", 0)[0].value == (1, [1, 2, 3, 4])
    # and from the next round on all are in step
    assert first[1][1:] == second[1][1:] == (2, [0, 1, 2, 3])


def test_no_round_starts_while_all_are_off_and_the_next_when_one_is_back(play_source, life):
    churn = life(*((i, 0.0, 1.05) for i in range(5)), *((i, 3.0 + i / 8, None) for i in range(5)))
    played = play_source(MEETS, ROUNDS, churn=churn, horizon_s=4.0)
    times = [s.t_s for s in played.saw("met", 0)]
    assert any(t < 1.05 for t in times)
    assert not any(1.05 <= t < 3.0 for t in times)
    assert min(t for t in times if t >= 3.0) < 3.1
    rounds = [s.value[0] for s in played.saw("met", 0)]
    assert rounds == list(range(1, len(rounds) + 1))  # none was missed: none took place
    assert played.saw("met", 4)[-1].value[1] == [0, 1, 2, 3]


@pytest.mark.parametrize("churn", ["trace", "exponential"])
def test_a_deadlock_names_those_that_are_on(play_source, life, churn):
    source = """
def processes(node, params):
    return [on_start(node)]

def on_start(node):
    if node.id in (1, 3):
        yield node.condition().wait()
"""
    law = life((1, 0.0, 2.0))
    if churn == "exponential":
        law = {"kind": "exponential", "mean_on_s": 1e9, "mean_off_s": 1.0}
    with pytest.raises(DeadlockError) as caught:
        play_source(source, churn=law)
    assert ("node 1" in str(caught.value)) == (churn == "exponential")
    assert "node 3 in on_start (toy.py:23) (waits for a condition)" in str(caught.value)


def test_an_error_after_a_pause_still_names_node_time_and_process(play_source, life):
    source = SLEEPER.replace('saw(node, "awake")', "node.now_s < 1 or 1 / 0")
    churn = life(*((i, 9.0, None) for i in (0, 2, 3, 4)), *OFF_1_TO_3)
    with pytest.raises(NetsimError, match=r"node 1 at 3 s in on_start: ZeroDivisionError"):
        play_source(source, churn=churn)


def test_a_group_may_have_its_own_churn(play_source, life):
    groups = [{"name": "steady", "count": 2, "churn": {"kind": "none"}}]
    churn = {"kind": "exponential", "mean_on_s": 0.5, "mean_off_s": 0.5}
    nodes = {"count": 5, "groups": groups}
    played = play_source(SLEEPER, churn=churn, nodes=nodes, horizon_s=20.0)
    for node in (0, 1):
        assert [s.t_s for s in played.saw("awake", node)] == [0.5 * k for k in range(1, 41)]
    for node in (2, 3, 4):
        assert 5 < len(played.saw("awake", node)) < 35
    availability = played.summary["power"]["mean_availability"]
    assert availability == pytest.approx((2 + 3 * 0.5) / 5, abs=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["star", "rounds", "poisson"])
def test_a_run_with_churn_repeats_itself_and_differs_by_seed(play, schedule):
    churn = {"kind": "exponential", "mean_on_s": 1.0, "mean_off_s": 0.5}
    one, two, other = (
        play("toy_learner", schedule, churn=churn, seed=seed, horizon_s=8.0) for seed in (1, 1, 2)
    )
    for key in ("event_log_sha256", "parameters_sha256"):
        assert one.summary[key] == two.summary[key]
        assert one.summary[key] != other.summary[key]
    assert one.summary["power"]["switch_offs"] > 5


@pytest.mark.slow
def test_no_message_ends_well_at_a_node_that_is_off(play):
    churn = {"kind": "exponential", "mean_on_s": 0.7, "mean_off_s": 0.5}
    for link in LINKS.values():
        played = play("toy_flood", "poisson", churn=churn, horizon_s=20.0, **link)
        timeline, log = played.run.world.churn, played.log
        arrived = log[log.outcome == "delivered"]
        assert len(arrived) > 30
        for row in arrived.itertuples():
            for node in (row.src, row.dst):
                assert timeline.is_on(node, round(row.t_done_s * 1e9))
        assert (log.outcome == "off").sum() > 20
        assert played.created == played.endings + played.run.link.in_flight
        assert isinstance(log, pd.DataFrame)
        assert np.isnan(log.age_s[log.outcome == "off"]).all()
