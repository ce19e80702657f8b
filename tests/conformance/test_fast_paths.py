"""Shortcuts on the path of a message give what the long way would have given."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from netsim.clock import Clock
from netsim.learning.refs import Cell, Ref
from netsim.links.link import DELIVERED, Deliveries, Transmission
from netsim.links.wired.wire import Wire, WiredLink
from netsim.messaging.latest_messages import LatestMessages
from netsim.messaging.message import Envelope, Message, handed_to
from netsim.recording.recorder import Recorder
from netsim.recording.uses import Fates
from netsim.rng import Streams

CELL = Cell(None, (3,))


@dataclass(frozen=True)
class Plain(Message):
    theta: Ref
    numbers: dict
    count: int = 0


@dataclass(frozen=True)
class Derived(Message):
    theta: Ref
    doubled: int = field(init=False)
    count: int = field(default=2, kw_only=True)

    def __post_init__(self):
        object.__setattr__(self, "doubled", 2 * self.count)


@dataclass(frozen=True)
class Bare(Message):
    count: int


@dataclass(frozen=True)
class Whole(Message):
    theta: Ref


@dataclass(frozen=True)
class Checked(Message):
    theta: Ref

    def __post_init__(self):
        object.__setattr__(self, "checked_for", self.theta.owner)


@dataclass(frozen=True)
class ByHand(Message):
    theta: Ref

    def __init__(self, theta):
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "checked_for", theta.owner)


class Counted(Message):
    def __new__(cls, theta):
        made = super().__new__(cls)
        object.__setattr__(made, "checked_for", theta.owner)
        return made


@dataclass(frozen=True)
class ByClass(Counted):
    theta: Ref


@dataclass(frozen=True, slots=True)
class Slotted(Message):
    theta: Ref


@pytest.mark.parametrize("kind", [Whole, Checked, ByHand, ByClass, Slotted])
def test_a_message_of_one_value_is_handed_over_as_its_constructor_makes_it(kind):
    envelope = Envelope(kind(Ref(0, CELL)), 0, 8, 1, 0)
    mine, checked = envelope.handed_to(4, 9).msg, hasattr(envelope.message, "checked_for")
    assert type(mine) is kind
    assert (mine.theta.owner, mine.theta.cell, envelope.message.theta.owner) == (4, CELL, 0)
    assert getattr(mine, "checked_for", None) == (4 if checked else None)


def test_takers_of_an_exchange_have_what_deliveries_bring_one_by_one():
    """Three senders' messages, late ones among them, and takers that look now and then."""
    tag, rng = (Whole, 0), np.random.default_rng(5)
    steps = list(zip(rng.integers(3, size=200), rng.integers(50, size=200), strict=True))

    def ends(direct: set[int]) -> tuple:
        uses, deliveries = Recorder(None).uses, Deliveries()
        latest = [LatestMessages(i, deliveries.takers if i in direct else None) for i in range(4)]
        for one in latest:
            deliveries.append(lambda tx, outcome, arrived, one=one: one.put(tx.envelope))
            one.take(tag, range(3), 0)
        for number, (src, sent_ns) in enumerate(steps):
            fates = Fates(uses, src, "Whole", sent_ns)
            fates.arrive(range(4), 4 * number, number)
            sent = Envelope(Whole(Ref(src, CELL)), src, 8, 1, sent_ns, fates, tag)
            deliveries.of_all(sent, range(4), DELIVERED)
            latest[number % 4].take(tag, range(number % 3), number)
        values, width = uses.parts.values, uses.parts.width
        rows = sorted(tuple(values[k : k + width]) for k in range(0, len(values), width))
        return rows, [(one.superseded_count, one.unseen_count()) for one in latest]

    one_by_one = ends(direct=set())
    assert len(one_by_one[0]) > 100
    assert ends(direct={0, 1, 2}) == ends(direct={0, 1, 2, 3}) == one_by_one


def test_every_receiver_of_one_message_gets_refs_and_containers_of_its_own():
    sent = Plain(Ref(0, CELL), {"of": (Ref(0, CELL), 1.5)}, 7)
    first, second = handed_to(sent, 1), handed_to(sent, 2)
    assert [m.theta.owner for m in (sent, first, second)] == [0, 1, 2]
    assert [m.numbers["of"][0].owner for m in (sent, first, second)] == [0, 1, 2]
    assert first.numbers is not second.numbers
    assert first.theta.cell is second.theta.cell is CELL
    assert (first.count, first.numbers["of"][1]) == (7, 1.5)


def test_a_message_class_whose_constructor_does_not_take_every_field_is_handed_over_too():
    handed = handed_to(Derived(Ref(0, CELL), count=5), 3)
    assert (handed.theta.owner, handed.count, handed.doubled) == (3, 5, 10)


def test_a_message_without_refs_is_handed_over_as_it_is():
    message = Bare(4)
    assert handed_to(message, 1) is message


