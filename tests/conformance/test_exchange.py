"""Messages that an exchange hands over, their times, and the fates of the rest."""

import pytest
import torch

from netsim.errors import ProtocolError

from .conftest import FADING, LOSSY, SCHEDULES

WAKE = """
def processes(node, params):
    return [on_wakeup(node), on_note(node)]

def on_note(node):
    while True:
        received = yield node.receive(Note, timeout_s=None)
        saw(node, "received", received)
"""


def test_a_round_over_a_clean_link_brings_everybody_this_rounds_models(play):
    played = play("toy_gossip", "rounds", link={"latency_s": 0.125})
    for sight in played.saw("got"):
        number, got = sight.value
        assert sorted(got) == [j for j in range(5) if j != sight.node]
        assert {r.round for r in got.values()} == {number}
        assert {r.age_s for r in got.values()} == {0.125}
    assert len(played.saw("got")) == 5 * 8  # a round every 0.5 s in [0, 4), none lasts longer


def test_a_round_with_losses_brings_exactly_what_was_delivered(play):
    played = play("toy_gossip", "rounds", **LOSSY)
    delivered = {
        (int(r.dst), int(r.round), int(r.src))
        for r in played.log[played.log.outcome == "delivered"].itertuples()
    }
    got = {(s.node, s.value[0], j) for s in played.saw("got") for j in s.value[1]}
    assert got == delivered
    assert 0 < len(got) < len(played.log)


def test_a_ring_all_reduce_over_a_lossy_link_with_patience_gives_the_exact_mean(play):
    """Every packet is repeated until it arrives, so each node sums all five initial models."""
    link = {"loss": 0.3, "rate_bps": 1e6, "arq": {"kind": "unlimited"}, "packet_payload_bytes": 100}
    training = {"common_initial": False, "dtype": "float64"}
    played = play("toy_ring", "rounds", link=link, training=training)
    assert {s.value for s in played.saw("pieces")} == {5}
    mean = torch.stack(played.run.world.initial).mean(0)
    for node in played.run.parts:
        reduced = node.publishing.published["reduced"].ref.tensor()
        torch.testing.assert_close(reduced, mean, rtol=0, atol=1e-14)
    assert set(played.log.outcome) == {"delivered"}
    assert played.log.attempts.sum() > len(played.log) * 2


def test_phases_of_a_ring_are_not_mixed_up_when_messages_are_lost(play):
    played = play("toy_ring", "rounds", **LOSSY, training={"common_initial": False})
    pieces = [s.value for s in played.saw("pieces")]
    assert min(pieces) >= 1
    assert max(pieces) <= 5
    assert len(set(pieces)) > 1


def test_a_deadline_ends_an_exchange_and_late_messages_go_to_receive(play_source):
    source = (
        WAKE
        + """
def on_wakeup(node):
    while True:
        wake = yield node.wakeup()
        got = yield node.exchange(Note(wake.round))
        saw(node, "got", (node.now_s, got))
"""
    )
    schedule = {"schedule": "rounds", "interval_s": 0.5, "deadline_s": 0.5}
    played = play_source(source, schedule, link={"latency_s": 0.7})
    assert [s.value for s in played.saw("got", node=0)][:3] == [(0.5, {}), (1.0, {}), (1.5, {})]
    received = [s.value for s in played.saw("received", node=0)]
    assert len(received) == (played.log.dst == 0).sum()
    assert {r.age_s for r in received} == {0.7}


def test_a_straggler_is_absent_and_its_message_counts_for_the_round_that_it_reaches(play_source):
    source = (
        WAKE
        + """
def on_wakeup(node):
    while True:
        wake = yield node.wakeup()
        yield node.sleep(0.7 if node.id == 0 else 0.0)
        got = yield node.exchange(Note(wake.round))
        saw(node, "got", (wake.round, {j: r.round for j, r in got.items()}))
"""
    )
    schedule = {"schedule": "rounds", "interval_s": 0.5, "deadline_s": 0.5}
    played = play_source(source, schedule, horizon_s=1.4)
    rounds = dict(s.value for s in played.saw("got", node=1))
    assert rounds[1] == {2: 1, 3: 1, 4: 1}
    assert rounds[2] == {0: 1, 2: 2, 3: 2, 4: 2}  # node 0's message is of round 1, and says so
    assert played.summary["wakes"]["skipped"] == 1
    missed = [(s.node, s.value.sender, s.value.round) for s in played.saw("received")]
    assert sorted(missed) == [(0, j, 1) for j in (1, 2, 3, 4)]  # round 1 had gone on without node 0


