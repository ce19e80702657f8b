"""Inputs of ns-3 equal the events of the run."""

import json

import numpy as np
import pytest

from netsim import engine, world
from netsim.console.commands.export import export
from netsim.errors import ScenarioError
from netsim.export import replays
from netsim.recording import run_folder
from netsim.registry import public_modules
from netsim.scenario import from_dict

WIFI = {
    "horizon_s": 6.0,
    "seed": 3,
    "nodes": {"count": 4, "placement": "disc", "radius_m": 40.0},
    "exchange": {"schedule": "poisson", "rate_hz": 0.5},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp", "hidden": [4]},
    "metrics": {"common_test_samples": 10},
    "algorithm": {"kind": "dpsgd"},
    "radio": {
        "rate": {"kind": "fixed", "rate_bps": 6e6},
        "packet_payload_bytes": 1464,
        "packet_header_bytes": 36,
        "attempt_overhead_s": 24e-6,
        "fading": {"kind": "none"},
        "packet_error": {"kind": "ofdm_80211", "mbps": 6},
        "path_loss": {"kind": "log_distance", "exponent": 3.2, "reference_db": 46.6777},
        "arq": {"kind": "hole"},
        "mac": {"kind": "csma", "capture": True, "rts_threshold_bits": 4000},
        "sensitivity_dbm": -82.0,
    },
}
WIRES = {name: table for name, table in WIFI.items() if name not in ("radio", "nodes")} | {
    "nodes": {"count": 3, "groups": [{"name": "fast", "count": 1, "uplink_bps": 5e6}]},
    "link": {"latency_s": 0.02, "uplink_bps": 1e6, "downlink_bps": 2e6, "slow_start": {}},
}


@pytest.fixture
def exported(tmp_path):
    """A scenario played and exported: the run folder, that of the export, `replay.json`."""

    def play(tables, step_s=None):
        scenario = from_dict(tables, "quick")
        run, out = tmp_path / "run", tmp_path / "out"
        engine.play(world.build(scenario), scenario.algorithm[0], folder=run, timing_only=True)
        _, remarks = export(run, (None, "ns3"), out, step_s, (), None)
        about = json.loads((out / "replay.json").read_text())
        told = [f"ns3 plays otherwise than the run did: {one}" for one in about["differs"]]
        said = [one for one in remarks if one.startswith("ns3 plays")]
        assert said == told, "the terminal says what the file says"
        return run, out, about

    return play


def rows(path):
    return [line.split() for line in path.read_text().splitlines() if line[0] != "#"]


def radio(**keys):
    return WIFI | {"radio": WIFI["radio"] | keys}


