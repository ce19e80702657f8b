"""Messages on the air when another rule of medium access begins to hold."""

from itertools import permutations

import numpy as np
import pytest

from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.table import Radio

from .conftest import Given

MS = 1_000_000
PACKETS = 100
AT = 50
"""Packets that each has sent when the rule changes, were it alone."""
KINDS = ("orthogonal", "tdma", "shared", "csma")


def changed(ether, before, after, fidelity="message"):
    """0 sends to 1 and 2 to 3, each as loud at the other's receiver; what became of them."""
    snr = np.full((4, 4), 1e4)
    keys = {
        "fading": {"kind": "none"}, "rate": {"kind": "fixed", "rate_bps": 1e6},
        "packet_payload_bytes": 125, "packet_error": {"kind": "outage"}, "threshold_db": 5.0,
        "arq": {"kind": "none"}, "fidelity": fidelity,
    }  # fmt: skip
    e = ether(keys | {"mac": {"kind": before}}, snr, nodes=4)
    for src in (0, 2):
        e.send(src, src + 1, 1_000 * PACKETS, parts=True)
    table = Radio.model_validate(keys | {"mac": {"kind": after}})
    budget = LinkBudget(Given(snr), 10**0.5, (1.0,) * 4)
    e.env.after(AT * MS + MS // 2, e.air.set_radio, table, budget)
    return sorted(e.run(), key=lambda x: x.src)


@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize("apart", ["orthogonal", "tdma"])
def test_interference_begins_for_all_and_ends_for_all(ether, apart, fidelity):
    """Packets are lost to others' power while the medium is shared, and no longer."""
    if apart == "orthogonal":  # with slots, what is on the air keeps them
        for x in changed(ether, apart, "shared", fidelity):
            assert (x.lost, x.at_ns) == (PACKETS - AT, PACKETS * MS)
            # half of the packets met 10^4, the others 10^4 / (1 + 10^4)
            assert x.snr_db == pytest.approx(10 * np.log10(0.5 * (1e4 + 1)), abs=0.1)
    for x in changed(ether, "shared", apart, fidelity):
        assert (x.lost, x.at_ns) == (AT + 1, PACKETS * MS)


@pytest.mark.parametrize("apart", ["orthogonal", "tdma", "shared"])
def test_contention_ends_for_all(ether, apart):
    """Two that contend carry less than one packet a ms together, and then each one a ms."""
    both = changed(ether, "csma", apart)
    for x in both:
        alone_ms = 0.55 * AT  # at most so many packets have gone when the rule changes
        assert AT + PACKETS - alone_ms <= x.at_ns / MS < AT + PACKETS
    assert abs(both[0].at_ns - both[1].at_ns) <= MS
    if apart != "shared":
        assert all(x.lost <= 0.3 * AT for x in both)


@pytest.mark.parametrize("apart", ["orthogonal", "shared"])
def test_contention_begins_for_all(ether, apart):
    """The one that began last contends, too: each carries half a packet a ms at most."""
    both = changed(ether, apart, "csma")
    for x in both:
        assert x.at_ns / MS > AT + 1.9 * (PACKETS - AT)
    assert abs(both[0].at_ns - both[1].at_ns) <= 2 * MS


@pytest.mark.parametrize(
    ("before", "after"),
    # slots that are kept under contention begin one after the other
    [kinds for kinds in permutations(KINDS, 2) if {*kinds} != {"tdma", "csma"}],
)
def test_neither_of_two_alike_is_favoured(ether, before, after):
    one, other = changed(ether, before, after)
    assert one.at_ns == pytest.approx(other.at_ns, abs=4 * MS)
    assert one.snr_db == pytest.approx(other.snr_db, abs=0.5)
