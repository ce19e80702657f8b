"""Mailboxes, requests, and what a message may hold."""

import numpy as np
import pytest

from netsim.errors import ProtocolError

from .conftest import FADING, LOSSY

START = """
def processes(node, params):
    return [on_start(node)]

def on_start(node):
"""


def test_a_time_out_never_swallows_a_later_message(play_source):
    source = """
def processes(node, params):
    return [on_send(node)] if node.id == 0 else [on_note(node)]

def on_send(node):
    for number in range(12):
        yield node.sleep(0.3)
        node.send(1, Note(number))

def on_note(node):
    while True:
        received = yield node.receive(Note, timeout_s=0.07)
        if received is not None:
            saw(node, "note", (node.now_s, received.msg.number))
"""
    played = play_source(source, nodes={"count": 2})
    assert [s.value[1] for s in played.saw("note")] == list(range(12))
    assert [s.value[0] for s in played.saw("note")] == pytest.approx(0.3 * np.arange(1, 13))


@pytest.mark.parametrize(
    "waits_for",
    [
        "node.receive(Note, 1.0) | node.sleep(0.5)",
        "node.sleep(0.5) | node.receive(Note, 1.0)",
        "node.condition().wait() | node.receive(Note, None)",
        "(node.sleep(0.2) & node.receive(Note, 1.0)) | node.sleep(0.5)",
        "node.sleep(0.2) & (node.sleep(0.5) | node.receive(Note, 1.0))",
    ],
)
def test_receive_or_something_else_is_refused(play_source, waits_for):
    with pytest.raises(ProtocolError, match=r"receive\(Note\) \| ... would lose messages"):
        play_source(START + f"    yield {waits_for}\n")


def test_receive_and_something_else_is_not(play_source):
    source = (
        START
        + """
    node.send(1 - node.id, Note(7))
    receipt = node.receive(Note, 1.0)
    yield receipt & node.sleep(0.5)
    saw(node, "note", (node.now_s, receipt.value.msg.number))
"""
    )
    played = play_source(source, nodes={"count": 2})
    assert [s.value for s in played.saw("note")] == [(0.5, 7)] * 2


@pytest.mark.parametrize("receiver", [0, 1])
def test_what_comes_at_the_instant_of_a_time_out_has_come_in_time(play_source, receiver):
    """Whichever of the two nodes has the lower number."""
    source = f"""
def processes(node, params):
    node.serve(Note, lambda asked: Model(node.initial()))
    return [on_wait(node, 1 - node.id)] if node.id == {receiver} else [on_send(node, {receiver})]

def on_send(node, to):
    yield node.sleep(0.5)
    node.send(to, Note(1))
    node.send(to, Model(node.initial()))

def on_wait(node, other):
    yield node.sleep(0.5)
    note = yield node.receive(Note, timeout_s=0.25)
    saw(node, "came", note is not None)
    got = yield node.gather(Model, [other], timeout_s=0.0)
    saw(node, "came", bool(got))
    got = yield node.ask(other, Note(), Model, timeout_s=0.5, tries=2)
    saw(node, "came", bool(got))
"""
    played = play_source(source, nodes={"count": 2}, link={"latency_s": 0.25})
    assert [(s.t_s, s.value) for s in played.saw("came")] == [(0.75, True)] * 2 + [(1.25, True)]
    assert len(played.kind("Note")) == 2  # the request is not repeated
    assert played.summary["counts"].get("late_replies", 0) == 0


def test_what_a_gather_did_not_wait_for_is_there_for_the_next_receive(play_source):
    source = """
def processes(node, params):
    return [on_send(node)] if node.id else [on_note(node)]

def on_send(node):
    yield node.sleep(0.1 * node.id)
    yield node.send(0, Note(node.id))

def on_note(node):
    got = yield node.gather(Note, [1, 3, 3], timeout_s=0.25)
    saw(node, "gathered", sorted(got))
    while True:
        received = yield node.receive(Note, timeout_s=None)
        saw(node, "received", received.sender)
"""
    played = play_source(source, nodes={"count": 4})
    assert [s.value for s in played.saw("gathered")] == [[1]]
    assert [s.value for s in played.saw("received")] == [2, 3]


def test_a_gather_hands_over_at_most_one_message_a_sender(play_source):
    source = """
def processes(node, params):
    return [on_send(node)] if node.id else [on_note(node)]

def on_send(node):
    for number in range(3):
        yield node.send(0, Note(number))

def on_note(node):
    for _ in range(2):
        got = yield node.gather(Note, [1, 2], timeout_s=1.0)
        saw(node, "gathered", {j: r.msg.number for j, r in got.items()})
"""
    played = play_source(source, nodes={"count": 3}, link={"latency_s": 0.1})
    assert [s.value for s in played.saw("gathered")] == [{1: 0, 2: 0}, {1: 1, 2: 1}]
    assert played.summary["counts"]["messages_unread"] == 2