@pytest.mark.slow
def test_messages_are_those_of_the_log_in_the_order_of_sending(exported):
    run, out, about = exported(WIFI)
    log = run_folder.read(run, "messages")
    given = rows(out / "messages.txt")
    assert len(given) == len(log["src"]) > 3
    t_s = [float(row[0]) for row in given]
    assert t_s == sorted(t_s)
    assert sorted(t_s) == sorted(log["t_sent_s"].tolist())
    assert {(row[1], row[2]) for row in given} == {
        (str(a), str(b)) for a, b in zip(log["src"], log["dst"], strict=True)
    }
    order = np.lexsort((log["src"], log["t_sent_s"]))
    assert [float(row[4]) for row in given] == log["t_done_s"][order].tolist()
    assert [row[5] for row in given] == log["outcome"][order].tolist()
    assert [int(row[3]) for row in given] == [-(-int(b) // 8) for b in log["bits"][order]]
    assert about["program"] == "adhoc"


def test_the_radio_is_handed_on_and_nothing_differs_where_it_is_that_of_80211(exported):
    _, out, about = exported(WIFI)
    assert about["arguments"] == {
        "mode": "OfdmRate6Mbps", "payload": 1464, "header": 36, "noiseFigureDb": 7.0,
        "sensitivityDbm": -82.0, "retries": 7, "m": 0.0, "gains": 0, "exponent": 3.2,
        "referenceDb": 46.6777, "rtsBytes": 500, "stop": 6.0,
    }  # fmt: skip
    assert about["differs"] == []
    assert [float(row[1]) for row in rows(out / "nodes.txt")] == [20.0] * 4
    assert not (out / "gains.txt").exists()


def test_places_are_those_of_the_run_and_turns_are_exact(exported):
    moving = WIFI | {"mobility": {"kind": "random_waypoint", "max_m_per_s": 9.0}}
    _, out, _ = exported(moving)
    built = world.build(from_dict(moving))
    for node in range(4):
        way = [
            tuple(map(float, row[1:])) for row in rows(out / "places.txt") if row[0] == str(node)
        ]
        assert way[0][0] == 0.0
        assert way[-1][0] >= 6.0
        for t_s in (0.0, 1.7, 5.9):
            x, y = (np.interp(t_s, [p[0] for p in way], [p[k] for p in way]) for k in (1, 2))
            assert (x, y) == pytest.approx(built.track.at([node], round(t_s * 1e9))[0], abs=1e-6)


@pytest.mark.slow
def test_other_path_losses_go_as_gains(exported):
    tables = radio(shadowing={"kind": "log_normal", "sigma_db": 4.0})
    _, out, about = exported(tables)
    built = world.build(from_dict(tables))
    assert about["arguments"]["gains"] == 1
    given = rows(out / "gains.txt")
    assert len(given) == 4 * 3
    for t_s, src, dst, gain_db in given:
        snr = built.budget.mean_snr.snr(int(src), [int(dst)], 0)[0]
        heard_dbm = 20.0 + float(gain_db)
        noise_dbm = built.scenario.radio.noise_dbm
        assert (t_s, heard_dbm - noise_dbm) == ("0.0", pytest.approx(10 * np.log10(snr), abs=1e-9))


def test_what_ns3_plays_otherwise_is_said(exported):
    tables = radio(
        packet_header_bytes=0, fading={"kind": "rayleigh"}, attempt_overhead_s=1e-3,
        packet_error={"kind": "logistic"}, mac={"kind": "orthogonal"}, sensitivity_dbm=None,
        ttl_s=3.0,
    )  # fmt: skip
    _, _, about = exported(tables)
    assert about["arguments"]["sensitivityDbm"] == -1000.0
    assert about["arguments"]["m"] == 1.0
    said = "\n".join(about["differs"])
    for part in (
        "the DCF of 802.11 takes the place of mac orthogonal",
        "headers are of 36 bytes, not of 0",
        "a frame takes 0.001976 s; the run's took 0.002952 s",
        "fading is drawn anew for every frame",
        "no message is given up after ttl_s = 3",
        "NistErrorRateModel, not logistic",
    ):
        assert part in said


CHURN = {"kind": "exponential", "mean_on_s": 2.0, "mean_off_s": 2.0}
GROUP = {"name": "some", "count": 2}


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (WIFI | {"churn": CHURN}, "the run had churn exponential"),
        (WIFI | {"nodes": WIFI["nodes"] | {"groups": [GROUP | {"churn": CHURN}]}},
         "the run had churn exponential"),
        (WIFI | {"nodes": WIFI["nodes"] | {"groups": [GROUP | {"sleep": {
            "kind": "duty_cycle", "period_s": 2.0, "awake_fraction": 0.5}}]}},
         "radios never sleep"),
        (WIFI | {"energy": {"battery_j": 1e6}}, "batteries are never empty"),
        (radio(routing={"kind": "hops"}), "the run had routing hops"),
        (radio(arq={"kind": "abort"}), "the rest of its message is sent, too"),
        (radio(arq={"kind": "harq_chase"}), "do not combine the attempts"),
        (radio(mac=WIFI["radio"]["mac"] | {"slot_s": 20e-6}), "slot_s are those of 802.11a"),
        (WIRES | {"link": WIRES["link"] | {"packet_payload_bytes": 500}}, "not [link] packet_p"),
        (WIRES | {"link": {"uplink_bps": 1e6, "forwarding": "stored"}}, "packet by packet, not"),
        (WIRES | {"link": {"uplink_bps": 1e6 / 3}}, "rates are rounded to whole bit/s"),
    ],
)  # fmt: skip
def test_what_the_run_had_and_ns3_has_not_is_said_wherever_it_is_stated(exported, tables, said):
    _, _, about = exported(tables)
    assert said in "\n".join(about["differs"])


