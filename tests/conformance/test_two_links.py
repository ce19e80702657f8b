"""A radio beside wires to a server: each message is as it would be over its own link alone."""

import pytest

SOURCE = """
ONLY = {only!r}

@dataclass(frozen=True)
class Empty(Message):
    \"\"\"Nothing in it.\"\"\"

def processes(node, params):
    others = [j for j in range(4) if j != node.id and ONLY in (None, 0 in (node.id, j))]
    return [on_pair(node, j) for j in others] + [on_all(node, others)]

def on_pair(node, to):
    for message in (Empty(), Note(3), Empty()):
        outcome = yield node.send(to, message)
        saw(node, f"to {{to}}", (node.now_s, outcome))

def on_all(node, others):
    for at_s, message in ((50.0, Empty()), (70.0, Note(3))):
        yield node.sleep(at_s - node.now_s)
        outcomes = yield node.broadcast(message, to=others)
        for to, outcome in outcomes.items():
            saw(node, f"broadcast to {{to}}", outcome)
"""
RADIO = {
    "fading": {"kind": "none"},
    "path_loss": {"kind": "log_distance", "exponent": 3.5},
    "tx_power_dbm": 10.0,
    "bandwidth_hz": 1e6,
    "rate": {"kind": "fixed", "rate_bps": 1e3},
}
LINK = {"uplink_bps": 1e3, "latency_s": 0.1}
PLACES = [[0.0, 0.0], [80.0, 0.0], [240.0, 0.0]]
"""Of the nodes 1 to 3, of which the first two reach each other."""
BESIDE, FAR = [160.0, 0.0], [1e5, 0.0]
"""Places of the server: in reach of the last two nodes, or of none."""


@pytest.mark.parametrize(
    ("radio", "link"),
    [
        ({}, {}),
        ({"control_bits": 1_000}, {"control_bits": 4_000}),
        ({"control_bits": 4_000, "ttl_s": 3.0}, {"packet_header_bytes": 40}),
        ({"arq": {"kind": "none"}}, {}),
        ({"broadcast": {"kind": "repeated"}}, {"acknowledged": False}),
        ({}, {"acknowledged": False, "ttl_s": 0.2}),
        ({"routing": {"kind": "hops"}}, {}),
        ({"routing": {"kind": "etx"}, "broadcast": {"kind": "repeated"}}, {"loss": 0.5}),
    ],
    ids=str,
)
def test_each_message_is_as_over_its_link_alone(play_source, radio, link):
    both = _play(play_source, None, BESIDE, radio=RADIO | radio, link=LINK | link)
    air = _play(play_source, False, FAR, radio=RADIO | radio)
    wires = _play(play_source, True, BESIDE, link=LINK | link)
    for alone, wired in ((air, False), (wires, True)):
        assert _rows(alone, wired) == _rows(both, wired)
        assert _seen(alone, wired) == _seen(both, wired)
        assert len(_rows(alone, wired)) == 30


@pytest.mark.parametrize("mac", ["orthogonal", "shared"])
def test_a_server_on_wires_draws_no_energy_of_a_radio(play_source, mac):
    energy = {"radio": {"kind": "radio_state", "tx_w": 0.4, "rx_w": 0.3, "idle_w": 0.1}}
    tables = {"radio": RADIO | {"mac": {"kind": mac}}, "energy": energy | {"battery_j": 60.0}}
    both = _play(play_source, None, BESIDE, link=LINK, **tables).summary["energy"]
    air = _play(play_source, False, FAR, **tables).summary["energy"]
    assert both["per_node_j"] == [0.0, *air["per_node_j"][1:]]
    assert both["left_j"]["0"] == 60.0
    assert min(air["per_node_j"]) >= 9.0


def _play(play_source, only, place, **tables):
    """Play the server at a place, and messages of all pairs, or of those with it or without."""
    nodes = {"count": 4, "placement": "given", "positions_m": [place, *PLACES]}
    nodes["groups"] = [{"name": "server", "count": 1, "role": "server"}]
    return play_source(SOURCE.format(only=only), nodes=nodes, horizon_s=90.0, **tables)


def _rows(played, wired):
    """Rows of the messages between pairs with a server, or without."""
    log = played.log
    chosen = log[((log.src == 0) | (log.dst == 0)) == wired]
    names = ["kind", "src", "dst", "t_sent_s", "t_done_s", "outcome", "bits", "attempts"]
    return sorted(map(tuple, chosen[names].values.tolist()))


def _seen(played, wired):
    """Outcomes of these messages, as their senders got them."""
    return sorted(
        (s.node, s.what, str(s.value))
        for s in played.seen
        if (0 in (s.node, int(s.what.split()[-1]))) == wired
    )
