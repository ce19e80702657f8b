"""Bounds that no network can exceed, and records that a run keeps whatever else fails."""

import subprocess
import sys
import time

import numpy as np
import pytest

from netsim.links.radio.phy.channel import RadioChannel
from netsim.scenario import from_dict

from .media import FAMILY, MEDIA, named, of_cells, radio, to_one
from .networks import BASE, play, traffic_kinds

MS = 1_000_000
ACK_NS = 44_000
"""Of CSMA, at the basic rate of 1 Mb/s."""


def many(found):
    return pytest.mark.parametrize("mac", found, ids=named)


@pytest.mark.thinned(4)
@many(MEDIA)
@pytest.mark.parametrize("senders", [2, 20, pytest.param(60, marks=pytest.mark.slow)])
def test_one_receiver_gets_no_more_than_the_rate(ether, mac, senders):
    packets = 20 if senders > 2 else 200
    keys = radio(mac, fading={"kind": "none", "coherence_s": 5e-3}, ttl_s=2.0)
    e = ether(keys, nodes=senders + 1, base_stations=of_cells(mac))
    to_one(e, range(1, senders + 1), packets)
    ended = e.run()
    arrived = sum(x.outcome == "delivered" for x in ended) * packets
    # of so many random access lets next to nothing through; reserved slots take their time
    assert arrived > 0 or FAMILY[mac["kind"]].random_access
    assert arrived <= (max(x.at_ns for x in ended) - MS) / MS * (1 + 1e-9)
    if not of_cells(mac):
        assert max(e.spent.sending_ns) <= max(x.at_ns for x in ended) - MS + 20 * len(ended)


@pytest.mark.thinned(2)
@many(MEDIA)
@pytest.mark.parametrize("fading", ["none", "rayleigh"])
def test_no_step_takes_longer_because_a_message_is_long(ether, mac, fading, monkeypatch):
    """Channel blocks that are looked at in the instant in which a message begins."""
    asked, pair = [], RadioChannel.gain

    def counted(self, *args):
        asked.append(args)
        return pair(self, *args)

    monkeypatch.setattr(RadioChannel, "gain", counted)
    found = []
    for packets in (4_000, 400_000):
        keys = radio(mac, fading={"kind": fading, "coherence_s": 5e-3}, ttl_s=1e6)
        e = ether(keys, nodes=3, seed=1, base_stations=of_cells(mac))
        e.send(1, 0, 1_000 * packets)
        asked.clear()
        e.env.run(until=1)
        found.append(len(asked))
    assert found[1] < 2 * found[0] + 10


SCENARIO = """
horizon_s = 2.0
[nodes]
count = 3
[exchange]
schedule = "periodic"
period_s = 0.5
[link]
latency_s = 0.01
[data]
kind = "digits"
[data.partition]
kind = "iid"
train_samples = 20
[model]
kind = "mlp"
hidden = [2]
[[algorithm]]
kind = "failing"
[[algorithm]]
kind = "dpsgd"
[[algorithm]]
kind = "failing"
name = "again"
[[algorithm]]
kind = "local"
"""
FAILING = '''"""Fails."""

from netsim import api
from netsim.api import Node, Process


class Params(api.Params):
    """None."""


def processes(node: Node, params: Params) -> list[Process]:
    """One that fails."""
    return [failing(node)]


def failing(node: Node) -> Process:
    """Fail."""
    yield node.sleep(1.0)
    raise IndexError("none there")
'''


