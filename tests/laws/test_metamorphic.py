"""Changes that must not matter to a network, or only in a known way."""

import numpy as np
import pytest
from scipy import stats

from .media import FAMILY, MEDIA, named, of_cells, radio, takes_turns, to_one

MS = 1_000_000
BOTH = ["message", "packet"]
ON_THE_AIR_TOGETHER = [mac for mac in MEDIA if not takes_turns(mac)]


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


# Media that take turns serve messages of one instant in the order in which they were sent, and
# slots of a frame have an order: there somebody is first.
@pytest.mark.thinned(3)
@many(ON_THE_AIR_TOGETHER)
@pytest.mark.parametrize("fading", ["none", "rayleigh"])
def test_nobody_is_favoured_by_a_number(ether, mac, fading):
    """Nodes alike that send at one instant end in any order: Friedman's test over 24 seeds."""
    nodes, ends = 6, []
    for seed in range(24):
        keys = radio(mac, fading={"kind": fading, "coherence_s": 5e-3})
        e = ether(keys, mean_snr=100.0, nodes=nodes + 1, seed=seed, base_stations=of_cells(mac))
        to_one(e, range(1, nodes + 1), 20)
        at = {x.src: x.at_ns for x in e.run()}
        ends.append([at[node] for node in range(1, nodes + 1)])
    ends = np.array(ends)
    if np.ptp(ends) > 0 and (np.ptp(ends, axis=1) > 0).all():
        assert stats.friedmanchisquare(*ends.T).pvalue > 1e-4


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
@pytest.mark.thinned(3)
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
@pytest.mark.thinned(3)
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
