"""Energy of a run, computed by hand, and nodes whose batteries run empty."""

import itertools

import numpy as np
import pytest

RADIO = {
    "fading": {"kind": "none"},
    "rate": {"kind": "fixed", "rate_bps": 1e6},
    "packet_payload_bytes": 1000,
    "packet_header_bytes": 25,
    "tx_power_dbm": 20.0,
}
SENDS = """
@dataclass(frozen=True)
class Parcel(Message):
    payload: tuple = ()

def processes(node, params):
    return [on_start(node)]

def on_start(node):
    while True:
        yield node.sleep(1.0)
        if node.id == 0:
            yield node.send(1, Parcel((0.0,) * 500))  # 2,000 bytes: two packets of 1,025
        if node.id == 2:
            yield node.broadcast(Parcel((0.0,) * 250), to=[3, 4])
        yield node.train(node.initial(), steps=2)
"""
PLACES = {
    "count": 5,
    "placement": "given",
    "positions_m": [[0, 0], [30, 40], [0, 0], [10, 0], [0, 20]],
}
BUSY_S = 2 * 1025 * 8 / 1e6
SHORT_S = 1025 * 8 / 1e6


def sent(play_source, seconds=3.9, **tables):
    changed = {"nodes": PLACES, "radio": RADIO, "horizon_s": seconds} | tables
    return play_source(SENDS, "poisson", **changed)


def test_by_default_it_is_what_is_radiated(play_source):
    played = sent(play_source)
    unicasts = (played.log.src == 0).sum()
    broadcasts = (played.log.src == 2).sum() // 2
    assert unicasts == broadcasts == 3
    assert played.summary["energy_j"] == pytest.approx(0.1 * 3 * (BUSY_S + SHORT_S))
    assert played.summary["energy"]["radio_j"] == pytest.approx(played.summary["energy_j"])
    metrics = played.run.recorder.metric_rows()
    assert set(metrics["energy_j"].tolist()) <= {0.0, *np.cumsum([0.1 * BUSY_S] * 3).tolist()}


def test_the_first_order_model_by_hand(play_source):
    """16,400 bits over 50 m: 16,400 (50 nJ + 100 pJ x 2,500) = 4.92 mJ, and 0.82 mJ to receive."""
    energy = {"radio": {"kind": "first_order"}, "compute": {"kind": "per_step", "joules": 0.25}}
    played = sent(play_source, energy=energy)
    found = played.summary["energy"]
    steps = [played.run.parts[i].processor.local_steps for i in range(5)]
    training = [0.25 * n for n in steps]
    radio = [3 * 4.92e-3, 3 * 0.82e-3, 3 * 8200 * (50e-9 + 100e-12 * 400), *[3 * 8200 * 50e-9] * 2]
    assert found["per_node_j"] == pytest.approx(
        [a + b for a, b in zip(training, radio, strict=True)]
    )
    assert found["radio_j"] == pytest.approx(sum(radio))
    assert found["compute_j"] == pytest.approx(sum(training))
    assert played.summary["energy_j"] == pytest.approx(sum(radio) + sum(training))


@pytest.mark.parametrize("idle_w", [0.7, 1.1])
@pytest.mark.parametrize("battery_j", [None, 100.0])
def test_radio_states_by_hand(play_source, idle_w, battery_j):
    """Also where a radio draws less while it receives than while it waits."""
    energy = {"radio": {"kind": "radio_state", "tx_w": 1.3, "rx_w": 0.9, "idle_w": idle_w}}
    if battery_j is not None:
        energy["battery_j"] = battery_j
    found = sent(play_source, energy=energy).summary["energy"]
    busy_s = [3 * BUSY_S, 3 * BUSY_S, 3 * SHORT_S, 3 * SHORT_S, 3 * SHORT_S]
    watt = [1.3, 0.9, 1.3, 0.9, 0.9]
    by_hand = [w * b + idle_w * (3.9 - b) for w, b in zip(watt, busy_s, strict=True)]
    assert found["per_node_j"] == pytest.approx(by_hand)
    assert found["idle_j"] == pytest.approx(5 * idle_w * 3.9)
    assert sum(by_hand) == pytest.approx(found["idle_j"] + found["radio_j"])
    if battery_j is not None:
        assert list(found["left_j"].values()) == pytest.approx([battery_j - one for one in by_hand])


def test_a_processor_pays_for_the_square_of_its_clock(play_source):
    """1e-28 x 20,000 cycles x 10 samples x (1e9 Hz)^2 = 20 uJ a step."""
    compute = {"kind": "cpu", "cycles_per_sample": 2e4, "clock_hz": 1e9}
    played = sent(play_source, energy={"compute": compute})
    steps = played.summary["local_steps"]
    by_hand = 1e-28 * 2e4 * 10 * 1e18 * steps
    assert by_hand == pytest.approx(2e-5 * steps)
    assert played.summary["energy"]["compute_j"] == pytest.approx(by_hand)


