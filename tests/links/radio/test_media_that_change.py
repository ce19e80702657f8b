"""Messages on the air when another rule of medium access begins to hold."""

from itertools import permutations

import numpy as np
import pytest

from netsim.links.radio.phy.budget import LinkBudget
from netsim.links.radio.table import Radio
from tests.laws.media import MEDIA, named, of_cells
from tests.laws.media import radio as of_medium

from .conftest import Given

MS = 1_000_000
PACKETS = 100
AT = 50
"""Packets that each has sent when the rule changes, were it alone."""
KINDS = ("orthogonal", "tdma", "shared", "csma")


def changed(ether, before, after, fidelity="message"):
    """0 sends to 1 and 2 to 3, each as loud at the other's receiver; what became of them."""
    return sorted(air_that_changes(ether, before, after, fidelity).run(), key=lambda x: x.src)


def air_that_changes(ether, before, after, fidelity="message"):
    """See `changed`."""
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
    e.env.call_after(AT * MS + MS // 2, e.air.set_radio, table, budget)
    return e


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
    # slots are one after the other, so one may have sent a slot more by then
    [kinds for kinds in permutations(KINDS, 2) if kinds != ("csma", "tdma")],
)
def test_neither_of_two_alike_is_favoured(ether, before, after):
    one, other = changed(ether, before, after)
    assert one.at_ns == pytest.approx(other.at_ns, abs=4 * MS)
    assert one.snr_db == pytest.approx(other.snr_db, abs=0.5)


@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize("to", ["unicast", "broadcast"])
def test_slots_end_for_all(ether, slots_in_order, fidelity, to):
    """Four slots of a packet each. By 50.5 ms node 0 has sent 13 packets and node 2 twelve and a
    half; the rest goes at one a ms, and node 1, which waits for its slot at 53 ms, begins at once
    or then, by the packet in the frame.
    """
    e = air_that_changes(ether, "tdma", "orthogonal", fidelity)
    if to == "broadcast":
        e.send(1, [0, 3], 1_000, at_ns=50 * MS)
    ended = {x.src: x for x in e.run()}
    assert (ended[0].at_ns, ended[2].at_ns) == (137_500_000, 138_000_000)
    assert {x.lost for x in ended.values()} == {0}
    assert e.spent.sending_ns[0] == pytest.approx(100 * MS, rel=1e-6)
    assert e.spent.sending_ns[2] == pytest.approx(100 * MS, rel=1e-6)
    if to == "broadcast":
        assert ended[1].at_ns in (51_500_000, 54 * MS)
    assert e.recorder.warnings.texts == []


@pytest.mark.parametrize(("before", "after"), [("orthogonal", "tdma"), ("csma", "tdma")])
def test_what_has_no_slots_goes_on_without_and_says_so(ether, before, after):
    e = air_that_changes(ether, before, after)
    e.run()
    [said] = e.recorder.warnings.texts
    assert "without slots" in said


def test_who_waits_for_a_radio_waits_by_the_new_rule(ether, slots_in_order):
    """With slots no receiver is busy: ten packets go in those at 50, ..., 86 ms. Without, one must
    not receive two at once: of 100 packets 13 have gone in slots, the others take until 137 ms.
    """
    keys = {"packet_error": {"kind": "fixed", "loss": 0.0}}
    for before, after, ends_ms in (
        ("orthogonal", "tdma", (100, 87)), ("tdma", "orthogonal", (137, 147))
    ):  # fmt: skip
        e = ether(keys | {"mac": {"kind": before}}, nodes=4)
        e.send(0, 1, 100_000)  # until 100 ms
        if before == "tdma":
            e.send(2, 3, 55_000)  # 12 by then, the others until 93 ms
        e.send(2, 1, 10_000, at_ns=MS)
        table = Radio.model_validate(
            {"fading": {"kind": "none"}, "rate": {"kind": "fixed", "rate_bps": 1e6},
             "packet_payload_bytes": 125, "mac": {"kind": after}} | keys
        )  # fmt: skip
        budget = LinkBudget(Given(np.full((4, 4), 100.0)), 10**0.5, (1.0,) * 4)
        e.env.call_after(50 * MS, e.air.set_radio, table, budget)
        ended = {(x.src, x.dst): x.at_ns // MS for x in e.run()}
        assert (ended[0, 1], ended[2, 1]) == ends_ms


@pytest.mark.thinned(8)
@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize("after", [None, *MEDIA], ids=lambda mac: mac and named(mac))
@pytest.mark.parametrize("before", MEDIA, ids=named)
def test_every_medium_can_follow_every_other_in_the_midst_of_messages(
    ether, before, after, fidelity
):
    """Short and long messages; None: the same medium at another power."""
    after, is_same = after or before, after is None
    cells = (0,) if of_cells(before) or of_cells(after) else ()
    keys = {"fading": {"kind": "none"}, "fidelity": fidelity, "sensitivity_dbm": -90.0}
    found = []
    for changes in (True, False):
        e = ether(of_medium(before, **keys), nodes=4, base_stations=cells)
        for src in (1, 2, 3):
            e.send(src, 0, 1_000 * 20 * src)
        if changes:
            power = 0.5 if is_same else 1.0
            table = Radio.model_validate(
                {"packet_error": {"kind": "fixed", "loss": 0.0}} | of_medium(after, **keys)
            )
            if table.plays_frames or Radio.model_validate(of_medium(before, **keys)).plays_frames:
                pytest.skip("a radio that is played frame by frame does not change")
            budget = LinkBudget(Given(np.full((4, 4), 100.0)), 10**0.5, (power,) * 4)
            over = [1.0 / power] * 4
            e.env.call_after(10 * MS + MS // 2, e.air.set_radio, table, budget, over)
        ended = e.run()
        assert {(x.src, x.outcome) for x in ended} == {(k, "delivered") for k in (1, 2, 3)}
        assert e.recorder.bits_transmitted == sum(e.recorder.transmitted) >= 120_000
        assert e.recorder.airtime_ns >= (120 - 3) * MS  # but for the packets under way
        assert max(e.spent.sending_ns) <= max(x.at_ns for x in ended)
        found.append([(x.src, x.at_ns) for x in ended])
    assert not is_same or found[0] == found[1]
