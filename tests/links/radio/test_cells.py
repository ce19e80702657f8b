"""Sub-channels of a cell: equal shares, proportional fairness and its gain, sums of shares."""

import itertools
import math

import numpy as np
import pytest
from pydantic import ValidationError

from netsim.errors import ProtocolError
from netsim.links.radio.mac.cells import ProportionalFair
from netsim.links.radio.table import Radio

MS = 1_000_000
PACKET = 1_000
"""Bits of a packet, which takes a millisecond alone."""
LINEAR = {"kind": "shannon_gap", "gap_db": 0.0, "min_rate_bps": 1e-9}
RAYLEIGH = {"kind": "rayleigh", "coherence_s": 0.1}


@pytest.fixture
def cell(ether):
    """An Ether whose node 0 is the base station."""

    def make(mac=None, mean_snr=100.0, nodes=6, **radio):
        keys = {"mac": {"kind": "ofdma", **(mac or {})}, **radio}
        return ether(keys, mean_snr=mean_snr, nodes=nodes, base_stations=(0,))

    return make


def times(e):
    return sorted((x.src, x.dst, x.at_ns / MS) for x in e.run())


@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_equal_shares_under_round_robin(cell, fidelity):
    e = cell(fidelity=fidelity)
    for k in (1, 2, 3):
        e.send(k, 0, 10 * PACKET)
    assert times(e) == [(k, 0, 30.0) for k in (1, 2, 3)]
    assert e.spent.sending_ns[1:4] == [10 * MS] * 3


@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_shares_grow_when_another_ends(cell, fidelity):
    """10 and 4 packets: both at half rate until 8 ms, the other 6 alone."""
    for starts_ms, end_1_ms, end_2_ms in ((0, 14.0, 8.0), (5, 14.0, 13.0)):
        e = cell(fidelity=fidelity)
        e.send(1, 0, 10 * PACKET)
        e.send(2, 0, 4 * PACKET, at_ns=starts_ms * MS)
        (_, _, one), (_, _, other) = times(e)
        assert (one, other) == pytest.approx((end_1_ms, end_2_ms), abs=1e-6)
        assert e.spent.sending_ns[1:3] == pytest.approx([10 * MS, 4 * MS], abs=2)


LOSSES = {
    "lost": {"packet_error": {"kind": "fixed", "loss": 0.4}, "arq": {"kind": "hole"}},
    "by SNR": {"rate": LINEAR, "packet_error": {"kind": "fixed", "loss": 0.4}},
    "fades": {"rate": LINEAR, "fading": {"kind": "rayleigh", "coherence_s": 3e-3}},
}