def test_broadcasts_are_said_to_go_as_messages_of_their_own(exported):
    hub = {"name": "hub", "count": 1, "role": "server"}
    run, _, about = exported(
        WIFI
        | {
            "nodes": WIFI["nodes"] | {"radius_m": 5.0, "groups": [hub]},
            "topology": {"kind": "hub"},
            "algorithm": {"kind": "client_selection", "per_round": 2},
        }
    )
    log = run_folder.read(run, "messages")
    assert (log["bits_transmitted"][log["outcome"] == "delivered"] == 0).any()
    assert "each receiver of a broadcast is sent a message of its own" in about["differs"]


def test_messages_to_nodes_that_were_off_go_out_where_the_run_sent_them(exported):
    run, out, about = exported(WIFI | {"churn": CHURN, "horizon_s": 20.0})
    log = run_folder.read(run, "messages")
    went_out = log["attempts"] > 0
    assert (log["outcome"][went_out] == "off").any()
    outcomes = sorted(row[5] for row in rows(out / "messages.txt"))
    assert outcomes == sorted(log["outcome"][went_out].tolist())
    left_out = f"{(~went_out).sum()} messages of which nothing went out are left out"
    assert (left_out in about["differs"]) == (not went_out.all())


@pytest.mark.parametrize(
    ("tables", "key", "value"),
    [
        (WIRES, "nodes.groups.fast.uplink_bps", 1e4),
        (WIRES, "link.latency_s", 1.0),
        (WIFI | {"nodes": WIFI["nodes"] | {"groups": [GROUP | {"tx_power_dbm": 20.0}]}},
         "nodes.groups.some.tx_power_dbm", 0.0),
        (WIFI, "radio.ttl_s", 1.0),
    ],
)  # fmt: skip
def test_links_that_change_in_mid_run_are_refused_whatever_states_them(
    exported, tmp_path, tables, key, value
):
    with pytest.raises(ScenarioError, match="alter links in mid-run"):
        exported(tables | {"changes": [{"at_s": 2.0, "set": {key: value}}]})
    assert not (tmp_path / "out").exists()


def test_a_carrier_sense_range_becomes_a_sensitivity(exported):
    mac = {"kind": "csma", "capture": True, "carrier_sense_m": 100.0}
    _, _, about = exported(radio(mac=mac, sensitivity_dbm=None))
    assert about["arguments"]["sensitivityDbm"] == pytest.approx(20 - 46.6777 - 32 * 2)
    assert about["differs"] == [
        "nothing weaker than the mean power at carrier_sense_m = 100 is received, either"
    ]


def test_wires_are_a_star_of_access_links(exported):
    _, out, about = exported(WIRES)
    assert about["program"] == "star"
    assert about["arguments"] == {"latency": 0.02, "window": 10, "stop": 6.0}
    assert rows(out / "nodes.txt") == [
        ["0", "5000000", "2000000"], ["1", "1000000", "2000000"], ["2", "1000000", "2000000"],
    ]  # fmt: skip


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        (radio(rate={"kind": "fixed", "rate_bps": 20e6}), "IEEE 802.11a"),
        (radio(fading={"kind": "rician"}), 'kind = "rician": ns-3 replays none'),
        (WIRES | {"link": {"rate_bps": 1e6}}, "[link] rate_bps: ns-3 replays access links"),
        (WIFI | {"run": {"log_messages": False}}, "[run] log_messages is false"),
    ],
)
def test_what_ns3_can_not_play_is_refused(exported, tmp_path, tables, problem):
    with pytest.raises(ScenarioError) as refused:
        exported(tables)
    assert problem in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_simulators_are_files():
    assert list(public_modules(replays.__name__)) == ["ns3"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"algorithm": {"kind": "local"}}, "has no messages: none had ended"),
        ({"run": {"log_messages": False}}, "has no table messages: .*log_messages is false"),
    ],
)
def test_a_run_without_messages_is_refused_with_its_own_reason(exported, tmp_path, changes, reason):
    with pytest.raises(ScenarioError, match=reason):
        exported(WIRES | changes)
    assert not (tmp_path / "out").exists()
