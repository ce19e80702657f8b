"""Losses in bursts are those of Gilbert and Elliott, whatever the medium and the level."""

import math

import pytest

from .media import FAMILY, MEDIA, named, of_cells, radio

MS = 1_000_000
ENTERS, LEAVES = 0.05, 0.2
MESSAGES, PACKETS = 120, 40
"""More packets than of the messages that ALOHA plays one by one; fewer are played below."""


def spread_of_sum(packets):
    """Standard deviation of the number of lost packets of a message: a chain of two states."""
    bad, stays = ENTERS / (ENTERS + LEAVES), 1.0 - ENTERS - LEAVES
    together = 1.0 + 2.0 * stays / (1.0 - stays) * (
        1.0 - (1.0 - stays**packets) / (packets * (1.0 - stays))
    )
    return math.sqrt(packets * bad * (1.0 - bad) * together)


@pytest.mark.parametrize("mac", MEDIA, ids=named)
@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize("packets", [8, PACKETS])
@pytest.mark.parametrize("to", [0, [0]], ids=["unicast", "broadcast"])
def test_as_many_packets_are_lost_as_the_chain_loses(ether, mac, fidelity, packets, to):
    """One sender alone, its packets sent once: a share g / (g + b), as many together as b says."""
    if fidelity == "packet" and mac["kind"] == "csma":
        pytest.skip("frames are played without bursts")
    bursts = {"p_good_to_bad": ENTERS, "p_bad_to_good": LEAVES}
    keys = radio(mac, fading={"kind": "none"}, arq={"kind": "none"}, fidelity=fidelity)
    turn = 8_000 if FAMILY[mac["kind"]].random_access else 1_000
    e = ether(keys | {"bursts": bursts}, nodes=2, seed=3, base_stations=of_cells(mac))
    for k in range(MESSAGES):
        e.send(1, to, 1_000 * packets, at_ns=MS * (1 + turn * k))
    ended = e.run()
    lost = [x.lost for x in ended]
    assert len(lost) == MESSAGES
    bad = ENTERS / (ENTERS + LEAVES)
    error = spread_of_sum(packets) / math.sqrt(MESSAGES)
    assert sum(lost) / MESSAGES == pytest.approx(packets * bad, abs=4.5 * error)
    spread = math.sqrt(sum((n - packets * bad) ** 2 for n in lost) / MESSAGES)
    assert spread == pytest.approx(spread_of_sum(packets), rel=0.35)