@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_airtime_is_the_integral_of_the_shares(cell, fidelity, losses):
    """Whoever comes and goes, a band that is always in use is used for all of the time, once."""
    sends = np.random.default_rng(len(losses))
    for most in (4, 1):
        radio = {"bandwidth_hz": 2e5, **LOSSES[losses]}
        e = cell({"subchannels": 4, "max_subchannels": most}, fidelity=fidelity, **radio)
        starts = np.sort(sends.uniform(0, 40 * MS, 12)).astype(int).tolist()
        for k, at_ns in enumerate([0, 0, 0, 0, 0, *starts]):
            e.send(1 + k % 5, 0, int(sends.integers(1, 12)) * PACKET // 2, at_ns=at_ns)
        ended = e.run()
        begun = sorted(x.sent_ns for x in ended)
        marks = sorted({*begun, *(x.at_ns for x in ended)})
        used_ns = 0.0
        for from_ns, to_ns in itertools.pairwise(marks):
            under_way = {x.src for x in ended if x.sent_ns <= from_ns and to_ns <= x.at_ns}
            used_ns += min(1.0, len(under_way) * most / 4) * (to_ns - from_ns)
        assert sum(e.spent.sending_ns) == pytest.approx(used_ns, abs=200)
        assert e.recorder.airtime_ns == pytest.approx(used_ns, abs=200)
        assert e.spent.receiving_ns[0] == pytest.approx(used_ns, abs=200)


@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_airtime_of_proportionally_fair_shares(cell, fidelity):
    """Messages that need 13 and 5 ms of the whole band use it for so long, in any parts."""
    mac = {"scheduler": "proportional_fair", "subchannels": 4, "max_subchannels": 3}
    e = cell(mac, fading={"kind": "none", "coherence_s": 1e-3}, fidelity=fidelity)
    e.send(1, 0, 13 * PACKET)
    e.send(2, 0, 5 * PACKET, at_ns=3 * MS)
    e.run()
    assert e.spent.sending_ns[1:3] == pytest.approx([13 * MS, 5 * MS], abs=50)


def test_one_subchannel_each(cell):
    for senders, want in ((1, 40.0), (3, 40.0), (5, 50.0)):
        e = cell({"subchannels": 4, "max_subchannels": 1})
        for k in range(1, 1 + senders):
            e.send(k, 0, 10 * PACKET)
        assert {t for *_, t in times(e)} == {want}


def test_uplink_and_downlink_have_a_band_each_and_the_base_station_sends_at_once(cell):
    e = cell()
    e.send(0, 1, 10 * PACKET)
    e.send(0, 2, 10 * PACKET)
    e.send(1, 0, 10 * PACKET)
    e.send(1, 0, 1 * PACKET)  # after its first
    assert times(e) == [(0, 1, 20.0), (0, 2, 20.0), (1, 0, 10.0), (1, 0, 11.0)]
    assert e.recorder.airtime_ns == 31 * MS


def test_a_broadcast_has_a_share_like_any(cell):
    for scheduler in ("round_robin", "proportional_fair"):
        e = cell({"scheduler": scheduler}, fading={"kind": "none", "coherence_s": 2e-3})
        e.send(0, [1, 2], 10 * PACKET)
        e.send(0, 3, 10 * PACKET)
        assert times(e) == [(0, 1, 20.0), (0, 2, 20.0), (0, 3, 20.0)]


def pool_of(e, senders, bits=10**9):
    """The pool of uplinks of some nodes that never end."""
    for k in senders:
        e.send(k, 0, bits)
    return e.air._interference._fair[0, True]


def harmonic(n):
    return sum(1.0 / k for k in range(1, n + 1))


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 5])
def test_gain_of_proportional_fairness(cell, n):
    """At rates linear in the SNR, n alike have H_n times the throughput of round robin."""
    blocks = 4_000
    mac = {"scheduler": "proportional_fair", "average_s": 100.0}
    radio = {"rate": LINEAR, "fading": RAYLEIGH, "bandwidth_hz": 1e6}
    e = cell(mac, mean_snr=1e-3, ttl_s=1e-3, **radio)
    fair = pool_of(e, range(1, n + 1))
    served, alone, counts = [], [], np.zeros(n)
    flights = fair._flights
    for block in range(500, 500 + blocks):
        rates = fair._rates(block).sum(axis=1)
        masks = [fair.allocation(block, f) for f in flights]
        served.append(sum(r * m.mean() for r, m in zip(rates, masks, strict=True)))
        alone.append(rates.mean())
        counts += [m.mean() for m in masks]
        assert sum(m.astype(int) for m in masks).max() <= 1
    gain = np.mean(served) / np.mean(alone)
    spread = math.sqrt(sum(1.0 / k**2 for k in range(1, n + 1)) / blocks)
    assert gain == pytest.approx(harmonic(n), abs=4 * spread + 0.02 * harmonic(n))
    assert counts / blocks == pytest.approx(np.full(n, 1 / n), abs=0.03)


