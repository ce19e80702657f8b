"""Level at which a radio is played whose scenario leaves it open."""

import json
import tomllib

import pytest

from netsim import engine, world
from netsim.scenario import from_dict
from netsim.world.fidelity import MOST_NODES

# sender, receiver, sender in a row: the ends are 120 m apart, and 69.8 m are heard
ROW = [[0.0, 0.0], [60.0, 0.0], [120.0, 0.0]]
NEAR = [[0.0, 0.0], [20.0, 0.0], [40.0, 0.0]]


def scenario(positions, fidelity="auto", **tables):
    radio = {
        "fidelity": fidelity,
        "carrier_hz": 5.15e9,
        "sensitivity_dbm": -82.0,
        "path_loss": {"kind": "log_distance", "exponent": 3.0, "reference_db": 46.6777},
        "fading": {"kind": "none"},
        "mac": {"kind": "csma"},
    }
    base = {
        "seed": 1,
        "horizon_s": 1.0,
        "nodes": {"count": len(positions), "placement": "given", "positions_m": positions},
        "topology": {"kind": "complete"},
        "exchange": {"schedule": "poisson", "rate_hz": 2.0},
        "data": {"kind": "digits", "partition": {"kind": "iid", "train_samples": 4}},
        "model": {"kind": "mlp", "hidden": []},
        "metrics": {"every_s": 1.0, "common_test_samples": 5},
        "algorithm": [{"kind": "local"}],
    }
    radio |= tables.pop("radio", {})
    return from_dict(base | {"radio": radio} | tables)


def level(positions, **tables):
    return world.build(scenario(positions, **tables)).fidelity


def test_hidden_senders_are_played_frame_by_frame():
    found = level(ROW)
    assert found.level == "packet"
    assert found.reason == "nodes 0 and 2 don't hear each other beside 1"
    assert level(NEAR).level == "message"


def test_a_carrier_sense_range_hides_senders():
    mac = {"kind": "csma", "carrier_sense_m": 30.0}
    assert level(NEAR, radio={"mac": mac}).level == "packet"


@pytest.mark.parametrize(("propagation_s", "expected"), [(4.9e-6, "message"), (5e-6, "packet")])
def test_who_notices_each_other_after_a_slot_is_played_frame_by_frame(propagation_s, expected):
    """4 us to notice a frame, slots of 9 us."""
    mac = {"kind": "csma", "propagation_s": propagation_s}
    found = level(NEAR, radio={"mac": mac, "sensitivity_dbm": None})
    assert found.level == expected
    stated = level(NEAR, fidelity="message", radio={"mac": mac}).remarks()
    assert len(stated) == ("propagation_s" in found.reason) == (expected == "packet")


@pytest.mark.parametrize(
    ("rate", "coherence_s", "expected"),
    [
        ({"kind": "shannon_gap", "min_rate_bps": 1e6}, 0.1, "message"),
        ({"kind": "shannon_gap", "min_rate_bps": 9e5}, 0.1, "packet"),
        ({"kind": "ofdm_80211"}, 0.0155, "message"),
        ({"kind": "ofdm_80211"}, 0.0154, "packet"),
        ({"kind": "fixed", "rate_bps": 1e4}, 0.1, "message"),
    ],
    ids=str,
)
def test_packets_that_last_about_as_long_as_a_fade_are_played_frame_by_frame(
    rate, coherence_s, expected
):
    """11,584 bits, a fade of at least eight of which is met as if it lasted."""
    radio = {
        "sensitivity_dbm": None,
        "bandwidth_hz": 2e7,
        "attempt_overhead_s": 0.0,
        "fading": {"kind": "rayleigh", "coherence_s": coherence_s},
        "rate": rate,
    }
    found = level(NEAR, radio=radio)
    assert found.level == expected
    assert ("fades" in found.reason) == (expected == "packet")
    stated = level(NEAR, fidelity="message", radio=radio).remarks()
    assert len(stated) == (expected == "packet")


def test_what_counts_message_by_message_only_is_played_so_or_remarked_on():
    mac = {"kind": "csma", "anomalous_slots": False}
    assert level(ROW, radio={"mac": mac}).level == "message"
    (said,) = level(ROW, fidelity="packet", radio={"mac": mac}).remarks()
    assert "anomalous_slots = false is of no effect" in said


