"""Whatever a radio sends takes the speed of light's time to its receiver."""

from types import SimpleNamespace

import numpy as np
import pytest

from netsim.links.link import Transmission
from netsim.messaging.message import Envelope
from netsim.messaging.over_the_air import Energies, OverTheAir
from netsim.units import SPEED_OF_LIGHT_M_PER_S

MS = 1_000_000
LINE = np.array([[0, 100, 0], [100, 0, 100], [0, 100, 0]], dtype=float)
"""SNRs of three in a row, of which the first and the last don't reach each other."""


def over_the_air(e):
    row = SimpleNamespace(num_values=1000)
    for src in (1, 2):
        message = OverTheAir(row, 0.0, 2, 1.0)
        e.air.unicast(Transmission(Envelope(message, src, 32_000, 0, 0), 0, e._done))


def energies(e):
    message = Energies(SimpleNamespace(num_values=1000), 1.0, 0.0)
    for dst in (1, 2):
        e.air.unicast(Transmission(Envelope(message, 0, 32_000, 0, 0), dst, e._done))


WAYS = {
    "unicast": ({}, 100.0, lambda e: e.send(0, 2, 3000)),
    "broadcast": ({}, 100.0, lambda e: e.send(0, [1, 2], 3000)),
    "repeated": (
        {"broadcast": {"kind": "repeated"}}, 100.0, lambda e: e.send(0, [1, 2], 3000)
    ),
    "slots": ({"mac": {"kind": "tdma"}}, 100.0, lambda e: e.send(0, 2, 3000)),
    "frames": (
        {"mac": {"kind": "csma"}, "fidelity": "packet"}, 1e4, lambda e: e.send(0, 2, 3000)
    ),
    "relays": ({"routing": {"kind": "hops"}}, LINE, lambda e: e.send(0, 2, 3000)),
    "over the air": ({}, 100.0, over_the_air),
    "energies": ({}, 100.0, energies),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_it_comes_by_its_distance_later(ether, way):
    """Node k is k ms of light away from node 0; a frame is there when the farthest has come."""
    keys, snr, send = WAYS[way]
    found = {}
    for delay in (False, True):
        e = ether(
            keys | {"propagation_delay": delay}, mean_snr=snr, nodes=3,
            distance_m=lambda i, j, t: abs(i - j) * SPEED_OF_LIGHT_M_PER_S / 1e3,
        )  # fmt: skip
        send(e)
        found[delay] = {(x.src, x.dst): (x.outcome, x.at_ns) for x in e.run()}
    assert len(found[True]) == len(found[False]) > 0
    for (src, dst), (outcome, at_ns) in found[False].items():
        assert outcome == "delivered"
        far = 2 if way == "over the air" else abs(src - dst)
        assert found[True][src, dst] == ("delivered", at_ns + far * MS)


@pytest.mark.parametrize("send", [over_the_air, energies])
def test_a_frame_on_its_way_can_expire_or_miss_who_goes_off(ether, send):
    far = {"distance_m": lambda i, j, t: SPEED_OF_LIGHT_M_PER_S / 1e3, "nodes": 3}
    radio = {"propagation_delay": True, "bandwidth_hz": 1e6}
    e = ether(radio | {"ttl_s": 1.5e-3}, **far)
    send(e)
    assert {(x.outcome, x.at_ns) for x in e.run()} == {("deadline", 1_500_000)}
    e = ether(radio, **far)
    send(e)
    for node in range(3):
        e.switch(node, False, 1_500_000)
    assert {(x.outcome, x.at_ns) for x in e.run()} == {("off", 2 * MS)}


def test_what_is_collected_takes_its_way_as_well(ether):
    """Time-outs follow from it: satellites are farther away than their messages are long."""
    near, far = (
        ether({"propagation_delay": True}, distance_m=lambda i, j, t, m=m: m, nodes=3)
        for m in (0.0, SPEED_OF_LIGHT_M_PER_S / 4)
    )
    two = (1, 2), 0, 3000
    assert far.air.collection_s(*two) == pytest.approx(near.air.collection_s(*two) + 0.25)
