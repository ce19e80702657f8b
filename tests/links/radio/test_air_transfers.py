"""Outcomes over the air: deadlines, parts, collisions, full queues; and what a scenario may ask."""

import math

import numpy as np
import pytest

from netsim import world
from netsim.errors import ScenarioError
from netsim.scenario import from_dict

MS = 1_000_000
PACKET = 1_000
LOSSY = {"packet_error": {"kind": "fixed", "loss": 0.3}}
FIDELITIES = pytest.mark.parametrize("fidelity", ["message", "packet"])


@FIDELITIES
@pytest.mark.parametrize("parts", [False, True])
def test_the_time_to_live_ends_a_message_with_what_has_arrived(ether, parts, fidelity):
    e = ether({"ttl_s": 0.0055, "fidelity": fidelity})
    e.send(0, 1, 10 * PACKET, parts=parts)
    (ended,) = e.run()
    assert ended.outcome == ("partial" if parts else "deadline")
    # the sixth attempt is under way
    assert (ended.attempts, ended.lost, ended.at_ns) == (6, 0, 5_500_000)
    if parts:
        assert ended.arrived.tolist() == [True] * 5 + [False] * 5
    assert e.recorder.airtime_ns == 5_500_000


def test_a_broadcast_tells_each_receiver_which_packets_it_lost(ether):
    e = ether(LOSSY, nodes=4)
    for k in range(100):
        e.send(0, [1, 2, 3], 20 * PACKET, at_ns=k * 20 * MS, parts=True)
    ended = e.run()
    assert len(ended) == 300
    lost = np.array([x.lost for x in ended])
    assert [int((~x.arrived).sum()) for x in ended if x.outcome == "partial"] == list(
        lost[lost > 0]
    )
    assert abs(lost.mean() - 6.0) < 4 * math.sqrt(20 * 0.21 / 300)
    # each receiver has losses of its own, at places of their own
    masks = np.array([x.arrived for x in ended if x.outcome == "partial"])
    assert len(np.unique(masks, axis=0)) > 250
    assert np.ptp(masks.mean(axis=0)) < 8 * math.sqrt(0.21 / len(masks))


@FIDELITIES
def test_what_fails_of_others_is_a_collision_and_what_fails_of_noise_an_outage(ether, fidelity):
    snr = np.full((6, 6), 0.0)
    snr[0, 1], snr[2, 1], snr[2, 3], snr[4, 5] = 10.0, 10.0, 10.0, 1.0
    radio = {"mac": {"kind": "shared"}, "packet_error": {"kind": "outage"}, "fidelity": fidelity}
    e = ether(radio, mean_snr=snr, nodes=6)
    e.send(0, 1, PACKET)
    e.send(2, 3, 20 * PACKET)
    e.send(4, 5, PACKET)
    assert {x.src: x.outcome for x in e.run()} == {0: "collision", 2: "delivered", 4: "outage"}


@FIDELITIES
def test_an_interferer_costs_the_attempts_that_it_meets(ether, fidelity):
    """From 2.5 to 4.5 ms: the attempts that begin at 2, 3 and 4 ms fail, and are made again."""
    snr = np.full((4, 4), 100.0)
    snr[0, 3] = 0.0
    radio = {
        "mac": {"kind": "shared"},
        "packet_error": {"kind": "outage"},
        "threshold_db": 10.0,
        "fidelity": fidelity,
    }
    e = ether(radio, mean_snr=snr, nodes=4)
    e.send(0, 1, 10 * PACKET)
    e.send(2, 3, 2 * PACKET, at_ns=2_500_000)
    ended = {x.src: x for x in e.run()}
    assert (ended[0].outcome, ended[0].attempts, ended[0].at_ns) == ("delivered", 13, 13 * MS)
    assert (ended[2].outcome, ended[2].attempts, ended[2].at_ns) == ("delivered", 2, 4_500_000)
    # three attempts at an SNR of 100 / 101, ten at 100
    assert 10 ** (ended[0].snr_db / 10) == pytest.approx((3 * 100 / 101 + 1_000) / 13)
    assert e.recorder.airtime_ns == 15 * MS