def test_who_sends_to_nobody_is_not_hidden():
    """Of the row, the middle only talks to one end: the other one is never on the air."""
    topology = {"kind": "geometric", "radius_m": 59.0}
    apart = [[0.0, 0.0], [58.0, 0.0], [118.0, 0.0]]
    assert level(apart, topology=topology).level == "message"


@pytest.mark.parametrize("nodes", [MOST_NODES, MOST_NODES + 1])
def test_large_networks_are_played_message_by_message(nodes):
    row = [[60.0 * k, 0.0] for k in range(nodes)]
    assert level(row).level == ("packet" if nodes <= MOST_NODES else "message")


@pytest.mark.parametrize(
    "radio",
    [
        *({"mac": {"kind": kind}} for kind in ("orthogonal", "shared", "tdma", "aloha")),
        {"sensitivity_dbm": None},
        {"broadcast": {"kind": "repeated", "max_rounds": 2}},
        {"bursts": {"p_good_to_bad": 0.05, "p_bad_to_good": 0.3}},
    ],
    ids=str,
)
def test_what_frames_cannot_play_or_need_not_is_played_message_by_message(radio):
    assert level(ROW, radio=radio).level == "message"


def test_a_radio_that_changes_in_mid_run_is_played_message_by_message():
    changes = [{"at_s": 0.5, "set": {"radio": {"control_bits": 300}}}]
    built = world.build(scenario(ROW, changes=changes))
    assert built.fidelity.level == "message"
    assert built.later[0][1].scenario.radio.fidelity == "message"


def test_a_change_of_something_else_keeps_the_level():
    changes = [{"at_s": 0.5, "set": {"exchange": {"rate_hz": 3.0}}}]
    built = world.build(scenario(ROW, changes=changes))
    assert {built.scenario.radio.fidelity, built.later[0][1].scenario.radio.fidelity} == {"packet"}


def test_nodes_that_move_are_looked_at_all_along():
    """They begin near each other, and part on the way."""
    mobility = {"kind": "random_waypoint", "min_m_per_s": 10.0, "max_m_per_s": 20.0}
    nodes = {"count": 8, "placement": "disc", "radius_m": 150.0}
    found = level(NEAR, nodes=nodes, mobility=mobility, horizon_s=60.0)
    assert found.level == "packet"
    assert " at " in found.reason


@pytest.mark.parametrize("fidelity", ["message", "packet"])
def test_a_level_that_is_said_is_kept(fidelity):
    built = world.build(scenario(ROW, fidelity))
    assert built.fidelity[:3] == (fidelity, "the scenario says so", False)
    assert built.scenario.radio.fidelity == fidelity


@pytest.mark.slow
def test_the_run_says_the_level_and_plays_the_same_when_it_is_said(tmp_path):
    logs = {}
    for fidelity in ("auto", "packet", "message"):
        given = scenario(ROW, fidelity, radio={"control_bits": 400_000})
        given = from_dict(
            given.model_dump(exclude_unset=True, mode="json") | {"algorithm": [{"kind": "dpsgd"}]}
        )
        built = world.build(given)
        folder = tmp_path / fidelity
        found = engine.play(built, given.algorithm[0], folder=folder, timing_only=True)
        logs[fidelity] = found["event_log_sha256"]
    assert logs["auto"] == logs["packet"] != logs["message"]
    made_of = json.loads((tmp_path / "auto" / "environment.json").read_text())
    assert made_of["fidelity"]["level"] == "packet"
    assert any("frame by frame: nodes 0 and 2" in said for said in made_of["assumptions"])
    kept = tomllib.loads((tmp_path / "auto" / "scenario.toml").read_text())
    assert kept["radio"]["fidelity"] == "packet"
    said = json.loads((tmp_path / "packet" / "environment.json").read_text())
    assert not any("fidelity" in text for text in said["assumptions"])


def test_a_level_that_knows_hidden_senders_on_average_only_is_remarked_on():
    (said,) = level(ROW, fidelity="message").remarks()
    assert "nodes 0 and 2 don't hear each other beside 1" in said
    assert '"auto" plays it frame by frame' in said
    assert level(NEAR, fidelity="message").remarks() == []
    assert level(ROW, fidelity="packet").remarks() == []
