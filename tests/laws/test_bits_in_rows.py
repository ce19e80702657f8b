"""Every bit that is transmitted stands in a row, whoever leaves meanwhile."""

import numpy as np
import pytest

from .media import MEDIA, named, of_cells, radio

MS = 1_000_000
NODES = 5
WAYS = {
    "once": {},
    "repeated": {"broadcast": {"kind": "repeated", "feedback_bits": 50}},
    "relays": {"routing": {"kind": "hops"}},
}


class Leaving:
    """Contacts that end once, each pair's at its own time."""

    def __init__(self, rng):
        self.until_ns = {
            (i, j): int(rng.integers(1, 40)) * MS for i in range(NODES) for j in range(i)
        }

    def left_ns(self, i, j, time_ns):
        return max(0, self.until_ns[max(i, j), min(i, j)] - time_ns)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mac", MEDIA, ids=named)
@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_rows_have_all_bits(ether, mac, fidelity, way):
    """Unicasts and broadcasts of which ends are switched off, lose contact, or are too late."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        keys = radio(mac, fidelity=fidelity, packet_error={"kind": "fixed", "loss": 0.3})
        keys |= {"ttl_s": [1e3, 0.03][seed % 2], "arq": {"kind": "hole"}} | WAYS[way]
        try:
            e = ether(
                keys, nodes=NODES, seed=seed, base_stations=of_cells(mac),
                meetings=Leaving(rng) if seed % 3 else None,
            )  # fmt: skip
        except ValueError:
            pytest.skip("no such radio")
        for src in range(NODES):
            others = [node for node in range(NODES) if node != src]
            to = [0] if of_cells(mac) and src else others
            for _ in range(2):
                e.send(src, to, 20_000, at_ns=int(rng.integers(1, 20)) * MS, parts=bool(seed % 2))
                e.send(src, to[-1], 20_000, at_ns=int(rng.integers(1, 20)) * MS)
        for node in range(NODES):
            if rng.random() < 0.8:
                e.switch(node, False, int(rng.integers(2, 60)) * MS + MS // 3)
        e.run()
        assert sum(e.recorder.transmitted) == e.recorder.bits_transmitted > 0


def test_the_last_to_leave_a_broadcast_has_its_bits(ether):
    """Ten packets go on to their end without a receiver, or to their sender's."""
    for sender_off_ns, packets in ((None, 10), (7 * MS, 7)):
        e = ether(nodes=3)
        e.send(0, [1, 2], 10_000)
        for node, at_ns in ((1, 2 * MS), (2, 3 * MS), (0, sender_off_ns)):
            if at_ns is not None:
                e.switch(node, False, at_ns)
        assert [(x.dst, x.outcome, x.attempts) for x in e.run()] == [(1, "off", 2), (2, "off", 3)]
        assert e.recorder.transmitted == [0, packets * 1000]


@pytest.mark.parametrize("to", [1, [1, 2]])
@pytest.mark.parametrize("gone", [0, 1])
def test_who_is_cut_short_has_heard_what_was_sent_until_then(ether, gone, to):
    """Energy by bits: four of ten packets of 1,000 bits, at whichever end the message is cut."""
    e = ether(nodes=3)
    e.send(0, to, 10_000)
    e.switch(gone, False, 4 * MS)
    e.run()
    others = 0 if isinstance(to, int) else 4_000 if gone == 0 else 10_000
    assert e.spent.heard_bits == [0, 4_000, others]
    assert e.spent.bits[0] == max(4_000, others)
