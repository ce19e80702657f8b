"""Radios between the nodes and wires to a server, in one scenario."""

from math import log, log10

import pandas as pd
import pytest

from netsim import engine, world
from netsim.errors import ScenarioError
from netsim.links.hybrid import HybridLink
from netsim.scenario import from_dict, load, to_toml

GROUPS = [{"name": "server", "count": 1, "role": "server", "downlink_bps": 5e4}]
"""Its access carries 50 kbit/s: a model takes 0.2 s."""


def tables(*algorithms, **changed):
    return {
        "horizon_s": 5.9,
        "nodes": {"count": 6, "groups": GROUPS},
        "exchange": {"schedule": "rounds", "interval_s": 2.0},
        "radio": {"mean_snr_db": 20.0, "rate": {"kind": "fixed", "rate_bps": 1e6}},
        "link": {"latency_s": 0.05},
        "data": {
            "kind": "digits",
            "partition": {"kind": "iid", "train_samples": 20, "test_samples": 5},
        },
        "model": {"kind": "mlp", "hidden": [4]},
        "compute": {"kind": "fixed", "step_s": 0.01},
        "metrics": {"every_s": 3.0, "common_test_samples": 5},
        "run": {"device": "cpu"},
        "algorithm": [{"kind": kind} for kind in algorithms],
    } | changed


def play(scenario, folder):
    made = world.build(scenario)
    found = {}
    for entry in scenario.algorithm:
        summary = engine.play(made, entry, folder / entry.name)
        found[entry.name] = summary, pd.read_parquet(folder / entry.name / "messages")
    return found


@pytest.mark.slow
def test_a_server_over_the_backhaul_beside_peers_over_the_air(tmp_path):
    found = play(from_dict(tables("fedavg", "dpsgd")), tmp_path)
    summary, log = found["fedavg"]
    # five models of 310 parameters and a size share the server's downlink: all are there after
    # 0.9952 s and the latency; the answers have latency alone
    up, down = log[log.dst == 0], log[log.src == 0]
    assert len(up) == len(down) == 15
    assert (up.t_done_s - up.t_sent_s).tolist() == pytest.approx([5 * 9952 / 5e4 + 0.05] * 15)
    assert (down.t_done_s - down.t_sent_s).tolist() == pytest.approx([0.05] * 15)
    assert log.snr_db.isna().all()
    assert summary["energy_j"] == 0.0
    assert summary["topology"]["servers_left_out"] == 0
    summary, log = found["dpsgd"]
    assert 0 not in set(log.src) | set(log.dst)
    assert log.snr_db.notna().any()
    assert summary["energy_j"] > 0.0
    assert summary["topology"] == {
        "links": 10,
        "components": 1,
        "largest_component": 5,
        "isolated_nodes": 0,
        "servers_left_out": 1,
    }
    assert summary["counts"]["messages_in_flight"] == 0


def test_the_resolved_scenario_runs_again(tmp_path):
    path = tmp_path / "again.toml"
    path.write_text(to_toml(from_dict(tables("fedavg"))))
    again = load(str(path))
    assert again.radio is not None
    assert again.link is not None
    assert again.nodes.groups[0].downlink_bps == 5e4


def test_a_message_takes_the_link_of_its_ends(tmp_path):
    scenario = from_dict(tables("fedavg"))
    run = engine.Simulation(world.build(scenario), scenario.algorithm[0], None, False, None)
    link = run.link
    assert isinstance(link, HybridLink)
    assert link.in_reach(0, [1, 2, 3]) == [1, 2, 3]
    assert 0 in link.in_reach(1, [0, 2, 3])
    run.devices.availability.die(3)
    assert link.off == link.radio.off == link.wires.off == {3}


RADIO = {"mean_snr_db": 20.0, "rate": {"kind": "fixed", "rate_bps": 1e6}}


@pytest.mark.parametrize("keys", [{"kind": "tdma"}, {"kind": "tdma_reuse", "interference_m": 1e3}])
def test_a_server_on_wires_has_no_slot(keys):
    """Five of six nodes have a radio: frames of five slots, each slot one node's."""
    placed = {"count": 6, "groups": GROUPS, "placement": "disc", "radius_m": 10.0}
    radio = {"rate": RADIO["rate"], "mac": keys}
    scenario = from_dict(tables("dpsgd", radio=radio, nodes=placed))
    run = engine.Simulation(world.build(scenario), scenario.algorithm[0], None, False, None)
    assert run.link.radio._slots == 5
    assert set(run.link.radio._slot_of) == {1, 2, 3, 4, 5}
    assert sorted(run.link.radio._slot_of.values()) == [0, 1, 2, 3, 4]


def test_a_server_on_wires_is_not_among_those_that_a_radio_reaches():
    """Two of four other radios: under Rayleigh fading a threshold of ln(4 / 2) of the mean SNR."""
    scenario = from_dict(tables("dpsgd", radio=RADIO | {"reachable": 2.0}))
    assert world.build(scenario).threshold_db == pytest.approx(20.0 + 10.0 * log10(log(4 / 2)))
    with pytest.raises(ScenarioError, match=r"\[radio\] reachable = 4: must be less .* radio, 4"):
        world.build(from_dict(tables("dpsgd", radio=RADIO | {"reachable": 4.0})))


@pytest.mark.parametrize("keys", [{"kind": "tdma"}, {"kind": "tdma_reuse", "interference_m": 1e3}])
def test_fewer_slots_than_radios_are_refused_also_in_a_change(keys):
    placed = {"count": 6, "groups": GROUPS, "placement": "disc", "radius_m": 10.0}

    def build(slots, **more):
        radio = {"rate": RADIO["rate"], "mac": keys | {"slots": slots}}
        return world.build(from_dict(tables("dpsgd", radio=radio, nodes=placed, **more)))

    build(5)
    with pytest.raises(ScenarioError, match=r"\[radio.mac\] slots = 4: is less than the 5"):
        build(4)
    later = [{"at_s": 2.0, "set": {"radio.mac.slots": 4}}]
    with pytest.raises(ScenarioError, match=r"\[\[changes\]\] at_s = 2: \[radio.mac\] slots = 4"):
        build(5, changes=later)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"nodes": {"count": 5}}, r'\[link\]: stands beside \[radio\], and no node has role "serv'),
        ({"link": None}, r"downlink_bps is read only with a \[link\]"),
    ],
)
def test_what_does_not_fit_together_is_said(changed, says):
    with pytest.raises(ScenarioError, match=says):
        from_dict(tables("fedavg", **changed))
