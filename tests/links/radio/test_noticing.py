"""Reception of radios: sensitivity, carrier sense by power, capture, overhearing."""

import numpy as np
import pytest

from netsim.links.radio.table import Radio
from netsim.world.coverage import range_m

MS = 1_000_000
PACKET = 1_000
"""Bits of a packet, which takes a millisecond."""
ACK_NS = 44_000
"""Of CSMA, at the basic rate of 1 Mb/s."""
NOISE_DBM = Radio().noise_dbm
OFDM = {
    "carrier_hz": 5.15e9,
    "tx_power_dbm": 20.0,
    "path_loss": {"kind": "log_distance", "exponent": 3.0, "reference_db": 46.6777},
    "fading": {"kind": "none"},
    "rate": {"kind": "fixed", "rate_bps": 6e6},
    "packet_error": {"kind": "outage"},
}


@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize(("over_db", "outcome"), [(0.1, "delivered"), (-0.1, "outage")])
def test_what_is_too_weak_is_not_received(ether, fidelity, over_db, outcome):
    """20 dB over the noise, which is enough to decode; the sensitivity is just below or above."""
    radio = {"sensitivity_dbm": NOISE_DBM + 20.0 - over_db, "fidelity": fidelity}
    e = ether(radio, mean_snr=100.0)
    assert e.air.in_reach(0, [1]) == ([1] if over_db > 0 else [])
    e.send(0, 1, PACKET)
    assert [x.outcome for x in e.run()] == [outcome]


def test_sensitivity_halves_the_range_of_a_slow_rate():
    """20 dBm fall to -82 dBm at 69.8 m; 3.96 dB over the noise are left at 129.4 m."""
    threshold = 10**0.396
    decoded = range_m(Radio.model_validate(OFDM), 20.0, threshold)
    noticed = range_m(Radio.model_validate(OFDM | {"sensitivity_dbm": -82.0}), 20.0, threshold)
    assert decoded == pytest.approx(129.4, rel=0.015)
    assert noticed == pytest.approx(69.8, rel=0.015)


@pytest.mark.parametrize(("over_db", "waits"), [(0.1, True), (-0.1, False)])
def test_who_is_too_weak_is_not_waited_for(ether, over_db, waits):
    """Two pairs out of each other's reach, but for the power between the senders."""
    snr = np.kron(np.eye(2), np.full((2, 2), 1e6))
    snr[0, 2] = snr[2, 0] = 100.0
    mac = {"kind": "csma", "capture": True}
    e = ether({"mac": mac, "sensitivity_dbm": NOISE_DBM + 20.0 - over_db}, snr, nodes=4)
    for src in (0, 2):
        e.send(src, src + 1, 100 * PACKET)
    alone_ns = 100 * (MS + e.air._mac.medium(1, 4).wait_ns)
    ended = e.run()
    assert [x.outcome for x in ended] == ["delivered"] * 2
    assert all((x.at_ns > 1.8 * alone_ns) == waits for x in ended)


@pytest.mark.parametrize("capture", [False, True])
def test_a_packet_that_is_strong_enough_is_captured(ether, capture):
    """Of two that begin in one slot both survive where each receiver is next to its sender."""
    snr = np.full((4, 4), 10.0)
    for a, b in ((0, 1), (2, 3)):
        snr[a, b] = snr[b, a] = 1e4
    arq = {"kind": "hole", "max_attempts": 1}
    radio = {"mac": {"kind": "csma", "capture": capture}, "arq": arq, "threshold_db": 5.0}
    e = ether(radio | {"packet_error": {"kind": "outage"}}, snr, nodes=4)
    for src in (0, 2):
        e.send(src, src + 1, 1_000 * PACKET, parts=True)
    lost = [x.lost for x in e.run()]
    assert all(one == 0 for one in lost) if capture else min(lost) > 20


@pytest.mark.parametrize(("kind", "hears"), [("csma", True), ("shared", True), ("tdma", False)])
def test_bystanders_receive_what_they_notice(ether, kind, hears):
    """2 notices what 0 sends to 1, 3 does not; nobody hears the other channels of `orthogonal`."""
    snr = np.full((4, 4), 100.0)
    snr[0, 3] = 1.0
    e = ether({"mac": {"kind": kind}}, snr, nodes=4)
    e.send(0, 1, 10 * PACKET)
    e.run()
    answers_ns = 10 * ACK_NS if kind == "csma" else 0  # 2 and 3 notice the receiver
    assert e.spent.receiving_ns == [answers_ns, 10 * MS, 0, 0]
    assert e.spent.overheard_ns == [0, 0, (10 * MS if hears else 0) + answers_ns, answers_ns]


@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_a_radio_hears_two_messages_at_once_for_no_longer_than_they_last(ether, fidelity):
    """0 sends for 10 ms, 2 from the 5th to the 13th; who sends or receives overhears nothing."""
    radio = {"mac": {"kind": "shared"}, "arq": {"kind": "none"}, "fidelity": fidelity}
    e = ether(radio, nodes=6)
    e.off.add(5)
    for k in range(2):
        e.send(0, 1, 10 * PACKET, at_ns=k * 20 * MS)
        e.send(2, 3, 8 * PACKET, at_ns=(k * 20 + 5) * MS)
    e.run()
    assert e.spent.sending_ns[:4] == [20 * MS, 0, 16 * MS, 0]
    assert e.spent.receiving_ns[:4] == [0, 20 * MS, 0, 16 * MS]
    assert e.spent.overheard_ns[:5] == [6 * MS, 6 * MS, 10 * MS, 10 * MS, 26 * MS]
