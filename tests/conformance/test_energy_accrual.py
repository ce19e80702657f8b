"""Energy and airtime while messages and local steps are under way: counted up to now, not ahead."""

import numpy as np
import pandas as pd
import pytest

PLACES = {"count": 4, "placement": "given", "positions_m": [[0, 0], [30, 40], [0, 0], [10, 0]]}
RADIO = {
    "fading": {"kind": "rayleigh", "coherence_s": 0.5},
    "rate": {"kind": "fixed", "rate_bps": 6e3},
    "packet_payload_bytes": 100,
    "arq": {"kind": "unlimited"},
    "tx_power_dbm": 20.0,
}
STATES = {"kind": "radio_state", "tx_w": 1.3, "rx_w": 0.9, "idle_w": 0.1, "sleep_w": 0.02}
NAPS = {"kind": "duty_cycle", "period_s": 0.7, "awake_fraction": 0.6}
CHURN = {"kind": "exponential", "mean_on_s": 4.0, "mean_off_s": 1.0}


def rows(played):
    """Metric rows by node, and the rows of the whole network."""
    metrics = pd.DataFrame(played.run.recorder.metric_rows())
    folder = played.run.recorder._folder
    return metrics[metrics.metric == "accuracy"], pd.read_parquet(folder / "traffic")


@pytest.mark.thinned(8)
@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize("mac", ["orthogonal", "shared", "csma", "tdma"])
def test_energy_and_airtime_never_fall_and_end_at_the_summary(play, mac, fidelity):
    radio = RADIO | {"mac": {"kind": mac}, "fidelity": fidelity, "sleep": NAPS, "ttl_s": 4.0}
    played = play(
        "toy_gossip",
        {"schedule": "poisson", "rate_hz": 0.5},
        nodes=PLACES,
        radio=radio,
        energy={"radio": STATES, "compute": {"kind": "per_step", "joules": 0.3}, "battery_j": 9.0},
        compute={"kind": "fixed", "step_s": 0.5},
        churn=CHURN,
        metrics={"every_s": 0.37},
        horizon_s=14.0,
    )
    metrics, traffic = rows(played)
    assert {"off", "deadline", "delivered"} & set(played.log.outcome)
    assert metrics.energy_j.max() <= 9.0
    for node, own in metrics.groupby("node"):
        assert np.diff(own.energy_j).min() >= -1e-12
        assert own.energy_j.iloc[-1] == pytest.approx(
            played.summary["energy"]["per_node_j"][node], rel=1e-9
        )
    assert np.diff(traffic.airtime_s).min() >= 0
    assert np.diff(traffic.bits_transmitted).min() >= 0
    assert traffic.airtime_s.iloc[-1] == played.summary["messages"]["airtime_s"]
    assert traffic.bits_transmitted.iloc[-1] == played.summary["messages"]["bits_transmitted"]
    energy = played.summary["energy"]
    assert sum(energy["per_node_j"]) == pytest.approx(played.summary["energy_j"], rel=1e-12)
    by_cause = energy["radio_j"] + energy["idle_j"] + energy["compute_j"]
    assert by_cause == pytest.approx(played.summary["energy_j"], rel=1e-8)
    for node, left_j in energy["left_j"].items():
        assert left_j + energy["per_node_j"][int(node)] == pytest.approx(9.0, rel=1e-8)


SENDS = """
@dataclass(frozen=True)
class Parcel(Message):
    payload: tuple = ()

def processes(node, params):
    return [on_start(node)]

def on_start(node):
    node.publish(node.initial(), "mixed")
    yield node.sleep(1.0)
    if node.id == 0:
        yield node.send(1, Parcel((0.0,) * 1500))  # 8 s at 6 kbit/s
    if node.id == 2:
        yield node.train(node.initial(), steps=8)
"""
LONG = RADIO | {"fading": {"kind": "none"}, "packet_header_bytes": 0, "arq": {"kind": "hole"}}


def test_a_message_and_a_step_under_way_count_in_part(play_source):
    """0.1 W from 1 s to 9 s; 8 steps of 0.25 J from 1 s to 9 s."""
    played = play_source(
        SENDS,
        nodes=PLACES,
        radio=LONG,
        energy={"compute": {"kind": "per_step", "joules": 0.25}},
        compute={"kind": "fixed", "step_s": 1.0},
        metrics={"every_s": 1.0},
        horizon_s=5.0,
    )
    metrics, traffic = rows(played)
    by_node = {node: own.energy_j.tolist() for node, own in metrics.groupby("node")}
    assert by_node[0] == pytest.approx([0, 0, 0.1, 0.2, 0.3, 0.4])
    assert by_node[2] == pytest.approx([0, 0, 0.25, 0.5, 0.75, 1.0])
    assert traffic.airtime_s.tolist() == pytest.approx([0, 0, 1, 2, 3, 4])
    assert played.summary["energy_j"] == pytest.approx(1.4)
    assert played.summary["messages"]["airtime_s"] == pytest.approx(4.0)


def test_a_battery_never_shows_more_than_it_held(play_source):
    """1 J: gone 0.8 s after the sender began at 1.25 W, and in the middle of the second step."""
    played = play_source(
        SENDS,
        nodes=PLACES,
        radio=LONG,
        energy={
            "radio": {"kind": "radio_state", "tx_w": 1.25, "rx_w": 0.0, "idle_w": 0.0},
            "compute": {"kind": "per_step", "joules": 0.7},
            "battery_j": 1.0,
        },
        compute={"kind": "fixed", "step_s": 1.0},
        metrics={"every_s": 0.25},
        horizon_s=12.0,
    )
    metrics, _ = rows(played)
    assert metrics.energy_j.max() <= 1.0
    assert played.summary["energy"]["per_node_j"] == pytest.approx([1.0, 0.0, 1.0, 0.0])
    assert max(played.summary["energy"]["per_node_j"]) <= 1.0
    died = {one["node"]: one["t_s"] for one in played.summary["energy"]["died"]}
    assert died == pytest.approx({0: 1.8, 2: 1.0 + 1.0 / 0.7})


@pytest.mark.thinned(2)
@pytest.mark.parametrize("step_s", [0.0, 1.0])
def test_a_step_that_a_battery_cannot_pay_takes_what_is_left(play_source, step_s):
    played = play_source(
        SENDS,
        nodes=PLACES,
        radio=LONG,
        energy={"compute": {"kind": "per_step", "joules": 0.06}, "battery_j": 0.05},
        compute={"kind": "fixed", "step_s": step_s},
        horizon_s=12.0,
    )
    found = played.summary["energy"]
    assert found["per_node_j"] == pytest.approx([0.05, 0.0, 0.05, 0.0])
    assert max(found["per_node_j"]) <= 0.05
    assert found["radio_j"] + found["compute_j"] == pytest.approx(0.1)