def test_idling_is_free_while_off(play_source, tmp_path):
    (tmp_path / "on.csv").write_text("node,on_s,off_s\n4,0,0.5\n4,2.5,\n")
    energy = {"radio": {"kind": "radio_state", "tx_w": 0, "rx_w": 0, "idle_w": 1.0}}
    churn = {"kind": "trace", "path": str(tmp_path / "on.csv")}
    found = play_source(
        "def processes(node, params):\n    return []\n",
        nodes=PLACES,
        radio=RADIO,
        energy=energy,
        churn=churn,
        horizon_s=4.0,
    ).summary["energy"]
    assert found["per_node_j"] == pytest.approx([4.0] * 4 + [2.0])


NAPS = {"kind": "duty_cycle", "period_s": 1.0, "awake_fraction": 0.3, "phase": "aligned"}
STATES = {"kind": "radio_state", "tx_w": 1.3, "rx_w": 0.9, "idle_w": 0.7, "sleep_w": 0.1}
NO_SENDS = "def processes(node, params):\n    return []\n"


@pytest.mark.thinned(2)
@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_sleeping_radios_by_hand(play_source, fidelity):
    """Awake to 0.3 s: 0 sends to 1 from 0.2 to 0.4 s, and from 0.6 s in vain, 7 times 8 ms.

    Node 3 is always awake. Packet by packet it is the same.
    """
    nodes = PLACES | {
        "groups": [
            {"name": "battery", "count": 3},
            {"name": "mains", "count": 1, "sleep": {"kind": "none"}},
        ]
    }
    radio = RADIO | {"sleep": NAPS, "packet_header_bytes": 0, "fidelity": fidelity}
    played = play_source(
        "@dataclass(frozen=True)\nclass Parcel(Message):\n    payload: tuple = ()\n\n"
        "def processes(node, params):\n    return [on_start(node)] if node.id == 0 else []\n\n"
        "def on_start(node):\n"
        "    yield node.sleep(0.2)\n"
        "    yield node.send(1, Parcel((0.0,) * 6250))\n"
        "    yield node.sleep(0.2)\n"
        "    yield node.send(1, Parcel((0.0,) * 250))\n",
        "poisson",
        nodes=nodes,
        radio=radio,
        energy={"radio": STATES},
        horizon_s=1.0,
    )
    assert played.log.outcome.tolist() == ["delivered", "asleep"]
    found = played.summary["energy"]
    idle_j = 0.3 * 0.7 + 0.7 * 0.1
    by_hand = [
        0.256 * 1.3 + 0.2 * 0.7 + 0.544 * 0.1,
        0.2 * 0.9 + 0.2 * 0.7 + 0.6 * 0.1,
        idle_j,
        0.7,
        idle_j,
    ]
    assert found["per_node_j"] == pytest.approx(by_hand)
    assert found["idle_j"] == pytest.approx(4 * idle_j + 0.7)
    assert played.summary["messages"]["lost"] == 1


@pytest.mark.thinned(8)
@pytest.mark.parametrize("mac", ["orthogonal", "shared", "csma", "tdma"])
@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_what_a_sleeper_draws_leaves_its_battery(play, mac, fidelity):
    """Also where transmissions are interrupted, slowed down and taken back."""
    energy = {"radio": STATES, "compute": {"kind": "per_step", "joules": 0.1}, "battery_j": 1e4}
    radio = RADIO | {
        "sleep": NAPS | {"phase": "random", "period_s": 0.05},
        "fading": {"kind": "rayleigh", "coherence_s": 0.01},
        "packet_payload_bytes": 50,
        "arq": {"kind": "unlimited"},
        "ttl_s": 0.3,
        "mac": {"kind": mac},
        "fidelity": fidelity,
    }
    churn = {"kind": "exponential", "mean_on_s": 1.0, "mean_off_s": 0.3}
    played = play(
        "toy_gossip",
        "poisson",
        nodes=PLACES,
        radio=radio,
        energy=energy,
        churn=churn,
        horizon_s=9.0,
    )
    assert {"off", "deadline", "delivered"} <= set(played.log.outcome)
    found = played.summary["energy"]
    left = [1e4 - found["left_j"][str(node)] for node in range(5)]
    assert left == pytest.approx(found["per_node_j"], rel=1e-6)