def test_a_message_in_flight_stays_as_it_was_sent(play_source):
    source = """
@dataclass(frozen=True)
class Table(Message):
    numbers: dict

def processes(node, params):
    return [on_send(node)] if node.id == 0 else [on_table(node)]

def on_send(node):
    numbers = {1: 1.5}
    node.send(1, Table(numbers))
    numbers[1] = 99.0
    yield node.sleep(1.0)

def on_table(node):
    received = yield node.receive(Table, timeout_s=3.0)
    saw(node, "table", received.msg.numbers)
"""
    played = play_source(source, nodes={"count": 2}, link={"latency_s": 0.5})
    assert [s.value for s in played.saw("table")] == [{1: 1.5}]


def test_sizes_follow_from_shapes(play_source):
    source = """
@dataclass(frozen=True)
class Mixed(Message):
    head: Ref
    samples: int
    score: float
    flags: tuple

def processes(node, params):
    return [on_start(node)]

def on_start(node):
    theta = node.initial()
    saw(node, "values", (theta.num_values, theta.part("head").num_values))
    yield node.send(1 - node.id, Model(theta))
    yield node.send(1 - node.id, Mixed(theta.part("head"), 3, 0.5, (True, False)))
    yield node.send(1 - node.id, Empty())

@dataclass(frozen=True)
class Empty(Message):
    \"\"\"Nothing in it.\"\"\"
"""
    training = {"parameter_bits": 16}
    played = play_source(source, nodes={"count": 2}, link={"control_bits": 77}, training=training)
    whole, head = played.saw("values")[0].value
    assert set(played.kind("Model").bits) == {16 * whole}
    assert set(played.kind("Mixed").bits) == {16 * head + 32 + 16 + 2}
    assert set(played.kind("Empty").bits) == {77}


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("node.send(1, Loose())", "Loose is not a frozen dataclass"),
        ("node.send(1, Note([1, 2]))", "Note.number is a list"),
        ("node.send(1, Note(torch.zeros(2)))", "Note.number is a Tensor"),
        ("node.send(1, Note('text'))", "Note.number is a str"),
        ("node.send(node.id, Note())", "node 0 can't send to node 0"),
        ("node.send(5, Note())", "node 0 can't send to node 5"),
        ("node.send(1.0, Note())", r"node 0 can't send to node 1\.0"),
        ("node.send('1', Note())", "node 0 can't send to node '1'"),
        ("node.broadcast(Note(), to=[-1])", "node 0 can't send to node -1"),
    ],
)
def test_a_message_that_cannot_be_sent_is_refused(play_source, body, problem):
    source = START + f"    yield {body}\n" + "\nclass Loose(Message):\n    pass\n"
    with pytest.raises(ProtocolError, match=f"node 0 at 0 s in on_start: {problem}"):
        play_source(source)


def test_an_id_may_be_numpy_s(play_source):
    source = """
import numpy as np

def processes(node, params):
    node.serve(Note, lambda asked: Note(5))
    return [on_start(node, np.argmax([node.id, 1 - node.id]))]

def on_start(node, other):
    yield node.send(other, Model(node.initial()))
    got = yield node.gather(Model, [other], 1.0)
    saw(node, "got", list(got))
    got = yield node.ask(other, Note(), Note, 1.0)
    saw(node, "got", list(got))
"""
    played = play_source(source, nodes={"count": 2})
    assert [s.value for s in played.saw("got", 0)] == [[1], [1]]


FOREIGN = """
STOLEN = []

def processes(node, params):
    STOLEN.append(node.initial())
    return [on_start(node)]

def on_start(node):
    theta = STOLEN[0]
    yield node.sleep(0.1 * node.id)
    if node.id == 1:
        {use}
"""


@pytest.mark.thinned(8)
@pytest.mark.parametrize(
    "use",
    [
        "yield node.train(theta, steps=1)",
        "node.mix([theta], [1.0])",
        "node.publish(theta, 'mine')",
        "yield node.value(node.loss(theta))",
        "yield node.value(theta.part('head'))",
        "node.compute(torch.relu, theta)",
        "node.initial().with_part('head', theta.part('head'))",
        "yield node.send(0, Model(theta))",
        "yield node.exchange(Model(theta))",
        "node.hold(theta)",
        "node.outputs([theta], node.batch())",
        "node.log_weights(range(theta.num_values), theta)",
    ],
)
def test_a_foreign_ref_is_refused(play_source, use):
    with pytest.raises(ProtocolError, match=r"node 1 at 0.1 s in on_start: node 1 used a Ref"):
        play_source(FOREIGN.format(use=use))


def test_a_delivered_ref_belongs_to_its_receiver(play_source):
    source = """
def processes(node, params):
    return [on_start(node)]

def on_start(node):
    yield node.send(1 - node.id, Model(node.initial()))
    received = yield node.receive(Model, timeout_s=1.0)
    theta = (yield node.train(received.msg.theta, steps=1)).theta
    saw(node, "owner", (received.msg.theta.owner, theta.owner))
"""
    played = play_source(source, nodes={"count": 2})
    assert {(s.node, s.value) for s in played.saw("owner")} == {(0, (0, 0)), (1, (1, 1))}


