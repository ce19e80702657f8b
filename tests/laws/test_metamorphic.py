"""Changes that must not matter to a network, or only in a known way."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from netsim.clock import Clock
from netsim.links.arrivals import Arrivals
from netsim.links.link import Transmission
from netsim.messaging.message import Envelope
from netsim.messaging.over_the_air import OverTheAir
from netsim.rng import Streams

from .media import FAMILY, MEDIA, named, of_cells, radio, to_one

MS = 1_000_000
BOTH = ["message", "packet"]


def many(found):
    return pytest.mark.parametrize("mac", found, ids=named)


def traffic(e, nodes, shift_ns=0, scale=1, seed=2, only=None, count=30):
    """Messages of one to three packets between pairs, at random times."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        src, dst = rng.choice(nodes, 2, replace=False).tolist()
        bits = scale * 1_000 * int(rng.integers(1, 4))
        at_ns = 1 + shift_ns + int(rng.uniform(0, 60 * MS))
        if e.air._base_stations:
            dst = 0 if src else dst
        if only is None or {src, dst} <= only:
            e.send(src, dst, bits, at_ns=at_ns)


def fates(e, since_ns=0):
    return [(x.src, x.dst, x.outcome, x.at_ns - since_ns, x.attempts) for x in e.run()]


def are_level(ends):
    """Nobody comes earlier by its place: Friedman's test; ends: (seeds, nodes)."""
    if (np.ptp(ends, axis=1) > 0).any():
        assert stats.friedmanchisquare(*np.transpose(ends)).pvalue > 1e-4


def last_of_each(ended, nodes):
    """Return the end of each node's last message; `ended`: (node, time)."""
    at = dict(sorted(ended, key=lambda one: one[1]))
    return [at[node] for node in nodes]


TO_WHOM = {
    "one": lambda node, n: 0,
    "next": lambda node, n: 1 + node % n,
    "all": lambda node, n: [j for j in range(1, n + 1) if j != node],
}


@pytest.mark.thinned(56)
@many(MEDIA)
@pytest.mark.parametrize(
    ("to", "keys"),
    [
        ("one", {}),
        ("one", {"fading": {"kind": "rayleigh", "coherence_s": 5e-3}}),
        ("one", {"fidelity": "packet"}),
        ("next", {}),
        ("all", {}),
    ],
    ids=str,
)
def test_nobody_is_favoured_by_a_number(ether, mac, to, keys):
    """Nodes alike that send at one instant end in any order: Friedman's test over 24 seeds."""
    if to != "one" and of_cells(mac):
        pytest.skip("all send to the base station")
    n, ends = 6, []
    for seed in range(24):
        e = ether(
            radio(mac) | keys, mean_snr=100.0, nodes=n + 1, seed=seed, base_stations=of_cells(mac)
        )
        for node in range(1, n + 1):
            e.send(node, TO_WHOM[to](node, n), 1_000 * 20, at_ns=MS)
        ends.append(last_of_each([(x.src, x.at_ns) for x in e.run()], range(1, n + 1)))
    are_level(ends)


@pytest.mark.parametrize("routing", ["hops", "etx"])
def test_nobody_is_favoured_by_a_relay(ether, routing):
    """Six nodes whose messages to node 0 all go by node 7."""
    snr = np.full((8, 8), 1e-9)
    snr[7], snr[:, 7] = 100.0, 100.0
    ends = []
    for seed in range(24):
        keys = radio({"kind": "orthogonal"}, fading={"kind": "none"}, routing={"kind": routing})
        e = ether(keys | {"packet_error": {"kind": "outage"}}, snr, nodes=8, seed=seed)
        e.recorder.hop = lambda *row: None
        to_one(e, range(1, 7), 20)
        ends.append(last_of_each([(x.src, x.at_ns) for x in e.run()], range(1, 7)))
    are_level(ends)


def test_nobody_is_favoured_by_a_frame_over_the_air(ether):
    """Five receivers, to each of which all others send a frame at one instant."""
    ends = []
    for seed in range(24):
        e = ether({"bandwidth_hz": 1e6}, nodes=5, seed=seed)
        message = OverTheAir(SimpleNamespace(num_values=1_000), 0.5, 4, 1.0)
        for src in range(5):
            for dst in range(5):
                if dst != src:
                    envelope = Envelope(message, src, 32_000, 0, 0)
                    e.air.unicast(Transmission(envelope, dst, e._done))
        ends.append(last_of_each([(x.dst, x.at_ns) for x in e.run()], range(5)))
    are_level(ends)


@pytest.mark.parametrize(
    "keys",
    [
        {"sharing": "fifo"},
        {"sharing": "fifo", "forwarding": "stored"},
        {"sharing": "fifo", "slow_start": {}},
        {"sharing": "max_min"},
        {"sharing": "max_min", "jitter_s": 1e-3},
        {"rate_bps": 1e6, "loss": 0.1, "arq": {"kind": "unlimited"}},
    ],
    ids=str,
)
def test_nobody_is_favoured_by_a_number_over_wires(wires, keys):
    """Uploads of one instant to a server behind 1 Mb/s."""
    ends = []
    for seed in range(24):
        shared = {} if "rate_bps" in keys else {"up_bps": [1e6] * 7, "down_bps": [1e6] * 7}
        w = wires(7, {"packet_payload_bytes": 125} | keys, seed=seed, **shared)
        for node in range(1, 7):
            w.send(1.0, node, 0, 20_000)
        ends.append(last_of_each([(src, at_s) for at_s, src, _, _ in w.run()], range(1, 7)))
    are_level(ends)


