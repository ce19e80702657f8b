"""Messages of one instant: nobody's is received first because of a number."""

from collections import Counter
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from netsim.clock import Clock
from netsim.messaging.mailbox import HandOvers, Mailbox
from netsim.messaging.message import Envelope, Message
from netsim.node.messaging import RequestReply
from netsim.rng import Streams

MS = 1_000_000
SENDERS = range(1, 7)


@dataclass(frozen=True)
class Number(Message):
    value: int


def received(seed, came, processes=1, since_ns=0):
    """Return (sender, value) in the order of receiving; `came`: (sender, value, time in ns)."""
    env, found = Clock(), []
    mailbox = Mailbox(HandOvers(0, env), Streams(seed))

    def receiver():
        if since_ns:
            yield env.timeout(since_ns)
        while True:
            got = yield mailbox.receive(Number, None)
            found.append((got.sender, got.msg.value))
            yield env.timeout(0 if since_ns else MS // 10)

    for src, value, at_ns in came:
        envelope = Envelope(Number(value), src, 1, 0, 0, None)
        env.call_after(at_ns, mailbox.put, envelope)
    for _ in range(processes):
        env.process(receiver())
    env.run(until=10 * MS)
    assert sorted(found) == sorted((src, value) for src, value, _ in came)
    assert mailbox.unread_count() == 0
    return found


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("since_ns", [0, 5 * MS], ids=["waiting", "queued"])
def test_nobody_s_message_is_received_first_by_its_number(processes, since_ns):
    """Friedman's test over 24 seeds, of messages that come at one instant in order of ids."""
    places = []
    for seed in range(24):
        order = received(seed, [(src, 0, MS) for src in SENDERS], processes, since_ns)
        places.append([order.index((src, 0)) for src in SENDERS])
    assert (np.ptp(places, axis=0) > 0).all()
    assert stats.friedmanchisquare(*np.transpose(places)).pvalue > 1e-4


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("since_ns", [0, 5 * MS], ids=["waiting", "queued"])
def test_a_sender_s_own_messages_keep_their_order(processes, since_ns):
    for seed in range(12):
        came = [(src, value, MS) for value in range(3) for src in SENDERS]
        order = received(seed, came, processes, since_ns)
        for src in SENDERS:
            assert [value for who, value in order if who == src] == [0, 1, 2]


def test_messages_of_different_instants_keep_their_order():
    came = [(src, 0, MS + 7 - src) for src in SENDERS]
    assert received(3, came) == [(src, 0) for src in reversed(SENDERS)]
    assert received(3, came, since_ns=5 * MS) == [(src, 0) for src in reversed(SENDERS)]


def answered(seed, came):
    """Return (sender, value) in the order of answering; `came`: (sender, value, time in ns)."""
    env, found = Clock(), []
    nobody, at_work = SimpleNamespace(transmissions=lambda *_, **__: ()), SimpleNamespace(off=set())
    requests = RequestReply(
        HandOvers(0, env), "server", SimpleNamespace(), nobody, at_work, Counter(), Streams(seed)
    )
    requests.serve(Number, lambda asked: found.append((asked.sender, asked.msg.value)))
    for src, value, at_ns in came:
        envelope = Envelope(Number(value), src, 1, 0, 0, None, request=(src, value))
        env.call_after(at_ns, requests.take_in, envelope)
    env.run(until=10 * MS)
    assert sorted(found) == sorted((src, value) for src, value, _ in came)
    return found


def test_nobody_s_request_is_answered_first_by_its_number():
    """As with messages: requests that come at one instant in order of ids, over 24 seeds."""
    places = []
    for seed in range(24):
        order = answered(seed, [(src, 0, MS) for src in SENDERS])
        places.append([order.index((src, 0)) for src in SENDERS])
    assert (np.ptp(places, axis=0) > 0).all()
    assert stats.friedmanchisquare(*np.transpose(places)).pvalue > 1e-4


def test_requests_of_one_sender_and_of_different_instants_keep_their_order():
    came = [(src, value, MS) for value in range(3) for src in SENDERS]
    for seed in range(12):
        order = answered(seed, came)
        for src in SENDERS:
            assert [value for who, value in order if who == src] == [0, 1, 2]
    apart = [(src, 0, MS + 7 - src) for src in SENDERS]
    assert answered(3, apart) == [(src, 0) for src in reversed(SENDERS)]
