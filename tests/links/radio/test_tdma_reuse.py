"""Slots that nodes far apart share: colours, shares of the rate, and who disturbs in a slot."""

import math

import networkx as nx
import numpy as np
import pytest

from netsim import world
from netsim.channels.mac.tdma_reuse import TdmaReuse, colours
from netsim.errors import ScenarioError
from netsim.links.radio.phy.mean_snr import GivenMeanSnr
from netsim.links.radio.table import Radio
from netsim.scenario import from_dict
from netsim.traces.gains import Gains

MS = 1_000_000
PACKET = 1_000
"""Bits of a packet, which takes a millisecond: a slot."""
FIDELITIES = pytest.mark.parametrize("fidelity", ["message", "packet"])
pytestmark = pytest.mark.usefixtures("slots_in_order")
REUSE = {"kind": "tdma_reuse", "interference_m": 10.0}


def on_a_line(i, j, time_ns):
    """Ten metres from one node to the next."""
    return 10.0 * abs(i - j)


def ring(n):
    def distance_m(i, j, time_ns):
        return 10.0 * min((i - j) % n, (j - i) % n)

    return distance_m


def grid(side):
    def distance_m(i, j, time_ns):
        (x, y), (u, v) = divmod(i, side), divmod(j, side)
        return 10.0 * math.hypot(x - u, y - v)

    return distance_m


def slots(distance_m, nodes, **keys):
    found = TdmaReuse(**(REUSE | keys)).slot_of_each(nodes, distance_m)
    assert set(found) == set(range(max(found) + 1))
    return list(found)


@pytest.mark.parametrize(
    ("distance_m", "nodes", "hops", "count"),
    [
        (on_a_line, 40, 2, 3), (on_a_line, 40, 1, 2), (on_a_line, 40, 3, 4), (on_a_line, 2, 2, 2),
        (ring(30), 30, 2, 3), (ring(30), 30, 1, 2), (ring(5), 5, 2, 5), (ring(7), 7, 2, 4),
        (ring(7), 7, 1, 3), (grid(6), 36, 2, 5), (grid(9), 81, 2, 5), (grid(6), 36, 1, 2),
        (lambda i, j, t: 1.0, 7, 2, 7),
    ],
)  # fmt: skip
def test_lines_rings_grids_and_cliques_have_the_least_colours(distance_m, nodes, hops, count):
    found = slots(distance_m, nodes, hops=hops)
    assert max(found) + 1 == count
    graph = nx.Graph((i, j) for i in range(nodes) for j in range(i) if distance_m(i, j, 0) <= 10.0)
    for i, far in nx.all_pairs_shortest_path_length(graph, cutoff=hops):
        assert all(found[j] != found[i] for j in far if j != i)


def test_colours_of_any_graph_are_bounded_by_the_largest_degree():
    """Greedy: at most D + 1 colours, D the largest number of nodes up to two hops away."""
    for seed in range(5):
        graph = nx.random_geometric_graph(60, 0.15, seed=seed)
        found = colours(graph, 2)
        apart = nx.power(graph, 2)
        assert all(found[i] != found[j] for i, j in apart.edges)
        assert max(found) + 1 <= 1 + max(degree for _, degree in apart.degree)


@FIDELITIES
def test_a_node_has_one_slot_of_as_many_as_there_are_colours(ether, fidelity):
    """All 30 send 20 packets: 19 frames of 3 ms and a slot each, ten packets on the air at once."""
    e = ether({"mac": REUSE, "fidelity": fidelity, "packet_error": {"kind": "outage"}},
              mean_snr=np.where(np.abs(np.subtract.outer(range(30), range(30))) < 2, 100.0, 1e-6),
              nodes=30, distance_m=on_a_line)  # fmt: skip
    slot = slots(on_a_line, 30)
    for k in range(30):
        e.send(k, k + 1 if k < 29 else k - 1, 20 * PACKET)
    for x in e.run():
        assert x.outcome == "delivered"
        assert x.at_ns == (19 * 3 + slot[x.src] + 1) * MS
    assert e.recorder.airtime_ns == 30 * 20 * MS


