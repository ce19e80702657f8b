"""Messages by relays: which way they go, how long that takes, what is lost, and what is booked."""

import math
from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from netsim import engine, scenario, world
from netsim.channels.routing import LinkQuality
from netsim.channels.routing.etx import Etx
from netsim.channels.routing.hops import Hops
from netsim.channels.routing.latency import Latency
from netsim.links.radio.phy.mean_snr import MeanSnr
from netsim.links.radio.table import Radio

MS, S = 1_000_000, 1_000_000_000
PACKET = 1_000
"""Bits of a packet, which takes a millisecond."""
OUTAGES = {"packet_error": {"kind": "outage"}, "threshold_db": 0.0}
FIDELITIES = pytest.mark.parametrize("fidelity", ["message", "packet"])


def line(nodes, snr=100.0):
    """Mean SNRs of a line on which only neighbours hear each other."""
    apart = np.abs(np.subtract.outer(range(nodes), range(nodes)))
    return np.where(apart == 1, snr, 1e-9)


@pytest.fixture
def hops_of(ether):
    """Make an Ether with relays; what was told of hops is in `.hops`."""

    def make(kind="hops", routing=None, **others):
        keys = {k: others.pop(k) for k in list(others) if k in Radio.model_fields}
        e = ether(OUTAGES | {"routing": {"kind": kind} | (routing or {})} | keys, **others)
        e.hops = []
        e.recorder.hop = lambda *row: e.hops.append(row)
        return e

    return make


@FIDELITIES
def test_three_hops_of_stored_messages_take_three_times_as_long(hops_of, fidelity):
    """h M t: 2,700 packets of 0.6 ms over three hops take 4.86 s; pipelined it were 1.6212 s."""
    e = hops_of(mean_snr=line(4), nodes=4, fidelity=fidelity, packet_payload_bytes=75)
    e.send(0, 3, 2_700 * 600)
    (ended,) = e.run()
    assert (ended.outcome, ended.at_ns) == ("delivered", 4_860 * MS)
    assert ended.attempts == 3 * 2_700
    assert e.recorder.bits_transmitted == sum(e.recorder.transmitted) == 3 * 2_700 * 600
    assert e.recorder.airtime_ns == 4_860 * MS
    assert [row[2:6] for row in e.hops] == [(0, 1, 0, 3), (1, 2, 0, 3), (2, 3, 0, 3)]
    assert [row[:2] for row in e.hops] == [(k * 1_620 * MS, (k + 1) * 1_620 * MS) for k in range(3)]


def test_airtime_energy_and_bits_are_those_of_who_sends_and_who_receives(hops_of):
    e = hops_of(mean_snr=line(4), nodes=4)
    e.send(0, 3, 5 * PACKET)
    e.run()
    assert e.spent.sending_ns == [5 * MS, 5 * MS, 5 * MS, 0]
    assert e.spent.receiving_ns == [0, 5 * MS, 5 * MS, 5 * MS]
    assert e.spent.bits == [5 * PACKET] * 3 + [0]
    assert [e.air.bits_transmitted_by(k) for k in range(4)] == [5 * PACKET] * 3 + [0]


def test_who_is_in_reach_is_sent_to_at_once_and_who_can_t_be_reached_is_not_relayed_to(hops_of):
    power = line(5)
    power[3, 4] = power[4, 3] = 1e-9
    e = hops_of(mean_snr=power, nodes=5)
    e.send(0, 1, PACKET)
    e.send(0, 4, PACKET, at_ns=S)
    e.send(0, [1, 2], PACKET, at_ns=2 * S)  # broadcasts are not relayed
    assert [(x.dst, x.outcome) for x in e.run()] == [
        (1, "delivered"), (4, "outage"), (1, "delivered"), (2, "outage"),
    ]  # fmt: skip
    assert e.hops == []
    assert e.air.in_reach(0, range(1, 5)) == [1, 2, 3]
    assert e.air.collection_s([1, 2], 0, 10 * PACKET) == pytest.approx(3 * 10e-3)