@pytest.mark.slow
def test_one_failing_method_keeps_the_others_from_nothing(tmp_path):
    (tmp_path / "one.toml").write_text(SCENARIO)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "failing.py").write_text(FAILING)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "netsim", "run", str(tmp_path / "one.toml"), "--timing-only"]
    command += ["--components", str(tmp_path / "own"), "--out", str(out), "--quiet"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    for name in ("dpsgd", "local"):
        assert (out / name / "summary.json").is_file()
    said = " ".join(ended.stderr.split())
    assert "IndexError: none there" in said
    assert "the others were played to their end" in said
    assert "again failed, too" in said


def loaded(mac, fidelity, kind):
    """A scenario in which every node sends again and again, at 1 W."""
    hub = bool(of_cells(mac))
    return BASE | {
        "horizon_s": 1.5,
        "radio": {
            "mac": mac,
            "fidelity": fidelity,
            "rate": {"kind": "fixed", "rate_bps": 2e4},
            "fading": {"kind": "none"},
            "packet_payload_bytes": 60,
            "ttl_s": 1.0,
        },
        "energy": {"radio": {"kind": "radio_state", "tx_w": 1.0, "rx_w": 1.0, "idle_w": 0.0}},
        "exchange": {"schedule": "poisson", "rate_hz": 5.0},
        "topology": {"kind": "hub", "centre": 0} if hub else {"kind": "complete"},
        "algorithm": [{"kind": kind}],
    }


def test_airtime_is_that_of_the_packets(ether):
    """A lone message is on the air for its packets' time, whatever the medium."""
    for mac in MEDIA:
        keys = radio(mac, fading={"kind": "none"})
        e = ether(keys, nodes=3, base_stations=of_cells(mac))
        to_one(e, [1], 5)
        e.run()
        assert e.spent.sending_ns[1] == pytest.approx(5 * MS, rel=1e-6), mac
        answered_ns = 5 * ACK_NS if mac["kind"] == "csma" else 0
        assert np.sum(e.spent.sending_ns) == pytest.approx(5 * MS + answered_ns, rel=1e-6), mac


@many(MEDIA)
@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize("to", [0, [0, 2]], ids=["unicast", "broadcast"])
def test_airtime_grows_while_a_message_is_sent(ether, mac, fidelity, to):
    """Never by more than the time that passes, so that a run may end in the middle of it."""
    if of_cells(mac) and to != 0:
        pytest.skip("a station's messages are all for its base station")
    keys = radio(mac, fading={"kind": "none"}, fidelity=fidelity)
    e = ether(keys, nodes=3, base_stations=of_cells(mac))
    e.send(1, to, 1_000 * PACKETS)
    counted = [0]
    while e.air.in_flight:
        e.env.run(until=len(counted) * MS)
        counted.append(e.recorder.airtime_ns - e.air.airtime_ahead_ns(e.env.now))
    assert counted[-1] == pytest.approx(PACKETS * MS, rel=1e-6)
    assert max(np.diff(counted)) <= MS + 1


PACKETS = 20
"""Of a message that is looked at while it is sent."""


def test_a_packet_takes_no_longer_because_its_message_is_long(ether):
    """Twelve times as many packets, each an event, take less than thirty times as long."""
    took_s = []
    for packets in (5_000, 60_000):
        e = ether(radio({"kind": "tdma"}, fidelity="packet", ttl_s=1e4), nodes=3)
        e.send(1, [0, 2], 1_000 * packets)
        began_s = time.process_time()
        e.run()
        took_s.append(time.process_time() - began_s)
        assert e.recorder.airtime_ns == packets * MS
    assert took_s[1] < 30 * took_s[0]


@pytest.mark.thinned(12)
@many(MEDIA)
@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize("kind", ["unicasts", "broadcasts"])
def test_no_message_takes_more_energy_than_a_battery_holds(mac, fidelity, kind):
    """Three packets of 24 ms at 1 W each, and batteries of 36 mJ: half of a message."""
    found = loaded(mac, fidelity, kind)
    found["energy"] = {"radio": found["energy"]["radio"] | {"rx_w": 0.0}, "battery_j": 0.036}
    summary = play(from_dict(found, kinds=traffic_kinds()))
    assert summary["messages"]["delivered"] == 0
    assert summary["energy"]["died"]
    sent_s = len(summary["energy"]["died"]) * (0.036 + 0.024)  # a frame goes to its end
    assert 0.036 <= summary["messages"]["airtime_s"] <= sent_s


@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize("kind", ["unicasts", "broadcasts"])
def test_bits_of_the_message_that_empties_a_battery_are_told(fidelity, kind):
    """Up to nine attempts of 480 bits, and batteries for 100: one message a node, and a warning."""
    found = loaded({"kind": "orthogonal"}, fidelity, kind)
    radio_energy = {"kind": "first_order", "electronics_j_per_bit": 1.0}
    found["energy"] = {"radio": radio_energy, "battery_j": 100.0}
    summary = play(from_dict(found, kinds=traffic_kinds()))
    assert len(summary["energy"]["died"]) == summary["nodes"]
    assert summary["messages"]["bits_transmitted"] <= 9 * 480 * summary["nodes"]
    assert any("more than their batteries held" in text for text in summary["warnings"])


TOGETHER = [mac for mac in MEDIA if not FAMILY[mac["kind"]].exclusive]
"""Media in which a radio may be told to do several things at once."""


@pytest.mark.thinned(24)
@many(TOGETHER)
@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize("kind", ["unicasts", "broadcasts"])
def test_no_radio_draws_more_than_its_largest_power(mac, fidelity, kind):
    """Sending and receiving at 1 W each, for 1.5 s under load."""
    found = loaded(mac, fidelity, kind)
    summary = play(from_dict(found, kinds=traffic_kinds()))  # with its invariants checked
    assert 0.3 < max(summary["energy"]["per_node_j"]) <= 1.5 * (1 + 1e-6)
