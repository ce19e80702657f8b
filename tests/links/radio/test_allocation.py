"""Shares of a cell's band that a method sets: closed forms, changes on the way, refusals."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from netsim.channels.mac.ofdma import Ofdma
from netsim.errors import ProtocolError
from netsim.links.radio.mac.allocation import Allocation

MS = 1_000_000
PACKET = 1_000
W_HZ = 1e6
SHANNON = {
    "rate": {"kind": "shannon_gap", "gap_db": 0.0, "min_rate_bps": 1e-9},
    "bandwidth_hz": W_HZ,
}


@pytest.fixture
def cell(ether):
    """An Ether whose node 0 is the base station."""

    def make(mac=None, mean_snr=100.0, nodes=4, **radio):
        keys = {"mac": {"kind": "ofdma", **(mac or {})}, **radio}
        return ether(keys, mean_snr=mean_snr, nodes=nodes, base_stations=(0,))

    return make


def snrs(*of_nodes):
    """The same in both directions between node 0 and each of the others."""
    matrix = np.ones((len(of_nodes) + 1,) * 2)
    matrix[0, 1:] = matrix[1:, 0] = of_nodes
    return matrix


def ends(e):
    return {(x.src, x.dst): x.at_ns / MS for x in e.run()}


def at(e, time_ms, *arguments):
    e.env.call_after(round(time_ms * MS) - e.env.now, lambda: e.air.allocate(*arguments))


def efficiency(snr):
    return math.log2(1.0 + snr)


@pytest.mark.parametrize("share", [0.5, 0.25, 0.9, 1.0 / 3.0])
def test_two_uplinks_end_at_their_bits_over_share_times_rate(cell, share):
    """bits / (s W log2(1 + SNR)), and nobody gets what another leaves unused."""
    e = cell(mean_snr=snrs(15.0, 3.0, 3.0), **SHANNON)
    e.air.allocate(0, True, {1: share, 2: 1.0 - share}, {})
    e.send(1, 0, 40 * PACKET)
    e.send(2, 0, 10 * PACKET)
    found = ends(e)
    assert found[1, 0] == pytest.approx(40 * PACKET / (share * W_HZ * 4.0) * 1e3, abs=1e-5)
    assert found[2, 0] == pytest.approx(10 * PACKET / ((1 - share) * W_HZ * 2.0) * 1e3, abs=1e-5)
    assert e.spent.sending_ns[1] == pytest.approx(10 * MS)  # its power over hertz stays


@given(
    bits=st.lists(st.integers(1, 60), min_size=3, max_size=3),
    snr=st.lists(st.floats(0.5, 1e3), min_size=3, max_size=3),
)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_shares_that_end_all_at_once_are_the_best(cell, bits, snr):
    """T* = sum of bits_i / (W eff_i); with any other shares the last one ends later."""
    alone_ms = [n * PACKET / (W_HZ * efficiency(x)) * 1e3 for n, x in zip(bits, snr, strict=True)]
    best_ms = sum(alone_ms)
    other = [share + 0.02 * turn for share, turn in zip([1 / 3] * 3, (1, -2, 1), strict=True)]
    for shares, is_best in (([t / best_ms for t in alone_ms], True), (other, False)):
        e = cell(mean_snr=snrs(*snr), **SHANNON)
        e.air.allocate(0, True, dict(enumerate(shares, 1)), {})
        for node, n in enumerate(bits, 1):
            e.send(node, 0, n * PACKET)
        found = list(ends(e).values())
        if is_best:
            assert found == pytest.approx([best_ms] * 3, rel=1e-6)
        else:
            assert max(found) >= best_ms * (1 - 1e-6)


def test_shares_that_change_on_the_way_add_up(cell):
    """10 packets of 1 ms alone: 8 ms at 1/4, 6 ms at 1/2, the last five alone; from 14 to 19 ms."""
    e = cell()
    e.air.allocate(0, True, {1: 0.25}, {})
    at(e, 8.0, 0, True, {1: 0.5}, {})
    at(e, 14.0, 0, True, {1: 1.0}, {})
    e.send(1, 0, 10 * PACKET)
    assert ends(e) == {(1, 0): pytest.approx(19.0, abs=1e-5)}
    assert e.spent.sending_ns[1] == pytest.approx(10 * MS, abs=5)


@given(
    shares=st.lists(st.sampled_from([0.0, 0.01, 0.2, 0.5, 1.0]), min_size=4, max_size=4),
    times=st.lists(st.floats(0.05, 9.0), min_size=4, max_size=4),
    follows=st.booleans(),
)
@example(shares=[1.0, 0.01, 0.5, 0.0], times=[0.3, 0.3, 0.3, 0.3], follows=True)
@settings(
    max_examples=16, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_has_been_sent_is_the_integral_of_the_share(cell, shares, times, follows):
    """Also through times without any share, where several changes fall into one packet, and where
    a rate that follows the SNR, here 1 Mbit/s too, is kept to a packet's end."""
    e, sent_ms, now_ms = cell(mean_snr=1.0, **(SHANNON if follows else {})), 0.0, 0.0
    end_ms = None
    e.air.allocate(0, True, {1: 0.0}, {})
    for share, lasts_ms in zip([*shares, 1.0], [*times, 1e9], strict=True):
        if now_ms:
            at(e, now_ms, 0, True, {1: share}, {})
        else:
            e.air.allocate(0, True, {1: share}, {})
        if end_ms is None and sent_ms + share * lasts_ms >= 10.0:
            end_ms = now_ms + (10.0 - sent_ms) / share
        sent_ms, now_ms = sent_ms + share * lasts_ms, now_ms + lasts_ms
    e.send(1, 0, 10 * PACKET)
    assert ends(e) == {(1, 0): pytest.approx(end_ms, abs=1e-4)}