def test_several_receivers_of_an_exchange_get_one_message_packed_once(play_source):
    source = """
@dataclass(frozen=True)
class Table(Message):
    theta: Ref
    numbers: dict

def processes(node, params):
    return [on_wakeup(node)]

def on_wakeup(node):
    numbers = {0: 0.5}
    yield node.wakeup()
    exchange = node.exchange(Table(node.initial(), numbers))
    numbers[0] = 99.0
    got = yield exchange
    for j, received in got.items():
        saw(node, "table", (j, received.msg.numbers[0], received.msg.theta.owner == node.id))
        received.msg.numbers[0] = 77.0
"""
    played = play_source(source, "rounds", nodes={"count": 4}, horizon_s=0.4)
    tables = [s.value for s in played.saw("table")]
    assert len(tables) == 4 * 3
    assert all(value == 0.5 and own for _, value, own in tables)


@pytest.mark.parametrize(
    "how",
    [
        {"latency_s": 0.01},
        {"latency_s": 0.01, "loss": 0.4},
        {"latency_s": 0.01, "rate_bps": 1e6, "ttl_s": 0.012},
        {"rate_bps": 1e6, "loss": 0.2, "packet_payload_bytes": 50, "arq": {"kind": "hole"}},
    ],
)
def test_messages_sent_together_end_as_if_sent_one_by_one(how):
    def ends(together: bool) -> list[tuple]:
        env, seen = Clock(), []
        link = WiredLink(Wire(**how), 6, env, Recorder(None), Streams(3))

        def done(tx, outcome, arrived):
            seen.append((env.now, tx.src, tx.dst, outcome))

        def send():
            for src in range(3):
                sizes = [100 * (1 + dst % 2) * (1 + src) for dst in range(3, 6)]
                group = [
                    Transmission(Envelope(Bare(1), src, 8 * size, 1, env.now), dst, done)
                    for dst, size in enumerate(sizes, start=3)
                ]
                if together:
                    link.unicasts(group)
                    link.unicasts([])
                else:
                    for tx in group:
                        link.unicast(tx)

        for time_ns in (0, 1_000_000, 1_000_000, 5_000_000):
            env.call_after(time_ns, send)
        env.run()
        assert link.in_flight == 0
        bits = [link.bits_transmitted_by(i) for i in range(6)]
        return [*seen, bits, link.recorder.close()["event_log_sha256"]]

    assert ends(together=True) == ends(together=False)


def test_the_clock_hands_arguments_over_and_keeps_the_order_of_one_instant():
    env, seen = Clock(), []
    for number in range(3):
        env.call_after(5, seen.append, number)
    env.call_after(4, seen.append, "first")
    env.run()
    assert seen == ["first", 0, 1, 2]
    with pytest.raises(ValueError, match="Negative delay -1"):
        env.call_after(-1, seen.append, 0)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("schedule", ["star", "rounds", "poisson"])
@pytest.mark.parametrize("hold", ["exchange", "coherence"])
def test_who_is_in_reach_follows_from_the_snr_of_each_pair(play, schedule, hold):
    """A look at all peers and a message find the same fades, also where wake-ups coincide."""
    radio = {"mean_snr_db": 5.0, "threshold_db": 4.0, "fading": {"kind": "rayleigh", "hold": hold}}
    air = play("toy_hello", schedule, radio=radio).run.link._channel
    for time_ns in np.linspace(0, 4e9, 41).astype(int).tolist():
        for i in range(5):
            others = [j for j in range(5) if j != i]
            over = [j for j in others if air.snr(i, j, time_ns) >= air._budget.threshold]
            assert air.in_reach(i, others, time_ns) == over


def test_waiting_messages_start_oldest_first_wherever_they_wait(play_source):
    """Radios 0 and 1 become free at once: 2 -> 0 is older than 0 -> 3, 1 -> 3 than 4 -> 1."""
    source = """
@dataclass(frozen=True)
class Whisper(Message):
    payload: tuple = ()

def processes(node, params):
    return [on_start(node)]

def on_start(node):
    later = {0: [(0.0, 1), (0.002, 3)], 2: [(0.001, 0)], 1: [(0.003, 3)], 4: [(0.004, 1)]}
    for delay_s, to in later.get(node.id, ()):
        yield node.sleep(delay_s)
        node.send(to, Whisper((0.0,) * 1000))
"""
    radio = {
        "fading": {"kind": "none"},
        "rate": {"kind": "fixed", "rate_bps": 1e6},
        "packet_payload_bytes": 100_000,
    }
    played = play_source(source, radio=radio, nodes={"count": 5})
    log = played.log
    ends = {(r.src, r.dst): round(r.t_done_s, 6) for r in log.itertuples()}
    # 32 ms each: 0 -> 1; then 2 -> 0 and 1 -> 3; then 0 -> 3 and 4 -> 1
    assert ends == {(0, 1): 0.032, (2, 0): 0.064, (1, 3): 0.064, (0, 3): 0.096, (4, 1): 0.096}