def test_messages_from_senders_that_were_not_expected_go_to_receive(play_source):
    source = (
        WAKE
        + """
def on_wakeup(node):
    wake = yield node.wakeup()
    got = yield node.exchange(Note(node.id), expect=[(node.id + 1) % 5])
    saw(node, "got", sorted(got))
"""
    )
    played = play_source(source, "rounds")
    assert all(s.value == [(s.node + 1) % 5] for s in played.saw("got"))
    received = {(s.node, s.value.sender) for s in played.saw("received")}
    others = {(i, j) for i in range(5) for j in range(5) if j not in (i, (i + 1) % 5)}
    assert received == others


@pytest.mark.slow
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_node_that_only_listens_hears_what_is_sent_by_exchange(play_source, schedule):
    source = (
        WAKE.replace(
            "[on_wakeup(node), on_note(node)]",
            """\\
[on_note(node)] if node.id == 0 else [on_wakeup(node)]""",
        )
        + """
def on_wakeup(node):
    while True:
        wake = yield node.wakeup()
        yield node.exchange(Note(wake.round), to=[0], expect=[])
"""
    )
    played = play_source(source, schedule, link={"latency_s": 0.01})
    heard = [(s.value.sender, s.value.msg.number) for s in played.saw("received", node=0)]
    sent = [(r.src, r.round) for r in played.log.itertuples()]
    assert sorted(heard) == sorted(sent)
    assert heard


EVERY_03_S = """
def processes(node, params):
    return [on_start(node)] if node.id == 0 else [on_note(node)]

def on_start(node):
    for number in range(5):
        yield node.exchange(Note(number), to=[1], expect=[])
        yield node.sleep(0.3)

def on_note(node):
"""


@pytest.mark.parametrize(
    ("schedule", "wait"),
    [
        ("rounds", "receive(Note, None)"),
        ("periodic", "receive(Note, None)"),
        ("periodic", "receive(Note, 0.5)"),
        ("periodic", "gather(Note, [0], 0.5)"),
    ],
)
def test_who_takes_no_part_in_an_exchange_hears_all_of_it_whatever_else_it_does(
    play_source, schedule, wait
):
    """Node 1 is at work when most of what node 0 sends comes, the first of it included."""
    source = (
        EVERY_03_S
        + f"""
    while True:
        yield node.work(seconds=0.7)
        got = yield node.{wait}
        got = got[0] if isinstance(got, dict) and got else got
        if got:
            saw(node, "note", got.msg.number)
"""
    )
    every = {"rounds": SCHEDULES["rounds"], "periodic": {"schedule": "periodic", "period_s": 1.0}}
    link = {"latency_s": 0.1}
    played = play_source(source, every[schedule], nodes={"count": 2}, link=link, horizon_s=9.0)
    assert [s.value for s in played.saw("note", 1)] == list(range(5))
    assert played.summary["counts"]["messages_unread"] == 0
    assert played.summary["counts"]["messages_superseded"] == 0


def test_what_came_before_a_node_took_part_in_an_exchange_is_in_its_first_one(play_source):
    """At 1 s four have come, of which the last counts; the others are superseded."""
    source = (
        EVERY_03_S.replace("Note(number)", "Model(node.initial())")
        + """
    yield node.sleep(1.0)
    got = yield node.exchange({}, kind=Model)
    saw(node, "got", [(j, r.sent_s) for j, r in got.items()])
"""
    )
    schedule = {"schedule": "periodic", "period_s": 1.0}
    played = play_source(source, schedule, nodes={"count": 2}, link={"latency_s": 0.05})
    assert [s.value for s in played.saw("got")] == [[(0, 0.9)]]
    assert played.summary["counts"]["messages_superseded"] == 3
    uses = played.summary["uses"]
    assert (uses["superseded"], uses["not_used"], uses["unread"]) == (3, 1, 1)