ASK = """
@dataclass(frozen=True)
class Ask(Message):
    number: int

def processes(node, params):
    if node.id == 0:
        return [on_start(node)]
    node.serve(Ask, {handler})
    return []

def slow(node):
    def answer(received):
        yield node.sleep(0.3 * node.id)
        return Note(received.msg.number)
    return answer

def on_start(node):
    for number in range(4):
        got = yield node.ask([1, 2, 2], Ask(number), Note, timeout_s=0.4)
        saw(node, "got", {{j: r.msg.number for j, r in got.items()}})
"""


def test_late_replies_are_dropped_and_counted_never_taken_for_a_later_request(play_source):
    played = play_source(ASK.format(handler="slow(node)"), nodes={"count": 3})
    assert [s.value for s in played.saw("got")] == [{1: n} for n in range(4)]
    assert played.summary["counts"]["late_replies"] == 4
    assert len(played.kind("Note")) == 8


def test_a_lost_request_is_asked_again(play_source):
    """Each try loses request or reply with 1 - 0.7^2 = 0.51; eight tries fail once in 200."""
    source = (
        ASK.format(handler="lambda r: Note(r.msg.number)")
        .replace("timeout_s=0.4", "timeout_s=0.01, tries=8")
        .replace("range(4)", "range(50)")
    )
    played = play_source(source, nodes={"count": 3}, **LOSSY | {"link": {"loss": 0.3}})
    complete = sum(len(s.value) == 2 for s in played.saw("got"))
    assert complete >= 45  # 50 asks of two peers; expected 0.46 incomplete
    assert all(n == k for k, s in enumerate(played.saw("got")) for n in s.value.values())
    assert len(played.kind("Ask")) > 100


@pytest.mark.slow
def test_a_request_leaves_the_queue_at_its_time_out(play_source):
    """Node 0 is busy sending to 2 for a second; the request to it waits 0.2 s and is gone."""
    source = """
@dataclass(frozen=True)
class Big(Message):
    payload: tuple

def processes(node, params):
    if node.id == 0:
        node.serve(Note, lambda r: r.msg)
    return [on_start(node)]

def on_start(node):
    if node.id == 0:
        node.send(2, Big((0.0,) * 1000))
    if node.id == 1:
        yield node.sleep(0.1)
        got = yield node.ask(0, Note(), Note, timeout_s=0.2)
        saw(node, "got", (node.now_s, got))
    yield node.sleep(1.0)
"""
    radio = {"fading": {"kind": "none"}, "rate": {"kind": "fixed", "rate_bps": 32000}}
    for changed in ({"radio": radio}, {}):
        played = play_source(source, nodes={"count": 3}, **changed)
        (sight,) = played.saw("got")
        if changed:
            assert sight.value == (pytest.approx(0.3), {})
            (row,) = played.kind("Note").itertuples()
            assert (row.outcome, row.attempts, row.t_done_s) == ("deadline", 0, pytest.approx(0.3))
        else:
            assert sorted(sight.value[1]) == [0]


@pytest.mark.slow
def test_a_server_gets_every_update_that_was_delivered(play):
    nodes = {"count": 5, "groups": [{"name": "hubs", "count": 1, "role": "server"}]}
    for link in (LOSSY, FADING):
        played = play("toy_server", "rounds", nodes=nodes, **link)
        rows = played.kind("Model")
        pushed = rows[(rows.dst == 0) & (rows.outcome == "delivered")]
        taken = [s.value[0] for s in played.saw("update", node=0)]
        assert sorted(taken) == sorted(pushed.src)
        assert taken


def test_peers_models_are_fetched_and_the_best_is_kept(play):
    played = play("toy_fetch", "star", **LOSSY)
    for sight in played.saw("chose"):
        in_reach, fetched, losses, best = sight.value
        assert set(losses) == {sight.node, *fetched}
        assert set(fetched) <= set(in_reach)
        assert losses[best] == min(losses.values())


@pytest.mark.slow
def test_a_handler_that_is_no_process_of_its_own_answers_while_its_node_trains(play_source):
    source = """
def processes(node, params):
    node.serve(Note, lambda received: received.msg)
    return [on_start(node)]

def on_start(node):
    if node.id == 0:
        yield node.train(node.initial(), steps=100)
        saw(node, "trained")
    else:
        got = yield node.ask(0, Note(), Note, timeout_s=0.5)
        saw(node, "answered", sorted(got))
"""
    played = play_source(source, nodes={"count": 2}, link={"latency_s": 0.1})
    assert [(s.t_s, s.value) for s in played.saw("answered")] == [(0.2, [0])]
    assert [s.t_s for s in played.saw("trained")] == [1.0]