@pytest.mark.thinned(2)
@FIDELITIES
@pytest.mark.slow
def test_a_line_that_loses_p_a_hop_delivers_its_power(hops_of, fidelity):
    """One packet, sent once: (1 - p)^h, and hops until the first loss: (1 - (1 - p)^h) / p."""
    p, h, n = 0.2, 4, 3_000
    e = hops_of(
        mean_snr=line(h + 1), nodes=h + 1, fidelity=fidelity, arq={"kind": "none"},
        packet_error={"kind": "fixed", "loss": p}, routing={"update_s": 1e6},
    )  # fmt: skip
    for k in range(n):
        e.send(0, h, PACKET, at_ns=k * 10 * MS)
    share = np.mean([x.outcome == "delivered" for x in e.run()])
    through = (1 - p) ** h
    assert abs(share - through) < 4 * math.sqrt(through * (1 - through) / n)
    mean, most = (1 - through) / p, h
    assert abs(len(e.hops) / n - mean) < 4 * most / math.sqrt(4 * n)
    assert e.recorder.bits_transmitted == len(e.hops) * PACKET
    assert e.air.in_flight == 0


@FIDELITIES
def test_what_is_of_use_in_part_goes_on_with_what_has_come(hops_of, fidelity):
    """Of 4,000 packets (1 - p)^3 come; each hop sends those that the one before has brought."""
    p, packets = 0.3, 4_000
    e = hops_of(mean_snr=line(4), nodes=4, fidelity=fidelity, arq={"kind": "none"},
                packet_error={"kind": "fixed", "loss": p})  # fmt: skip
    e.send(0, 3, packets * PACKET, parts=True)
    (ended,) = e.run()
    assert ended.outcome == "partial"
    assert len(ended.arrived) == packets
    came = int(ended.arrived.sum())
    through = (1 - p) ** 3
    assert abs(came - packets * through) < 4 * math.sqrt(packets * through * (1 - through))
    assert ended.lost == packets - came
    sent = [row[7] // PACKET for row in e.hops]
    assert sent[0] == packets > sent[1] > sent[2] > came
    assert ended.at_ns == sum(sent) * MS
    assert e.recorder.bits_transmitted == sum(sent) * PACKET


def test_the_time_to_live_is_that_of_the_whole_way(hops_of):
    e = hops_of(mean_snr=line(4), nodes=4, ttl_s=0.025)
    e.send(0, 3, 10 * PACKET)
    (ended,) = e.run()
    assert (ended.outcome, ended.at_ns) == ("deadline", 25 * MS)
    assert [row[8] for row in e.hops] == ["delivered", "delivered", "deadline"]


def test_a_relay_that_is_off_breaks_the_way_until_the_table_is_made_anew(hops_of):
    """0 - 1 - 3 and 0 - 2 - 3; 1 goes off while it has a message, and for what comes up to 1 s."""
    power = np.full((4, 4), 1e-9)
    for i, j in ((0, 1), (1, 3), (0, 2), (2, 3)):
        power[i, j] = power[j, i] = 100.0
    e = hops_of(mean_snr=power, nodes=4, routing={"update_s": 1.0}, ttl_s=0.5)
    e.send(0, 3, 10 * PACKET)
    first = e.air._relaying.routes.path(0, 3, 0)[1]
    e.switch(first, False, 15 * MS)
    e.send(0, 3, 10 * PACKET, at_ns=900 * MS)
    e.send(0, 3, 10 * PACKET, at_ns=1_900 * MS)
    got = e.run()
    assert [x.outcome for x in got] == ["off", "off", "delivered"]
    assert [row[2] for row in e.hops if row[0] >= 1_900 * MS] == [0, 3 - first]


def test_a_sender_that_has_gone_off_loses_nothing_that_others_carry(hops_of):
    e = hops_of(mean_snr=line(4), nodes=4)
    e.send(0, 3, 10 * PACKET)
    e.switch(0, False, 15 * MS)
    assert [(x.outcome, x.at_ns) for x in e.run()] == [("delivered", 30 * MS)]


class Parting(MeanSnr):
    """A line of four that is a ring from the other side after a second."""

    moving = True

    def pair_snr(self, src, dst, time_ns):
        apart = abs(src - dst)
        return 100.0 if apart == 1 or (time_ns >= S and apart == 3) else 1e-9

    def snr(self, src, others, time_ns):
        return np.array([self.pair_snr(src, int(j), time_ns) for j in others])

    def holds_until_ns(self, src, dst, time_ns):
        return S if time_ns < S else None


def test_ways_follow_places_as_often_as_the_table_is_made(hops_of):
    e = hops_of(mean_snr=Parting(), nodes=4, routing={"update_s": 0.7})
    for at_ms in (0, 1_000, 1_400):
        e.send(0, 3, PACKET, at_ns=at_ms * MS)
    e.send(0, 3, PACKET, at_ns=650 * MS)
    took = {x.sent_ns // MS: (x.at_ns - x.sent_ns) // MS for x in e.run()}
    assert took == {0: 3, 650: 3, 1_000: 1, 1_400: 1}  # made at 0 and 1,000


def test_no_message_takes_more_hops_than_it_may(hops_of):
    e = hops_of(mean_snr=line(6), nodes=6, routing={"max_hops": 3})
    e.send(0, 3, PACKET)
    e.send(0, 4, PACKET, at_ns=S)
    assert e.air.in_reach(0, range(1, 6)) == [1, 2, 3]
    assert [x.outcome for x in e.run()] == ["delivered", "outage"]
    assert len(e.hops) == 6


def test_over_the_air_everything_is_where_it_was(hops_of):
    """Two messages cross at one relay: its half-duplex radio takes them one after the other."""
    e = hops_of(mean_snr=line(3), nodes=3)
    e.send(0, 2, 10 * PACKET)
    e.send(2, 0, 10 * PACKET)
    assert [x.outcome for x in e.run()] == ["delivered", "delivered"]
    assert e.env.now == 40 * MS
    spans = sorted((row[0], row[1]) for row in e.hops)
    assert spans[-1][1] == 40 * MS
    assert e.spent.sending_ns[1] + e.spent.receiving_ns[1] == 40 * MS


# -- metrics -------------------------------------------------------------------------------------


def test_costs_of_a_link():
    link = LinkQuality(True, 0.25, 2e-3)
    assert (Hops().cost(link), Etx().cost(link), Latency().cost(link)) == (1.0, 4.0, 8e-3)
    gone = LinkQuality(False, 0.0, 0.0)
    assert all(kind().cost(gone) == math.inf for kind in (Hops, Etx, Latency))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", ["etx", "latency", "hops"])
def test_ways_cost_as_little_as_those_of_networkx(hops_of, kind):
    """30 nodes in a square, Rayleigh fading, outage at 0 dB: ETX = exp(1 / mean SNR)."""
    rng = np.random.default_rng(5)
    places = rng.uniform(0.0, 100.0, (30, 2))
    metres = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    power = (40.0 / np.maximum(metres, 1.0)) ** 3.5
    rates = {"kind": "shannon_gap", "min_rate_bps": 1e3} if kind == "latency" else {
        "kind": "fixed", "rate_bps": 1e6}  # fmt: skip
    e = hops_of(kind, mean_snr=power, nodes=30, fading={"kind": "rayleigh"}, rate=rates)
    graph, radio = nx.DiGraph(), Radio.model_validate({"rate": rates})
    for i in range(30):
        for j in range(30):
            mean = power[i, j]
            if i == j or math.exp(-1.0 / mean) < 0.01:
                continue
            if kind == "hops":
                cost = 1.0 if mean >= 1.0 else math.inf
            elif kind == "etx":
                cost = math.exp(1.0 / mean)
            else:
                cost = math.exp(1.0 / mean) * PACKET / radio.rate.bits_per_s(mean, 20e6)
            if cost < math.inf:
                graph.add_edge(i, j, weight=cost)
    best = dict(nx.all_pairs_dijkstra_path_length(graph))
    longest = 0
    for i in range(30):
        for j in set(range(30)) - {i}:
            way = e.air._relaying.routes.path(i, j, 0)
            assert bool(way) == (j in best[i])
            cost = sum(graph.edges[hop]["weight"] for hop in pairwise(way))
            assert cost <= best[i].get(j, 0.0) * 1.02
            longest = max(longest, len(way))
    assert longest >= 4


def test_etx_takes_two_good_links_instead_of_a_bad_one(hops_of):
    """exp(1 / 0.5) = 7.4 attempts at once, 2 exp(1 / 20) = 2.1 by the relay."""
    power = np.array([[0.0, 20.0, 0.5], [20.0, 0.0, 20.0], [0.5, 20.0, 0.0]])
    keys = {"mean_snr": power, "nodes": 3, "fading": {"kind": "rayleigh"}}
    assert hops_of("etx", **keys).air._relaying.routes.path(0, 2, 0) == [0, 1, 2]
    assert hops_of("hops", **keys).air._relaying.routes.path(0, 2, 0) == [0, 1, 2]
    keys |= {"threshold_db": -4.0, "packet_error": {"kind": "logistic"}}
    assert hops_of("hops", **keys).air._relaying.routes.path(0, 2, 0) == [0, 2]


def test_cells_are_refused():
    with pytest.raises(ValueError, match="goes to a base station"):
        Radio.model_validate({"mac": {"kind": "ofdma"}, "routing": {"kind": "hops"}})


@pytest.mark.slow
def test_what_hops_took_is_what_their_messages_took(tmp_path):
    """Attempts, bits and ends, message by message, of a network with churn, fading and movement."""
    loaded = scenario.from_dict(
        {
            "horizon_s": 20.0, "seed": 4,
            "nodes": {"count": 12, "placement": "disc", "radius_m": 80.0},
            "mobility": {"kind": "random_waypoint"},
            "churn": {"kind": "exponential", "mean_on_s": 10.0, "mean_off_s": 2.0},
            "exchange": {"schedule": "poisson", "rate_hz": 0.2},
            "data": {"kind": "digits", "partition": {"kind": "iid", "train_samples": 10}},
            "model": {"kind": "mlp", "hidden": [8]}, "metrics": {"every_s": 5.0},
            "radio": {"ttl_s": 3.0, "tx_power_dbm": -5.0, "routing": {"kind": "etx"}},
            "algorithm": [{"kind": "dpsgd", "local_steps": 2}],
        }
    )  # fmt: skip
    engine.play(world.build(loaded), loaded.algorithm[0], tmp_path / "run", timing_only=True,
                check=True)  # fmt: skip
    messages = pd.read_parquet(tmp_path / "run" / "messages")
    hops = pd.read_parquet(tmp_path / "run" / "hops")
    key = ["src", "dst", "t_sent_s"]
    by_hop = hops.groupby(key).agg(
        attempts_of_hops=("attempts", "sum"), bits_of_hops=("bits_transmitted", "sum"),
        end_s=("t_end_s", "max"),
        hops=("outcome", "size"), first=("relay", "first"), last=("to", "last"),
        before=("t_begin_s", "min"),
    )  # fmt: skip
    relayed = messages.set_index(key).join(by_hop, how="inner")
    assert len(relayed) > 100
    assert (relayed.attempts == relayed.attempts_of_hops).all()
    assert (relayed.bits_transmitted == relayed.bits_of_hops).all()
    assert (relayed.t_done_s == relayed.end_s).all()
    found = relayed.reset_index()
    assert (found["first"] == found.src).all()
    arrived = found[found.outcome == "delivered"]
    assert len(arrived) > 50
    assert (arrived["last"] == arrived.dst).all()
    assert (arrived.hops >= 2).all()
    assert {"off", "delivered"} <= set(found.outcome)


def test_a_relay_withdraws_its_own_messages_alone(ether):
    """A message of node 0 waits at relay 1 behind what that one sends, with one of its own."""
    e = ether({"routing": {"kind": "hops"}}, mean_snr=line(3), nodes=3)
    e.send(0, 2, 2_000)  # at the relay after 2 ms
    e.send(1, 2, 10_000, at_ns=MS)  # from 2 ms on, drawn first or not
    e.send(1, 2, 1_000, at_ns=MS)
    found = []
    e.env.call_after(4 * MS, lambda: found.append(e.air.withdraw(1, object)))
    ended = [(x.src, x.outcome) for x in e.run()]
    assert ended.count((0, "delivered")) == 1
    assert found[0] == ended.count((1, "withdrawn")) > 0