@pytest.mark.parametrize(
    "then",
    [
        "return",
        "yield node.receive(Note, None)",
        "got = node.receive(Model, None); yield node.work(seconds=0.0); yield got",
    ],
)
def test_an_exchange_is_over_once_the_others_do_nothing_but_listen(play_source, then):
    """Nothing but this happens at 0.8 s."""
    source = f"""
def processes(node, params):
    return [on_note(node)] if node.id else [on_start(node)]

def on_start(node):
    yield node.exchange(Note(1))
    saw(node, "over")

def on_note(node):
    yield node.sleep(0.8)
    {then}
"""
    played = play_source(source, "rounds", nodes={"count": 3}, link={"latency_s": 0.1})
    assert [s.t_s for s in played.saw("over")] == [0.8]


def test_without_a_barrier_an_exchange_gives_the_freshest_message_with_its_age(play_source):
    source = """
def processes(node, params):
    return [on_note(node)]

def on_note(node):
    for number in range(4):
        got = yield node.exchange(Note(number))
        saw(node, "got", {j: (r.msg.number, r.age_s) for j, r in got.items()})
        yield node.sleep(0.5)
"""
    played = play_source(source, "poisson", nodes={"count": 2}, link={"latency_s": 0.75})
    assert [s.value for s in played.saw("got", node=0)] == [
        {},
        {},
        {1: (0, 1.0)},
        {1: (1, 1.0)},
    ]
    assert played.summary["counts"]["messages_unread"] == 2


def test_two_processes_of_a_node_in_one_exchange_are_refused(play_source):
    source = """
def processes(node, params):
    return [on_note(node), on_note(node)]

def on_note(node):
    yield node.exchange(Note())
"""
    with pytest.raises(ProtocolError, match=r"node 0 at 0 s in on_note: exchange: another process"):
        play_source(source, "rounds")
    with pytest.raises(ProtocolError, match=r"on_note: wakeup: another process of this node"):
        play_source(source.replace("exchange(Note())", "wakeup()"), "rounds")


def test_one_process_may_exchange_two_kinds_at_once_with_another(play_source):
    source = """
def processes(node, params):
    return [on_kind(node, Note(), 0), on_kind(node, Note(), 1), on_kind(node, Other(), 0)]

@dataclass(frozen=True)
class Other(Message):
    \"\"\"Something else.\"\"\"

def on_kind(node, msg, phase):
    got = yield node.exchange(msg, phase=phase)
    saw(node, "got", len(got))
"""
    played = play_source(source, "rounds", link={"latency_s": 0.1})
    assert [s.value for s in played.saw("got")] == [4] * 15


def test_an_exchange_of_nothing_needs_a_kind(play_source):
    source = """
def processes(node, params):
    return [on_start(node)]

def on_start(node):
    yield node.exchange({})
"""
    with pytest.raises(ProtocolError, match="nothing is sent, so give kind="):
        play_source(source, "rounds")


@pytest.mark.thinned(12)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("link", [LOSSY, FADING, {"radio": {"discovery": "probe"}}])
def test_a_node_without_peers_waits_for_nobody(play_source, schedule, link):
    source = """
def processes(node, params):
    return [on_start(node)]

def on_start(node):
    in_reach = yield node.reachable()
    over = yield node.broadcast(Note())
    got = yield node.exchange(Note())
    answers = yield node.ask(node.peers, Note(), Note, timeout_s=0.2)
    gathered = yield node.gather(Note, node.peers, timeout_s=0.2)
    saw(node, "nothing", (in_reach, over, got, answers, gathered))
"""
    topology = {"kind": "erdos_renyi", "probability": 0.0}
    played = play_source(source, schedule, topology=topology, **link)
    assert [(s.t_s, s.value) for s in played.saw("nothing")] == [(0.0, ([], {}, {}, {}, {}))] * 5
    assert played.summary["messages"]["sent"] == 0
