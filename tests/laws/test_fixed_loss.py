"""Packets lost with a fixed probability, whatever the SNR: delivery in closed form."""

import math

import pytest

from .media import FAMILY, MEDIA, named, of_cells, radio

MS = 1_000_000
LOSS, MESSAGES, PACKETS = 0.3, 300, 5
DELIVERED = {
    "none": (1.0 - LOSS) ** PACKETS,
    "abort": (1.0 - LOSS**3) ** PACKETS,
    "hole": (1.0 - LOSS**3) ** PACKETS,
    "harq_chase": (1.0 - LOSS**3) ** PACKETS,  # there is no SNR to add up
    "unlimited": 1.0,
}
"""Probability that all packets of a message arrive, each in at most three attempts."""


@pytest.mark.thinned(8)
@pytest.mark.parametrize("arq", DELIVERED)
@pytest.mark.parametrize("mac", MEDIA, ids=named)
@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_messages_arrive_as_often_as_their_packets_get_through(ether, mac, fidelity, arq):
    """One sender alone, over every medium, at both levels."""
    rule = {"kind": arq} | ({"max_attempts": 3} if arq not in ("none", "unlimited") else {})
    keys = radio(mac, arq=rule, fidelity=fidelity, fading={"kind": "none"})
    keys["packet_error"] = {"kind": "fixed", "loss": LOSS}
    turn = 4_000 if FAMILY[mac["kind"]].random_access else 1_000
    e = ether(keys, nodes=2, seed=3, base_stations=of_cells(mac))
    for k in range(MESSAGES):
        e.send(1, 0, 1_000 * PACKETS, at_ns=MS * (1 + turn * k))
    share = sum(x.outcome == "delivered" for x in e.run()) / MESSAGES
    p = DELIVERED[arq]
    assert share == pytest.approx(p, abs=4.5 * math.sqrt(p * (1.0 - p) / MESSAGES))
