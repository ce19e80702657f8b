"""Messages that their sender withdraws while they wait."""

import pytest

SOURCE = """
@dataclass(frozen=True)
class Other(Message):
    number: int = 0

def processes(node, params):
    return [on_start(node), on_note(node, Note), on_note(node, Other)]

def on_start(node):
    yield node.sleep(0.0)
    if node.id == 0:
        kinds = (Note, Note, Other, Other, Note, Other)
        sent = [node.send(1, kind(k)) for k, kind in enumerate(kinds)]
        yield node.sleep(0.5)
        saw(node, "withdrawn", node.withdraw(Note))
        saw(node, "again", node.withdraw(Note))
        outcomes = []
        for event in sent:
            outcomes.append((yield event))
        saw(node, "outcomes", outcomes)
    yield node.sleep(1.0)

def on_note(node, kind):
    while True:
        received = yield node.receive(kind, timeout_s=None)
        saw(node, "came", (round(node.now_s, 6), received.msg.number))
"""
"""Six messages of 32 bits at 32 bit/s: one a second, if none is withdrawn."""

PLAIN = {"rate_bps": 32.0}
RADIO = {
    "mean_snr_db": 60.0,
    "rate": {"kind": "fixed", "rate_bps": 32.0},
    "fading": {"kind": "none"},
}
WAYS = {
    "wire of a pair": {"link": PLAIN},
    "wires, one after the other": {"link": {"uplink_bps": 32.0, "sharing": "fifo"}},
    "radio": {"radio": RADIO},
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("way", WAYS)
def test_what_waits_is_withdrawn_and_what_stays_moves_up(play_source, way):
    """The first is on its way at 0.5 s; two of its kind wait, and three of another kind."""
    nodes = {"count": 2}
    played = play_source(SOURCE, nodes=nodes, horizon_s=9.0, metrics={"every_s": 9.0}, **WAYS[way])
    assert [s.value for s in played.saw("withdrawn")] == [2]
    assert [s.value for s in played.saw("again")] == [0]
    came = [s.value for s in played.saw("came")]
    assert came == [(1.0, 0), (2.0, 2), (3.0, 3), (4.0, 5)]
    (outcomes,) = [s.value for s in played.saw("outcomes")]
    done, gone = "delivered", "withdrawn"
    assert outcomes == [done, gone, done, done, gone, done]
    log = played.log
    withdrawn = log[log.outcome == gone]
    assert (withdrawn.t_done_s == 0.5).all()
    assert (withdrawn.attempts == 0).all()
    assert (withdrawn.bits_transmitted == 0).all()
    told = played.summary["messages"]
    assert (told["sent"], told["delivered"], told["withdrawn"], told["lost"]) == (6, 4, 2, 0)
    assert told["airtime_s"] == pytest.approx(4.0)


def test_those_whose_time_was_over_get_their_turn(play_source):
    """Given 2.6 s, the third and later would have expired; with two gone the third is through."""
    link = PLAIN | {"ttl_s": 2.6}
    nodes = {"count": 2}
    played = play_source(SOURCE, nodes=nodes, horizon_s=9.0, metrics={"every_s": 9.0}, link=link)
    assert [s.value for s in played.saw("came")] == [(1.0, 0), (2.0, 2)]
    outcomes = played.log.sort_values("t_done_s").outcome.tolist()
    assert outcomes == ["withdrawn"] * 2 + ["delivered"] * 2 + ["deadline"] * 2
    assert played.summary["messages"]["airtime_s"] == pytest.approx(2.6)


def test_an_ideal_network_has_nothing_to_withdraw(play_source):
    played = play_source(SOURCE, nodes={"count": 2}, horizon_s=9.0, metrics={"every_s": 9.0})
    assert [s.value for s in played.saw("withdrawn")] == [0]
    assert played.summary["messages"]["delivered"] == 6