STRONG_INTERFERER = np.full((4, 4), 100.0)
STRONG_INTERFERER[0, 3] = 0.0
"""While 2 sends to 3, the SNR at 1 is 0 dB; 3 does not hear 0."""


@FIDELITIES
@pytest.mark.parametrize(("sent_ns", "end_ms", "attempts"), [(0, 14, 14), (2 * MS, 14, 12)])
def test_endless_patience_outlasts_an_interferer(ether, sent_ns, end_ms, attempts, fidelity):
    """From 1.5 to 5.5 ms nothing gets through; the attempt that is cut in at 1 ms fails, too."""
    radio = {
        "mac": {"kind": "shared"},
        "packet_error": {"kind": "outage"},
        "arq": {"kind": "unlimited"},
        "ttl_s": 1.0,
        "fidelity": fidelity,
    }
    e = ether(radio, mean_snr=STRONG_INTERFERER, nodes=4)
    e.send(0, 1, (9 if sent_ns == 0 else 8) * PACKET, at_ns=sent_ns)
    e.send(2, 3, 4 * PACKET, at_ns=1_500_000)
    ended = {x.src: x for x in e.run()}
    assert ended[0].outcome == "delivered"
    assert (ended[0].at_ns, ended[0].attempts) == (end_ms * MS, attempts)


@FIDELITIES
def test_endless_patience_with_an_outage_ends_with_the_time_to_live(ether, fidelity):
    radio = {"packet_error": {"kind": "outage"}, "arq": {"kind": "unlimited"}, "ttl_s": 0.01}
    e = ether(radio | {"fidelity": fidelity}, mean_snr=0.1)
    e.send(0, 1, 8 * PACKET)
    (ended,) = e.run()
    assert (ended.outcome, ended.attempts, ended.at_ns) == ("deadline", 10, 10 * MS)
    assert e.recorder.airtime_ns == 10 * MS


@FIDELITIES
def test_what_ends_with_its_time_to_live_has_arrived(ether, fidelity):
    e = ether({"ttl_s": 0.008, "fidelity": fidelity})
    e.send(0, 1, 8 * PACKET)
    assert [(x.outcome, x.attempts, x.at_ns) for x in e.run()] == [("delivered", 8, 8 * MS)]


@FIDELITIES
def test_an_attempt_keeps_the_worst_that_it_has_met(ether, fidelity):
    """At 1 the noise is 31 times the usual for 0.2 ms of the only attempt, then up to twice."""
    snr = np.zeros((6, 6))
    snr[0, 1] = snr[2, 3] = snr[4, 5] = 100.0
    snr[2, 1], snr[4, 1] = 30.0, 1.0
    radio = {"mac": {"kind": "shared"}, "packet_error": {"kind": "outage"}, "arq": {"kind": "none"}}
    e = ether(radio | {"fidelity": fidelity, "threshold_db": 10.0}, snr, nodes=6)
    e.send(0, 1, PACKET)
    e.send(2, 3, 200, at_ns=200_000)
    e.send(4, 5, 200, at_ns=600_000)
    assert {x.src: x.lost for x in e.run()} == {0: 1, 2: 0, 4: 0}


@FIDELITIES
@pytest.mark.parametrize("snr", [6.0, 11.0])
def test_a_collision_ruins_an_attempt_that_is_combined_with_others(ether, snr, fidelity):
    """Both send in every slot. At 6 one attempt is not enough for a threshold of 10, two are."""
    radio = {
        "mac": {"kind": "aloha", "slotted": True, "attempt_rate": 1.0},
        "arq": {"kind": "harq_chase", "max_attempts": 4},
        "packet_error": {"kind": "outage"},
        "threshold_db": 10.0,
        "fidelity": fidelity,
    }
    e = ether(radio, snr, nodes=4)
    e.send(0, 1, 8 * PACKET)
    e.send(2, 3, 9 * PACKET)
    first = e.run()[0]
    assert (first.src, first.attempts, first.lost) == (0, 32, 8)


