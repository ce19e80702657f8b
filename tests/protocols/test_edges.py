"""Edges and inboxes with scripted exchanges."""

import math
from dataclasses import dataclass

import pytest

from netsim.api import AbsenceParams, Edges, Inbox, Message, Received, mixing_shares
from netsim.protocols.edges import Edge


@dataclass(frozen=True)
class Word(Message):
    number: int


class FakeNode:
    """Hands out what its script says, and keeps what it was told to send."""

    id, schedule, max_age_s = 0, "rounds", math.inf
    neighbours = (1, 2, 3)

    def __init__(self):
        self.now_s, self.sent = 0.0, []

    def exchange(self, messages, to=None, expect=None, phase=0, kind=None, max_age_s=None):
        self.sent.append((messages, to, kind))
        return "exchange"

    def receive(self, kind, timeout_s):
        assert timeout_s is None
        return "receive"


def received(msg, sender, sent_s):
    return Received(msg, sender, sent_s, 0.0, 1)


def run(process, *answers):
    """Drive a generator; each `yield` gets the next answer."""
    next(process)
    try:
        for answer in answers:
            process.send(answer)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it wants more answers")


@pytest.fixture
def node():
    return FakeNode()


def inbox(node, **params):
    node.max_age_s = params.get("max_age_s", math.inf)
    return Inbox(node, Word, AbsenceParams(**params))


def test_what_is_at_hand_is_what_came(node):
    words = inbox(node)
    assert run(words.exchange(Word(0)), {2: received(Word(5), 2, 0.0)}) == {2: Word(5)}
    assert run(words.exchange(Word(0)), {}) == {}
    assert words.last[2].msg == Word(5)


def test_the_last_known_stands_in_if_it_is_not_too_old(node):
    words = inbox(node, absent="last", max_age_s=10.0)
    both = {3: received(Word(3), 3, 4.0), 1: received(Word(1), 1, 0.0)}
    assert list(run(words.exchange(Word(0)), both)) == [1, 3]
    node.now_s = 11.0
    assert run(words.exchange(Word(0)), {}) == {3: Word(3)}


def test_old_messages_are_not_used(node):
    words = inbox(node, max_age_s=1.0)
    node.now_s = 5.0
    came = {1: received(Word(1), 1, 3.9), 2: received(Word(2), 2, 4.0)}
    assert run(words.exchange(Word(0)), came) == {2: Word(2)}


def test_a_late_message_counts_unless_a_later_one_has_come(node):
    words = inbox(node, absent="last")
    (listener,) = words.listeners()
    next(listener)
    listener.send(received(Word(1), 1, 2.0))
    listener.send(received(Word(0), 1, 1.0))
    assert run(words.exchange(Word(9)), {}) == {1: Word(1)}


def test_nobody_listens_for_late_ones_where_there_are_no_rounds(node):
    node.schedule = "poisson"
    assert inbox(node).listeners() == []


@pytest.fixture
def words(node):
    return inbox(node)


@pytest.fixture
def edges(node, words):
    return Edges(node, words, AbsenceParams())


def settle(node, edges, active, came=None):
    run(edges.settle(active), came or {})
    return node.sent[-1][0]


def test_all_edges_are_active_at_first_and_nobody_is_told(node, edges):
    assert edges.subscribers() == [1, 2, 3]
    assert settle(node, edges, {1: True, 2: True, 3: True}) == {}


def test_a_sender_stops_when_told_and_starts_again(node, edges):
    active = {1: True, 2: True, 3: True}
    settle(node, edges, active, {2: received(Edge(False), 2, 0.0)})
    assert edges.subscribers() == [1, 3]
    settle(node, edges, active)
    assert edges.subscribers() == [1, 3]
    settle(node, edges, active, {2: received(Edge(True), 2, 2.0)})
    assert edges.subscribers() == [1, 2, 3]


def test_a_change_is_told_once_to_whom_it_concerns(node, edges, words):
    node.now_s = 1.0
    assert settle(node, edges, {1: False, 2: True}) == {1: Edge(False)}
    node.now_s = 2.0
    assert settle(node, edges, {1: False, 2: True}) == {}
    node.now_s = 3.0
    assert settle(node, edges, {1: True, 2: True}) == {1: Edge(True)}
    words.last[1] = received(Word(0), 1, 3.0)  # at once, as over an ideal network
    node.now_s = 4.0
    assert settle(node, edges, {1: True, 2: True}) == {}


def test_who_goes_on_sending_is_told_again(node, edges, words):
    node.now_s = 1.0
    settle(node, edges, {1: False})
    words.last[1] = received(Word(0), 1, 1.5)
    node.now_s = 2.0
    assert settle(node, edges, {1: False}) == {1: Edge(False)}
    node.now_s = 3.0
    assert settle(node, edges, {1: False}) == {}


def test_who_does_not_start_to_send_is_told_again_until_it_does(node, edges, words):
    settle(node, edges, {1: False})
    node.now_s = 1.0
    assert settle(node, edges, {1: True}) == {1: Edge(True)}
    words.last[1] = received(Word(0), 1, 0.5)  # from before
    node.now_s = 2.0
    assert settle(node, edges, {1: True}) == {1: Edge(True)}
    words.last[1] = received(Word(0), 1, 2.5)
    node.now_s = 3.0
    assert settle(node, edges, {1: True}) == {}


def test_word_that_comes_late_counts(edges):
    (listener,) = edges.listeners()
    next(listener)
    listener.send(received(Edge(False), 3, 0.0))
    assert edges.subscribers() == [1, 2]


@pytest.mark.parametrize(
    ("absent", "expected"),
    [
        ("renormalise", [0.4 / 0.7, 0.3 / 0.7]),
        ("last", [0.4 / 0.7, 0.3 / 0.7]),  # nothing was known of it
        ("self", [0.7, 0.3]),
    ],
)
def test_what_becomes_of_an_absent_peers_weight(absent, expected):
    """Own 0.4, peer 1 at hand 0.3, peer 2 absent 0.2, peer 3 absent 0.1."""
    shares = mixing_shares(0.4, {1: 0.3, 2: 0.2, 3: 0.1}, [1], absent)
    assert shares == pytest.approx(expected)


def test_without_any_weight_at_hand_a_node_keeps_its_own():
    assert mixing_shares(0.0, {1: 0.6, 2: 0.4}, [], "renormalise") == [1.0]
    assert mixing_shares(0.0, {1: 0.6, 2: 0.4}, [], "self") == [1.0]
