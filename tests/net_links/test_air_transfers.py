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


def test_a_full_queue_turns_messages_away_at_once(ether):
    e = ether({"queue_limit": 1}, nodes=3)
    for _ in range(3):
        e.send(0, 1, 5 * PACKET)
    e.send(2, 1, PACKET)  # waits at its own radio
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


def test_a_slotted_sender_s_probability_is_at_most_one():
    with pytest.raises(ScenarioError, match="attempt_rate = 2 is the probability"):
        from_dict(scenario(mac={"kind": "aloha", "slotted": True, "attempt_rate": 2.0}))


def test_a_radio_that_never_wakes_is_refused():
    sleep = {"kind": "duty_cycle", "awake_fraction": 0.0}
    with pytest.raises(ScenarioError, match=r"awake_fraction = 0\.0: must be greater than 0"):
        from_dict(scenario(sleep=sleep))