@FIDELITIES
def test_where_all_are_in_range_it_is_tdma(ether, fidelity):
    """Slots by colour: node k of a clique has slot k; all is the same to the nanosecond."""
    found = []
    for mac in ({"kind": "tdma"}, REUSE):
        e = ether({"mac": mac, "fidelity": fidelity, "ttl_s": 0.09, "threshold_db": 15.0,
                   "fading": {"kind": "rayleigh", "coherence_s": 0.01},
                   "packet_error": {"kind": "outage"}},
                  nodes=5, distance_m=lambda i, j, t: 1.0)  # fmt: skip
        rng = np.random.default_rng(3)
        for k in range(60):
            to = (k + 1) % 5 if k % 3 else [(k + 1) % 5, (k + 2) % 5]
            e.send(k % 5, to, int(rng.integers(1, 9)) * PACKET, at_ns=int(rng.integers(900 * MS)))
        e.switch(2, False, 400 * MS)
        found.append((e.run(), e.spent.sending_ns, e.spent.receiving_ns, e.spent.overheard_ns))
    assert slots(lambda i, j, t: 1.0, 5) == list(range(5))
    assert found[0] == found[1]
    assert len({x.outcome for x in found[0][0]}) >= 3


@FIDELITIES
def test_those_who_share_a_slot_interfere_while_both_send(ether, fidelity):
    """Power over noise: 100 wanted, 4 of node 3, in the slot of node 0; 50 of node 2, in another.

    SINR 100 / 5 while 3 sends, else 100: on average (10 * 20 + 10 * 100) / 20 over 20 packets, of
    which the ten that meet 3 are under the threshold of 15 dB.
    """
    power = np.full((6, 6), 100.0)
    power[3, 1], power[2, 1] = 4.0, 50.0
    radio = {"mac": REUSE, "fidelity": fidelity, "packet_error": {"kind": "outage"},
             "threshold_db": 15.0, "arq": {"kind": "none"}}  # fmt: skip
    for other, lost, snr in ((3, 10, 60.0), (2, 0, 100.0)):
        e = ether(radio, power, nodes=6, distance_m=on_a_line)
        e.send(0, 1, 20 * PACKET)
        e.send(other, 4, 10 * PACKET, at_ns=13 * MS // 2)
        (mine,) = [x for x in e.run() if x.src == 0]
        assert mine.lost == lost
        assert mine.snr_db == pytest.approx(10 * math.log10(snr), abs=1e-6)
        assert mine.at_ns == (19 * 3 + 1) * MS


@FIDELITIES
def test_who_waits_for_a_slot_is_not_on_the_air(ether, fidelity):
    """3 is ready at 1.5 ms for its slot at 3 ms; 0 has sent by 1 ms or has its slots up to 7 ms."""
    power = np.full((6, 6), 100.0)
    power[3, 1] = power[0, 4] = 1e6
    radio = {"mac": REUSE, "fidelity": fidelity, "packet_error": {"kind": "outage"},
             "arq": {"kind": "none"}}  # fmt: skip
    for packets, lost in ((1, 0), (3, 2)):
        e = ether(radio, power, nodes=6, distance_m=on_a_line)
        e.send(0, 1, packets * PACKET)
        e.send(3, 4, 4 * PACKET, at_ns=3 * MS // 2)
        mine, other = sorted(e.run(), key=lambda x: x.src)
        assert (mine.lost, other.lost) == (lost, lost)
        assert other.at_ns == (3 + 3 * 3 + 1) * MS


@FIDELITIES
def test_a_packet_over_two_slots_meets_the_worst_of_both(ether, fidelity):
    """Packets of 2 ms in slots of 1 ms: 3 sends in the second slot of the second packet alone."""
    power = np.full((6, 6), 100.0)
    power[3, 1] = 1e6
    radio = {"mac": REUSE, "fidelity": fidelity, "packet_error": {"kind": "outage"},
             "arq": {"kind": "none"}, "packet_payload_bytes": 250}  # fmt: skip
    e = ether(radio, power, nodes=6, distance_m=on_a_line)
    e.send(0, 1, 6 * PACKET, parts=True)
    e.send(3, 4, PACKET, at_ns=8 * MS)
    mine, other = sorted(e.run(), key=lambda x: x.src)
    assert mine.arrived.tolist() == [True, False, True]
    assert (mine.at_ns, other.at_ns) == (16 * MS, 10 * MS)


@FIDELITIES
def test_a_node_does_not_hear_while_it_sends_itself(ether, fidelity):
    """0 and 3 share a slot; both send to each other ten packets, the second one later by six."""
    power = np.full((6, 6), 100.0) + np.diag(np.full(6, 1e9))
    radio = {"mac": REUSE, "fidelity": fidelity, "packet_error": {"kind": "outage"},
             "arq": {"kind": "none"}}  # fmt: skip
    e = ether(radio, power, nodes=6, distance_m=on_a_line)
    e.send(0, 3, 10 * PACKET)
    e.send(3, 0, 10 * PACKET, at_ns=16 * MS)
    assert [x.lost for x in e.run()] == [4, 4]


@FIDELITIES
def test_nor_where_a_file_states_the_gains_of_all_others(ether, fidelity):
    """The same; no file has what a node receives of itself."""
    keys = {"mac": REUSE, "packet_error": {"kind": "outage"}, "arq": {"kind": "none"}}
    gain_db = np.full((1, 6, 6), -60.0)
    gain_db[0, range(6), range(6)] = -np.inf
    gains = Gains.from_matrices(np.zeros(1), gain_db, repeats=False)
    table = Radio.model_validate(keys | {"fading": {"kind": "none"}})
    power = GivenMeanSnr(table, (20.0,) * 6, gains)
    e = ether(keys | {"fidelity": fidelity}, power, nodes=6, distance_m=on_a_line)
    e.send(0, 3, 10 * PACKET)
    e.send(3, 0, 10 * PACKET, at_ns=16 * MS)
    assert [x.lost for x in e.run()] == [4, 4]


def test_a_ground_station_has_sight_of_itself_and_of_no_other():
    found = from_dict({
        "horizon_s": 10.0,
        "nodes": {"count": 4},
        "mobility": {
            "kind": "walker", "satellites": 2, "planes": 1, "inclination_deg": 60.0,
            "altitude_m": 2e6, "stations": [[0.0, 0.0], [40.0, 90.0]],
        },
        "radio": {"mac": REUSE},
        "exchange": {"schedule": "poisson", "rate_hz": 1.0},
        "data": {"kind": "digits"},
        "model": {"kind": "mlp", "hidden": [2]},
        "algorithm": {"kind": "dpsgd"},
    })  # fmt: skip
    mean_snr = world.build(found).budget.mean_snr
    assert mean_snr.pair_snr(2, 3, 0) == mean_snr.pair_snr(3, 2, 0) == 0.0
    assert all(mean_snr.pair_snr(i, i, 0) > 1e3 for i in range(4))


def test_without_places_it_is_refused():
    radio = Radio.model_validate({"mac": REUSE})
    with pytest.raises(ScenarioError, match="interference_m = 10: needs to know where nodes are"):
        radio.do_without_places()


@pytest.mark.slow
def test_both_levels_lose_as_many_packets_to_fading_interferers(ether):
    """Two links of one slot, SNR 60 against 20 under Rayleigh fading: shares lost, by seed."""
    power, lost = np.full((6, 6), 60.0), {}
    power[3, 1] = power[0, 4] = 20.0
    for fidelity in ("message", "packet"):
        radio = {"mac": REUSE, "fidelity": fidelity, "packet_error": {"kind": "outage"},
                 "threshold_db": 5.0, "arq": {"kind": "none"},
                 "fading": {"kind": "rayleigh", "coherence_s": 0.02}}  # fmt: skip
        lost[fidelity] = []
        for seed in range(40):
            e = ether(radio, power, nodes=6, distance_m=on_a_line, seed=seed)
            rng = np.random.default_rng(seed)
            for _ in range(12):
                for src, dst in ((0, 1), (3, 4)):
                    bits = int(rng.integers(1, 30)) * PACKET
                    e.send(src, dst, bits, at_ns=int(rng.integers(1_000 * MS)))
            ended = e.run()
            lost[fidelity].append(sum(x.lost for x in ended) / sum(x.attempts for x in ended))
    differ = np.subtract(lost["message"], lost["packet"])
    assert abs(differ.mean()) < 4 * differ.std() / math.sqrt(40)
    assert differ.std() < np.std(lost["message"])  # fading and messages are the same at both