def test_senders_that_need_nothing_in_common_keep_their_places():
    """0 and 1 want a thing, 2 and 3 another, 4 a third: places are changed inside each alone."""
    orders = set()
    for seed in range(40):
        env, served = Clock(), []
        arrivals = Arrivals(env, Streams(seed), served.append)
        for src, needs in ((0, "ab"), (2, "c"), (4, "d"), (1, "b"), (3, "ec"), (0, "a")):
            arrivals.add(src, needs, src)
        env.run()
        assert [served.index(4), {served[0], served[3], served[5]}] == [2, {0, 1}]
        orders.add(tuple(served))
    of_a_and_b = ((0, 0, 1), (1, 0, 0))  # a sender's own stay together
    assert orders == {(i, k, 4, j, 5 - k, m) for i, j, m in of_a_and_b for k in (2, 3)}


@many(MEDIA)
@pytest.mark.thinned(3)
@pytest.mark.parametrize("fidelity", BOTH)
def test_twice_the_bits_at_twice_the_rate_are_the_same(ether, mac, fidelity):
    found = []
    for scale in (1, 2):
        keys = radio(
            mac, fidelity=fidelity, fading={"kind": "none"}, packet_payload_bytes=125 * scale
        )
        keys["rate"] = {"kind": "fixed", "rate_bps": scale * 1e6}
        keys["mac"] = mac | ({"ack_s": 44e-6} if mac["kind"] == "csma" else {})
        e = ether(keys, nodes=5, base_stations=of_cells(mac))
        traffic(e, 5, scale=scale)
        found.append(fates(e))
    assert found[0] == found[1]


@many([mac for mac in MEDIA if not FAMILY[mac["kind"]].model_validate(mac).turns(2)])
@pytest.mark.thinned(6)
@pytest.mark.parametrize("fidelity", BOTH)
def test_later_is_later(ether, mac, fidelity):
    """By a whole number of slots, which count from 0. Draws that a time keys may differ."""
    found, shift_ns = [], 1_000 * MS
    for by_ns in (0, shift_ns):
        keys = radio(mac, fidelity=fidelity, fading={"kind": "none", "coherence_s": 2e-3})
        e = ether(keys, nodes=5, base_stations=of_cells(mac))
        traffic(e, 5, shift_ns=by_ns, count=300 if mac["kind"] == "aloha" else 30)
        found.append(fates(e, by_ns))
    if mac["kind"] in ("aloha", "ofdma"):  # drawn by when, and by the block
        ends = [np.mean([at for *_, at, _ in one]) for one in found]
        assert ends[0] == pytest.approx(ends[1], rel=0.1)
    else:
        assert found[0] == found[1]


@many([mac for mac in MEDIA if mac["kind"] not in ("aloha", "ofdma")])
@pytest.mark.thinned(3)
@pytest.mark.parametrize("fidelity", BOTH)
def test_two_halves_far_apart_are_two_networks(ether, mac, fidelity):
    """ALOHA has one channel for all, however far, and cells have a base station each."""
    near = np.kron(np.eye(2), np.ones((3, 3)))
    carries = {"carrier_sense_m": 100.0} if mac["kind"] == "csma" else {}
    keys = radio(mac | carries, fidelity=fidelity, fading={"kind": "none"})
    halves, whole = [{0, 1, 2}, {3, 4, 5}], []
    parts = []
    for chosen in ([halves[0]], [halves[1]], halves):
        e = ether(
            keys, 100.0 * near, nodes=6, distance_m=lambda i, j, t: 10.0 + 1e4 * (1 - near[i, j])
        )
        for half in chosen:
            traffic(e, 6, only=half, count=120)
        (whole if len(chosen) == 2 else parts).extend(fates(e))
    assert sorted(whole) == sorted(parts)


@many([mac for mac in MEDIA if not FAMILY[mac["kind"]].model_validate(mac).turns(2)])
@pytest.mark.thinned(3)
@pytest.mark.parametrize("fidelity", BOTH)
def test_who_never_sends_and_is_far_away_changes_nothing(ether, mac, fidelity):
    found = []
    for nodes in (4, 5):
        snr = np.full((nodes, nodes), 100.0)
        snr[4:], snr[:, 4:] = 0.0, 0.0
        keys = radio(mac, fidelity=fidelity, fading={"kind": "rayleigh", "coherence_s": 5e-3})
        keys["packet_error"] = {"kind": "outage"}
        e = ether(keys, snr, nodes=nodes, base_stations=of_cells(mac))
        traffic(e, 4)
        found.append(fates(e))
    assert found[0] == found[1]


@many(MEDIA)
@pytest.mark.thinned(9)
@pytest.mark.parametrize("fidelity", BOTH)
def test_a_message_of_many_packets_is_as_many_messages(ether, mac, fidelity):
    """One sender alone: 40 packets in one message, or in 40 that follow each other."""
    ends = []
    for messages, packets in ((1, 40), (40, 1)):
        at = []
        for seed in range(6):
            keys = radio(mac, fidelity=fidelity, fading={"kind": "none"})
            e = ether(keys, nodes=2, seed=seed, base_stations=of_cells(mac))
            for _ in range(messages):
                e.send(1, 0, 1_000 * packets, at_ns=MS)
            at.append(max(x.at_ns for x in e.run()) / MS)
        ends.append(at)
    one, each = (np.mean(at) for at in ends)
    error = np.hypot(*(np.std(at, ddof=1) / np.sqrt(len(at)) for at in ends))
    assert abs(one - each) < 0.02 * each + 4 * error