def test_batteries_of_sleeping_radios_by_hand(play_source, tmp_path):
    """A period takes .3 * .7 + .7 * .1 = .28 J; node 2 is off from 0.1 to 2.2 s."""
    (tmp_path / "on.csv").write_text("node,on_s,off_s\n2,0,0.1\n2,2.2,\n")
    groups = [
        {"name": str(j), "count": 1, "battery_j": j}
        for j in (3 * 0.28 + 0.14, 3 * 0.28 + 0.23, 0.14 + 0.28)
    ]
    played = play_source(
        NO_SENDS,
        nodes=PLACES | {"groups": groups},
        radio=RADIO | {"sleep": NAPS},
        energy={"radio": STATES},
        churn={"kind": "trace", "path": str(tmp_path / "on.csv")},
        horizon_s=5.0,
    )
    found = played.summary["energy"]
    died = {one["node"]: one["t_s"] for one in found["died"]}
    # 0 while awake, 1 in a nap; 2 has drawn .07 by 0.1 s, twice as much from 2.2 to 3 s, then .21
    assert died == pytest.approx({0: 3.2, 1: 3.5, 2: 3.3}, abs=1e-7)
    assert found["per_node_j"][:3] == pytest.approx([0.98, 1.07, 0.42], abs=1e-6)
    assert found["per_node_j"][3:] == pytest.approx([5 * 0.28] * 2)


def test_a_node_dies_when_its_battery_is_empty_and_stays_dead(play_source):
    energy = {
        "radio": {"kind": "radio_state", "tx_w": 10.7, "rx_w": 0.7, "idle_w": 0.7},
        "battery_j": 2.0,
    }
    groups = [{"name": "strong", "count": 1, "battery_j": 1000.0}]
    played = sent(play_source, energy=energy, nodes=PLACES | {"groups": groups}, seconds=6.0)
    found = played.summary["energy"]
    died = {one["node"]: one["t_s"] for one in found["died"]}
    idle_s = 2.0 / 0.7
    assert died[1] == died[3] == died[4] == pytest.approx(idle_s, abs=1e-8)
    # node 2 has sent twice by then
    assert died[2] == pytest.approx((2.0 - 2 * 10.0 * SHORT_S) / 0.7, abs=1e-8)
    assert 0 not in died
    assert [one["t_s"] for one in found["died"]] == sorted(died.values())
    assert found["left_j"]["1"] == pytest.approx(0.0, abs=1e-6)
    assert found["per_node_j"][1] == pytest.approx(2.0, abs=1e-6)
    assert played.summary["power"]["off_at_end"] == 4
    late = played.log[played.log.t_done_s > idle_s]
    assert len(late)
    assert set(late.outcome) == {"off"}


def test_a_battery_may_run_empty_in_the_middle_of_a_transmission(play_source):
    energy = {
        "radio": {"kind": "radio_state", "tx_w": 100.0, "rx_w": 0, "idle_w": 0},
        "battery_j": 1.0,
    }
    played = sent(play_source, energy=energy)
    assert played.summary["energy"]["died"][0] == {"node": 0, "t_s": pytest.approx(1.01)}
    assert played.log[played.log.src == 0].outcome.tolist() == ["off"]


def test_training_may_empty_a_battery(play_source):
    energy = {"compute": {"kind": "per_step", "joules": 1.0}, "battery_j": 5.0}
    compute = {"kind": "fixed", "step_s": 0.4}
    played = play_source(
        "def processes(node, params):\n    return [on_start(node)]\n\n"
        "def on_start(node):\n    while True:\n"
        "        yield node.sleep(1.0)\n"
        "        trained = yield node.train(node.initial(), steps=2)\n"
        "        saw(node, 'trained')\n",
        energy=energy,
        compute=compute,
        horizon_s=9.0,
    )
    # trains 1.0 to 1.8, 2.8 to 3.6, 4.6 to 5.4 s at 2.5 W: 5 J are gone at 5.0 s
    assert [s.t_s for s in played.saw("trained", 0)] == [1.8, 3.6]
    assert {one["t_s"] for one in played.summary["energy"]["died"]} == {5.0}


def test_dead_nodes_are_not_waited_for(play):
    energy = {"compute": {"kind": "per_step", "joules": 1.0}}
    groups = [{"name": "weak", "count": 2, "battery_j": 3.5}]
    played = play(
        "toy_gossip",
        "rounds",
        energy=energy,
        nodes={"count": 5, "groups": groups},
        compute={"kind": "fixed", "step_s": 0.1},
        horizon_s=6.0,
    )
    assert [one["node"] for one in played.summary["energy"]["died"]] == [0, 1]
    assert played.summary["wakes"]["woke"] > 3 * 10
    pairs = set(itertools.permutations((2, 3, 4), 2))
    late = played.log[(played.log.t_sent_s > 4.5) & (played.log.outcome == "delivered")]
    assert set(zip(late.src, late.dst, strict=True)) == pairs


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (
            {"energy": {"radio": {"kind": "first_order"}}, "nodes": {"count": 5}},
            r'\[energy.radio\] kind = "first_order": pays for distances',
        ),
        (
            {"energy": {"radio": {"kind": "first_order"}}, "radio": None},
            "is about a radio, and the scenario has none",
        ),
        ({"energy": {"radio": {"kind": "radio_state", "tx_w": 1.0}}}, "rx_w: is required"),
        ({"energy": {"battery_j": 0}}, "must be at least 1e-06"),
    ],
)
def test_energy_that_makes_no_sense_is_refused(play_source, changed, problem):
    with pytest.raises(Exception, match=problem):
        sent(play_source, **changed)