def test_others_divide_what_is_left_and_a_node_divides_its_own(cell):
    """Downlink: 1 has half, for two messages; 2 and 3 have a quarter each; uplinks have all."""
    e = cell()
    e.air.allocate(0, False, {1: 0.5}, {})
    for _ in range(2):
        e.send(0, 1, 10 * PACKET)
    e.send(0, 2, 10 * PACKET)
    e.send(0, 3, 10 * PACKET)
    e.send(3, 0, 10 * PACKET)
    assert sorted(x.at_ns / MS for x in e.run()) == pytest.approx([10.0, 40.0, 40.0, 40.0, 40.0])


def test_the_scheduler_divides_again_when_nothing_is_allocated(cell):
    """Node 1 at 1/10 for 10 ms (1 packet), then both at 1/2: 9 packets in 18 ms."""
    e = cell()
    e.air.allocate(0, True, {1: 0.1, 2: 0.1}, {})
    at(e, 10.0, 0, True, None, {})
    e.send(1, 0, 10 * PACKET)
    e.send(2, 0, 10 * PACKET)
    assert ends(e) == {k: pytest.approx(28.0, abs=1e-5) for k in ((1, 0), (2, 0))}


def test_a_broadcast_has_what_is_left(cell):
    e = cell()
    e.air.allocate(0, False, {1: 0.75}, {})
    e.send(0, [1, 2], 10 * PACKET)
    e.send(0, 1, 10 * PACKET)
    assert sorted(x.at_ns / MS for x in e.run()) == pytest.approx([40 / 3, 40.0, 40.0])


def test_a_share_of_nothing_stands_still_until_its_time_to_live(cell):
    e = cell(ttl_s=0.05)
    e.air.allocate(0, True, {1: 0.0, 2: 1.0}, {})
    for node in (1, 2, 3):
        e.send(node, 0, 10 * PACKET)
    found = {x.src: (x.outcome, x.at_ns / MS) for x in e.run()}
    assert found == {1: ("deadline", 50.0), 2: ("delivered", 10.0), 3: ("deadline", 50.0)}