@FIDELITIES
def test_the_channel_is_not_used_while_the_rate_is_zero(ether, fidelity):
    """Below 20 Mb/s the link waits for its next fade: 300 kb are on the air for 15 ms at most."""
    radio = {
        "fading": {"kind": "rayleigh", "coherence_s": 0.01},
        "rate": {"kind": "shannon_gap", "min_rate_bps": 2e7},
        "packet_error": {"kind": "rate_outage"},
        "bandwidth_hz": 1e7,
        "fidelity": fidelity,
    }
    for seed in (0, 1, 2, 3):
        e = ether(radio, mean_snr=10.0, seed=seed)
        e.send(0, 1, 300 * PACKET)
        (ended,) = e.run()
        assert (ended.outcome, ended.attempts) == ("delivered", 300)
        assert 0 < e.recorder.airtime_ns <= 15 * MS < ended.at_ns
        assert e.spent.sending_ns[0] == e.spent.receiving_ns[1] == e.recorder.airtime_ns
        # what is cut off while it waits has been sent so far and no farther
        cut = ether(radio, mean_snr=10.0, seed=seed)
        cut.send(0, 1, 300 * PACKET)
        cut.switch(0, False, ended.at_ns // 2)
        (off,) = cut.run()
        assert 0 <= cut.recorder.airtime_ns <= off.attempts * MS // 20
        assert cut.spent.receiving_ns[1] == cut.recorder.airtime_ns


@FIDELITIES
@pytest.mark.parametrize("kind", ["none", "abort", "hole", "unlimited"])
def test_where_there_never_is_a_rate_nothing_is_sent(ether, kind, fidelity):
    radio = {
        "rate": {"kind": "shannon_gap", "min_rate_bps": 1e6},
        "packet_error": {"kind": "outage"},
        "arq": {"kind": kind},
        "ttl_s": 1.0,
        "fidelity": fidelity,
    }
    e = ether(radio, mean_snr=1e-3)
    e.send(0, 1, 8 * PACKET)
    assert [(x.outcome, x.attempts, x.at_ns) for x in e.run()] == [("outage", 0, 0)]
    assert [e.air.bits_transmitted_by(i) for i in range(2)] == [0, 0]
    assert e.spent.bits == [0, 0]


@FIDELITIES
def test_a_fade_that_is_held_for_an_exchange_lasts_as_long_as_the_message(ether, fidelity):
    """Nodes wake up every millisecond; a message of ten is decoded as its first packet is."""
    radio = {
        "fading": {"kind": "rayleigh", "hold": "exchange"},
        "packet_error": {"kind": "outage"},
        "mac": {"kind": "shared"},
        "arq": {"kind": "none"},
        "fidelity": fidelity,
    }
    snr = np.full((4, 4), 4.0)
    snr[2, 1] = 1e-3  # an interferer that is noticed and does no harm
    e = ether(radio, mean_snr=snr, nodes=4, wakes_every_ns=MS)
    for k in range(30):
        e.send(0, 1, 10 * PACKET, at_ns=k * 20 * MS)
        e.send(2, 3, 2 * PACKET, at_ns=k * 20 * MS + 4_300_000)
    lost = [x.lost for x in e.run() if x.src == 0]
    assert set(lost) == {0, 10}


@FIDELITIES
def test_the_rate_of_a_broadcast_suits_the_channel_in_its_slot(ether, fidelity):
    """A frame of 20 ms and fades of 3 ms: the one packet is decoded or, at no rate, never sent."""
    radio = {
        "fading": {"kind": "rayleigh", "coherence_s": 0.003},
        "rate": {"kind": "shannon_gap", "min_rate_bps": 2e7},
        "packet_error": {"kind": "rate_outage"},
        "mac": {"kind": "tdma", "slot_s": 0.01},
        "fidelity": fidelity,
    }
    e = ether(radio, mean_snr=10.0)
    for k in range(50):
        e.send(0, [1], PACKET, at_ns=k * 101 * MS + 500_000)
    assert {(x.outcome, x.attempts) for x in e.run()} == {("delivered", 1), ("outage", 0)}


def test_a_message_may_outlast_any_number_of_fades_but_not_of_outages(ether, monkeypatch):
    monkeypatch.setattr("netsim.links.radio.mac.message_level.MAX_HOPELESS_BLOCKS", 20)
    radio = {
        "fading": {"kind": "rayleigh", "coherence_s": 0.005},
        "rate": {"kind": "shannon_gap", "min_rate_bps": 1e5},
        "bandwidth_hz": 1e6,
        "packet_error": {"kind": "rate_outage"},
    }
    e = ether(radio, mean_snr=100.0)
    e.send(0, 1, 1000 * PACKET)
    (ended,) = e.run()
    assert ended.outcome == "delivered"
    assert ended.at_ns > 200 * MS
    e = ether(radio, mean_snr=1e-6)
    e.send(0, 1, PACKET)
    (ended,) = e.run()
    assert (ended.outcome, ended.attempts, ended.at_ns) == ("outage", 0, 95 * MS)


def test_bursts_go_on_where_a_message_is_interrupted(ether):
    """A chain that hardly ever changes: of a message all is lost or nothing."""
    snr = np.full((4, 4), 100.0)
    radio = {
        "bursts": {"p_good_to_bad": 1e-9, "p_bad_to_good": 1e-9},
        "mac": {"kind": "shared"},
        "arq": {"kind": "none"},
    }
    e = ether(radio, mean_snr=snr, nodes=4)
    for k in range(20):
        e.send(0, 1, 20 * PACKET, at_ns=k * 30 * MS)
        for ms in range(1, 20, 4):
            e.send(2, 3, PACKET, at_ns=k * 30 * MS + ms * MS + 350_000)
    assert {x.lost for x in e.run() if x.src == 0} == {0, 20}


def test_a_full_queue_turns_messages_away_at_once(ether):
    e = ether({"queue_limit": 1}, nodes=3)
    for _ in range(3):
        e.send(0, 1, 5 * PACKET)
    e.send(2, 1, PACKET, at_ns=1)  # waits at its own radio
    got = [(x.src, x.outcome, x.at_ns) for x in e.run()]
    assert got == [
        (0, "busy", 0),
        (0, "delivered", 5 * MS),
        (0, "delivered", 10 * MS),
        (2, "delivered", 11 * MS),
    ]


def scenario(**radio):
    return {
        "horizon_s": 1.0,
        "nodes": {"count": 3},
        "exchange": {"schedule": "rounds", "interval_s": 0.5},
        "data": {
            "kind": "digits",
            "partition": {"kind": "iid", "train_samples": 20, "test_samples": 5},
        },
        "model": {"kind": "mlp", "hidden": [4]},
        "algorithm": {"kind": "fedavg"},
        "run": {"device": "cpu"},
        "radio": radio,
    }


@pytest.mark.parametrize(
    ("radio", "key"),
    [
        ({"propagation_delay": True}, r"\[radio\] propagation_delay = true"),
        ({"mac": {"kind": "csma", "carrier_sense_m": 30.0}}, r"carrier_sense_m = 30"),
    ],
)
def test_what_needs_places_says_so(radio, key):
    with pytest.raises(ScenarioError, match=key + r".*placement = \"disc\""):
        world.build(from_dict(scenario(**radio)))


@pytest.mark.slow
def test_senders_that_never_wait_are_refused():
    with pytest.raises(ScenarioError, match="collide for ever; set cw_min to at least 2"):
        from_dict(scenario(mac={"kind": "csma", "cw_min": 1, "stages": 0}))


@pytest.mark.slow
def test_a_slotted_sender_s_probability_is_at_most_one():
    with pytest.raises(ScenarioError, match="attempt_rate = 2 is the probability"):
        from_dict(scenario(mac={"kind": "aloha", "slotted": True, "attempt_rate": 2.0}))


def test_a_radio_that_never_wakes_is_refused():
    sleep = {"kind": "duty_cycle", "awake_fraction": 0.0}
    with pytest.raises(ScenarioError, match=r"awake_fraction = 0\.0: must be greater than 0"):
        from_dict(scenario(sleep=sleep))