@pytest.mark.slow
def test_a_far_node_has_as_much_of_the_time_as_a_near_one(cell):
    snr = np.full((6, 6), 1e-3)
    snr[1, 0] = 1e-2
    mac = {"scheduler": "proportional_fair", "average_s": 50.0}
    e = cell(mac, mean_snr=snr, ttl_s=1e-3, rate=LINEAR, fading=RAYLEIGH)
    fair = pool_of(e, (1, 2))
    shares = [[fair.share(b * 100 * MS, f).part for f in fair._flights] for b in range(500, 2_500)]
    assert np.mean(shares, axis=0) == pytest.approx([0.5, 0.5], abs=0.04)
    assert (np.sum(shares, axis=1) <= 1.0).all()


def test_subchannels_are_given_one_by_one_over_resource_blocks(cell):
    selective = {
        "kind": "frequency_selective", "profile": "independent", "resource_blocks": 24,
        "coherence_s": 0.1,
    }  # fmt: skip
    mac = {"scheduler": "proportional_fair", "subchannels": 12, "max_subchannels": 5}
    e = cell(mac, mean_snr=10.0, ttl_s=1e-3, rate=LINEAR, fading=selective)
    fair = pool_of(e, (1, 2, 3))
    for block in range(50):
        masks = [fair.allocation(block, f).astype(int) for f in fair._flights]
        assert sum(masks).tolist() == [1] * 12
        assert max(m.sum() for m in masks) <= 5


def test_messages_are_through_sooner_than_under_round_robin(cell):
    """5 messages over some 100 blocks: up to H_5 = 2.28 times as soon while all are under way."""
    ends = {}
    for scheduler in ("round_robin", "proportional_fair"):
        radio = {"rate": LINEAR, "fading": RAYLEIGH, "ttl_s": 1e3}
        e = cell({"scheduler": scheduler, "average_s": 1.0}, mean_snr=0.1, **radio)
        for k in range(1, 6):
            e.send(k, 0, 5_000 * PACKET)
        ended = e.run()
        assert {x.outcome for x in ended} == {"delivered"}
        ends[scheduler] = np.mean([x.at_ns for x in ended])
    assert 1.5 < ends["round_robin"] / ends["proportional_fair"] < 2.4


@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_both_fidelities_under_proportional_fairness(cell, fidelity):
    """Work is conserved without fading: turns of one block each."""
    e = cell(
        {"scheduler": "proportional_fair", "average_s": 0.1},
        fading={"kind": "none", "coherence_s": 1e-2},
        fidelity=fidelity,
    )
    for k in (1, 2):
        e.send(k, 0, 300 * PACKET)
    ended = [x.at_ns / MS for x in e.run()]
    assert ended[1] == pytest.approx(600.0, abs=1.0)
    assert 540.0 < ended[0] <= 600.0


def test_what_has_no_cell_is_refused(cell):
    e = cell()
    with pytest.raises(ProtocolError, match="neither is a base station"):
        e.send(1, 2, PACKET)
    with pytest.raises(ValidationError, match="there are 4"):
        Radio(mac={"kind": "ofdma", "subchannels": 4, "max_subchannels": 5})
    with pytest.raises(ValidationError, match="resource block"):
        Radio(
            fading={"kind": "frequency_selective", "resource_blocks": 6},
            mac={"kind": "ofdma", "subchannels": 10},
        )


def test_averages_outlive_a_change_of_the_flights(cell):
    mac = {"scheduler": "proportional_fair", "average_s": 1.0}
    e = cell(mac, mean_snr=10.0, ttl_s=1e-3, rate=LINEAR, fading=RAYLEIGH)
    fair = pool_of(e, (1, 2))
    kept = fair.averages(7)
    other = ProportionalFair(
        e.air._mac, fair._of_pair, fair._flights[:1], 100 * MS, 7 * 100 * MS, 1.0, fair._draw, fair
    )
    assert other.averages(7)[fair._flights[0]] == kept[fair._flights[0]]
    assert fair.allocation(6, fair._flights[0]) is other.allocation(6, fair._flights[0])