@pytest.mark.parametrize("fading", [{"kind": "none"}, {"kind": "rayleigh", "coherence_s": 0.004}])
def test_powers_scale_the_snr_of_messages_that_begin(cell, fading):
    """Without fading 4 bit/s/Hz at full power, 2 at a fifth of the SNR; what has begun keeps it."""
    ended = []
    for power in (1.0, 0.2):
        e = cell(mean_snr=snrs(15.0, 15.0, 15.0), fading=fading, **SHANNON)
        e.air.allocate(0, True, {1: 0.5}, {1: power} if power < 1.0 else {})
        at(e, 1.0, 0, True, {1: 0.5}, {1: 0.5})
        e.send(1, 0, 40 * PACKET)
        ended.append(ends(e)[1, 0])
    assert ended[1] > ended[0]
    if fading["kind"] == "none":
        assert ended == pytest.approx([20.0, 40.0], abs=1e-5)


@pytest.mark.parametrize(
    ("shares", "powers", "said"),
    [
        ({1: 0.7, 2: 0.4}, {}, "shares add up to 1.1; at most 1 is there"),
        ({9: 0.5}, {}, "there is no such node; ids are from 0 to 3"),
        ({-1: 0.5}, {}, "there is no such node"),
        ({"1": 0.5}, {}, "there is no such node"),
        ({True: 0.5}, {}, "there is no such node"),
        ({0: 0.5}, {}, "node 0 is a base station"),
        ({1: math.nan}, {}, "must be a number from 0 to 1"),
        ({1: -0.1}, {}, "must be a number from 0 to 1"),
        ({1: 1.5}, {}, "must be a number from 0 to 1"),
        ({1: "all"}, {}, "must be a number from 0 to 1"),
        ({1: None}, {}, "must be a number from 0 to 1"),
        ({1: [0.5]}, {}, "must be a number from 0 to 1"),
        ({}, {1: 0.0}, "powers.1. = 0: must be more than 0"),
        ({}, {1: 2.0}, "must be a number from 0 to 1"),
    ],
)
def test_what_can_not_be_divided_is_refused(cell, shares, powers, said):
    with pytest.raises(ProtocolError, match=said):
        cell().air.allocate(0, True, shares, powers)


def test_a_share_is_within_the_sub_channels_of_a_message(cell):
    with pytest.raises(ProtocolError, match=r"max_subchannels = 2 of 8 allows 0\.25"):
        cell({"subchannels": 8, "max_subchannels": 2}).air.allocate(0, True, {1: 0.3}, {})


@pytest.mark.parametrize(
    ("mac", "radio", "said"),
    [
        ({"kind": "csma"}, {}, r'kind = "csma" has no base stations'),
        ({"kind": "tdma"}, {}, r'kind = "tdma" has no base stations'),
        ({"scheduler": "proportional_fair"}, {}, 'scheduler = "proportional_fair" divides'),
        ({}, {"fidelity": "packet"}, 'write fidelity = "message"'),
    ],
)
def test_other_radios_are_refused_with_the_remedy(cell, mac, radio, said):
    with pytest.raises(ProtocolError, match=said):
        cell(mac, **radio).air.allocate(0, True, {1: 0.5}, {})


def test_only_a_base_station_allocates(cell):
    with pytest.raises(ProtocolError, match=r"node 2 is no base station; those are .* server: 0"):
        cell().air.allocate(2, True, {1: 0.5}, {})


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12))
@settings(max_examples=100, deadline=None)
def test_shares_divided_by_their_sum_are_never_refused(numbers):
    total = sum(numbers)
    shares = {k: x / total for k, x in enumerate(numbers, 1)} if total else {}
    allocation = Allocation(shares)
    assert allocation.problem(Ofdma(), 13, {0}) is None
    beside = sum(1.0 / allocation.medium(k, 1, Ofdma()).slowdown for k in shares)
    assert beside <= 1.0 + 1e-9
