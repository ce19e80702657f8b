"""Changes in mid-run: exact at time 0 for every key, nothing before they come, no trace of none."""

from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import numpy as np
import pytest

from netsim import engine, world
from netsim.links.radio.table import Radio
from netsim.links.wired.wire import Wire
from netsim.recording import run_folder
from netsim.registry import family
from netsim.scenario import from_dict
from netsim.scenario.scheduled_changes import LASTING
from netsim.scenario.tables import Training

POISSON = {"schedule": "poisson", "rate_hz": 1.0, "slot_s": 0.5}
STAR = {"schedule": "star", "slot_s": 0.25, "slots_per_exchange": 4}
ROUNDS = {"schedule": "rounds", "interval_s": 1.5}
WIRES = {"latency_s": 0.02, "rate_bps": 2e5, "loss": 0.05, "packet_payload_bytes": 200}
RADIO = {
    "mean_snr_db": 12.0,
    "threshold_db": 5.0,
    "packet_payload_bytes": 200,
    "rate": {"kind": "fixed", "rate_bps": 2e5},
    "fading": {"kind": "rayleigh", "coherence_s": 0.05},
}
PLACED = {"nodes": {"count": 6, "placement": "disc", "radius_m": 80.0}}
SHARED = {"radio": {**RADIO, "mac": {"kind": "shared"}}}
CSMA = {"radio": {**RADIO, "mac": {"kind": "csma"}}}
HUB = {
    "nodes": {
        "count": 6,
        "groups": [{"name": "c", "count": 5}, {"name": "s", "count": 1, "role": "server"}],
    },
    "topology": {"kind": "hub"},
    "algorithm": {"kind": "fedavg"},
}
KD_PDFL = {"exchange": STAR, "algorithm": {"kind": "kd_pdfl", "timeout_s": 0.4}}
SPENT = {"energy": {"radio": {"kind": "transmit"}}}
BATTERIES = {"energy": {"battery_j": 2.0, "radio": {"kind": "transmit"}}}

BASES: dict[str, dict[str, Any]] = {
    "wires": {"link": WIRES},
    "plain wires": {"link": {"latency_s": 0.02, "rate_bps": 2e5}},
    "ideal": {},
    "access": {"link": {"uplink_bps": 2e5, "downlink_bps": 2e5, "latency_s": 0.01}},
    "access, fifo": {"link": {"uplink_bps": 2e5, "latency_s": 0.01, "sharing": "fifo"}},
    "radio": {"radio": RADIO, **SPENT},
    "placed": {"radio": RADIO | {"tx_power_dbm": -5.0}, **PLACED, **SPENT},
    "shared": SHARED,
    "csma": CSMA,
    "hidden": {
        **PLACED,
        "radio": {
            **CSMA["radio"],
            "fidelity": "message",  # frames can't change in mid-run
            "mac": {"kind": "csma", "carrier_sense_m": 60},
        },
    },
    "tdma": {"radio": {**RADIO, "mac": {"kind": "tdma"}}},
    "aloha": {"radio": {**RADIO, "mac": {"kind": "aloha"}}},
    "packets": {"radio": {**RADIO, "fidelity": "packet"}},
    "radio star": {"radio": RADIO, **KD_PDFL},
    "repeated": {"radio": {**RADIO, "broadcast": {"kind": "repeated"}}, **KD_PDFL},
    "minstrel": {
        "radio": {
            **RADIO,
            "rate": {"kind": "minstrel"},
            "packet_error": {"kind": "ofdm_80211"},
        }
    },
    "fair cells": {
        **HUB,
        "radio": {**RADIO, "mac": {"kind": "ofdma", "scheduler": "proportional_fair"}},
    },
    "cells": {**HUB, "radio": {**RADIO, "mac": {"kind": "ofdma"}}},
    "hybrid": {**HUB, "topology": {"kind": "complete"}, "radio": RADIO, "link": WIRES},
    "hybrid, peers": {
        "nodes": HUB["nodes"],
        "radio": RADIO,
        "link": WIRES,
        "algorithm": {"kind": "dpsgd"},
    },
    "batteries": {"radio": {**RADIO, "tx_power_dbm": 20.0}, **BATTERIES},
    "churn": {"churn": {"kind": "exponential", "mean_on_s": 5.0, "mean_off_s": 2.0}, "link": WIRES},
    "star": {"link": WIRES, **KD_PDFL},
    "rounds": {"exchange": ROUNDS, "link": WIRES},
    "quick rounds": {"exchange": {"schedule": "rounds", "interval_s": 0.05}, "link": WIRES},
    "periodic": {"exchange": {"schedule": "periodic", "period_s": 1.0}, "link": WIRES},
    "groups": {
        "nodes": {"count": 6, "groups": [{"name": "a", "count": 2, "uplink_bps": 1e5}]},
        "link": {"latency_s": 0.01, "downlink_bps": 2e5},
    },
    "loud group": {
        "nodes": {**PLACED["nodes"], "groups": [{"name": "a", "count": 2, "tx_power_dbm": 0.0}]},
        "radio": RADIO | {"tx_power_dbm": -5.0},
        **SPENT,
    },
}

CASES: list[tuple[str, str, Any]] = [
    ("wires", "link.latency_s", 0.2),
    ("wires", "link.jitter_s", 0.1),
    ("wires", "link.rate_bps", 5e4),
    ("ideal", "link.rate_bps", 5e4),
    ("wires", "link.uplink_bps", 1e5),
    ("plain wires", "link.uplink_bps", 1e5),
    ("wires", "link.downlink_bps", 1e5),
    ("access", "link.sharing", "fifo"),
    ("access, fifo", "link.sharing", "max_min"),
    ("access", "link.forwarding", "stored"),
    ("wires", "link.trace", {"uplink": "trace.csv", "assign": "order"}),
    ("wires", "link.backbone", {"path": "net.txt", "rate_bps": 1e5, "latency_s": 0.01}),
    ("wires", "link.latency_matrix", {"path": "rtt.txt", "unit": "ms"}),
    ("wires", "link.loss", 0.4),
    ("plain wires", "link.bursts", {"p_good_to_bad": 0.3, "p_bad_to_good": 0.3}),
    ("wires", "link.packet_payload_bytes", 50),
    ("wires", "link.packet_header_bytes", 40),
    ("access", "link.slow_start", {"initial_window_segments": 1}),
    ("wires", "link.ttl_s", 0.07),
    ("star", "link.acknowledged", False),
    ("star", "link.control_bits", 40_000),
    ("wires", "link.arq", {"kind": "hole"}),
    ("churn", "link.loss", 0.4),
    ("groups", "nodes.groups.0.uplink_bps", 4e5),
    ("groups", "nodes.groups.0.downlink_bps", 5e4),
    ("loud group", "nodes.groups.0.tx_power_dbm", -12.0),
    ("placed", "radio.carrier_hz", 5e9),
    ("placed", "radio.bandwidth_hz", 4e7),
    ("placed", "radio.tx_power_dbm", -12.0),
    ("batteries", "radio.tx_power_dbm", 26.0),
    ("placed", "radio.noise_figure_db", 12.0),
    ("placed", "radio.noise_temperature_k", 900.0),
    ("radio", "radio.mean_snr_db", 8.0),
    ("radio", "radio.threshold_db", 9.0),
    ("placed", "radio.sensitivity_dbm", -85.0),
    ("placed", "radio.reachable", 2.0),
    ("placed", "radio", {"reachable": 2.0, "calibrate": "power"}),
    ("radio", "radio.packet_payload_bytes", 50),
    ("radio", "radio.packet_header_bytes", 40),
    ("radio", "radio.attempt_overhead_s", 0.01),
    ("radio star", "radio.control_bits", 40_000),
    ("radio", "radio.ttl_s", 0.05),
    ("radio", "radio.queue_limit", 0),
    ("placed", "radio.propagation_delay", True),
    ("radio star", "radio.discovery", "probe"),
    ("radio star", "radio", {"discovery": "probe", "probe_window_s": 0.2}),
    ("placed", "radio.path_loss", {"kind": "log_distance", "exponent": 4.0}),
    ("placed", "radio.shadowing", {"kind": "log_normal", "sigma_db": 6.0}),
    ("placed", "radio.power", {"kind": "inversion", "target_snr_db": 10.0}),
    ("radio", "radio.fading", {"kind": "rician", "k_factor_db": 6.0}),
    ("radio", "radio.fading.hold", "exchange"),
    ("radio", "radio.rate.rate_bps", 5e4),
    ("radio", "radio.rate", {"kind": "shannon_gap", "min_rate_bps": 1e4}),
    ("radio", "radio.packet_error", {"kind": "fixed", "loss": 0.2}),
    ("radio", "radio.arq", {"kind": "abort", "max_attempts": 1}),
    ("radio star", "radio.broadcast", {"kind": "repeated", "feedback_bits": 100}),
    ("repeated", "radio.broadcast", {"kind": "once"}),
    ("radio", "radio.preset", {"kind": "ble"}),
    ("radio", "radio.mac", {"kind": "shared"}),
    ("shared", "radio.mac", {"kind": "csma"}),
    ("csma", "radio.mac", {"kind": "orthogonal"}),
    ("csma", "radio.mac", {"kind": "tdma"}),
    ("tdma", "radio.mac", {"kind": "aloha"}),
    ("placed", "radio.mac", {"kind": "tdma_reuse", "interference_m": 40.0}),
    ("placed", "radio.routing", {"kind": "etx"}),
    ("aloha", "radio.mac", {"kind": "orthogonal"}),
    ("fair cells", "radio.mac.subchannels", 2),
    ("cells", "radio.mac.scheduler", "proportional_fair"),
    ("radio", "radio.bursts", {"p_good_to_bad": 0.3, "p_bad_to_good": 0.3}),
    ("csma", "radio.mac.cw_min", 255),
    ("hidden", "radio.mac.carrier_sense_m", 500.0),
    ("shared", "radio.mean_snr_db", 20.0),
    ("packets", "radio.mean_snr_db", 8.0),
    ("minstrel", "radio.rate.window_s", 0.5),
    ("minstrel", "radio.bandwidth_hz", 1e7),
    ("hybrid", "link.loss", 0.5),
    ("hybrid, peers", "radio.mean_snr_db", 6.0),
    ("wires", "exchange.rate_hz", 0.5),
    ("wires", "exchange", {"schedule": "periodic", "period_s": 0.7, "slot_s": 0.5}),
    ("star", "exchange.slots_per_exchange", 3),
    ("rounds", "exchange.interval_s", 2.5),
    ("quick rounds", "exchange.deadline_s", 0.05),
    ("periodic", "exchange.period_s", 0.8),
    ("periodic", "exchange.drift", 0.2),
]
"""A base, a key and the value that it changes to."""

UNSEEN = ("link.acknowledged", "radio.mac.subchannels")
"""Keys that make no difference to these algorithms and so few messages."""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The files that some values name, in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trace.csv").write_text("trace,time_s,mbps\na,0,0.1\na,2,0.02\na,3,0.1\n")
    (tmp_path / "rtt.txt").write_text(
        "\n".join(" ".join(str(0 if i == j else 10 + i + j) for j in range(6)) for i in range(6))
    )
    (tmp_path / "net.txt").write_text("0 1\n1 2\n2 0\n")
    return tmp_path


def tables(base: dict[str, Any]) -> dict[str, Any]:
    return {
        "horizon_s": 12.0,
        "nodes": {"count": 6},
        "exchange": POISSON,
        "data": {
            "kind": "digits",
            "validation": 0.2,
            "partition": {"kind": "iid", "train_samples": 20, "test_samples": 5},
        },
        "model": {"kind": "mlp", "hidden": [4]},
        "compute": {"kind": "fixed", "step_s": 0.01},
        "metrics": {"every_s": 4.0, "common_test_samples": 5},
        "run": {"device": "cpu"},
        "algorithm": {"kind": "dpsgd"},
    } | base


def laid(into: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Tables with one key of another value, as `--set` lays it over them."""
    first, _, rest = key.partition(".")
    if isinstance(into, list):
        return [laid(v, rest, value) if str(i) == first else v for i, v in enumerate(into)]
    old = into.get(first)
    if rest:
        return {**into, first: laid(old if old is not None else {}, rest, value)}
    if isinstance(value, dict) and isinstance(old, dict):
        tag = next((t for t in ("kind", "schedule") if t in value), None)
        if tag is None or value[tag] == old.get(tag):
            value = {**old, **value}
    return {**into, first: value}


def played(described: dict[str, Any], changes: Any = (), folder: Any = None, timing: bool = True):
    scenario = from_dict({**described, "changes": list(changes)} if changes else described)
    return engine.play(world.build(scenario), scenario.algorithm[0], folder, timing_only=timing)


def outcome(summary: dict[str, Any]) -> dict[str, Any]:
    """All of a summary that tells what happened."""
    kept = ("event_log_sha256", "messages", "delay", "wakes", "staleness", "power", "counts")
    return {key: summary.get(key) for key in kept} | {"energy_j": summary["energy_j"]}


@cache
def undisturbed(base: str) -> dict[str, Any]:
    """The outcome of a base that nothing changes; many cases are set against it."""
    return outcome(played(tables(BASES[base])))


@pytest.mark.thinned(120)
@pytest.mark.parametrize(("base", "key", "value"), CASES, ids=[f"{b}-{k}" for b, k, _ in CASES])
def test_a_change_at_time_0_gives_the_run_of_the_changed_scenario(files, base, key, value):
    described = tables(BASES[base])
    changed = played(laid(described, key, value))
    found = played(described, [{"at_s": 0.0, "set": {key: value}}])
    assert outcome(found) == outcome(changed)
    if key not in UNSEEN:
        assert undisturbed(base) != outcome(changed), "the case shows nothing"


def test_every_key_of_links_and_schedules_is_tried():
    tried = {key for _, key, _ in CASES}
    tried |= {f"{key}.{inner}" for _, key, v in CASES if isinstance(v, dict) for inner in v}
    keys = {f"radio.{key}" for key in Radio.model_fields}
    keys |= {f"link.{key}" for key in Wire.model_fields}
    for schedule in family("netsim.schedules", "schedule").values():
        keys |= {f"exchange.{key}" for key in schedule.model_fields}
    below = {key.rpartition(".")[0] for key in tried}
    lasting = {k for k in keys if any(fnmatchcase(k, p.removesuffix(".*")) for p in LASTING)}
    assert keys - tried - below - lasting == set()


NOTHING = {
    "link": {"link.ttl_s": 1e6},
    "radio": {"radio.queue_limit": 10**9},
    "rounds": {"exchange.deadline_s": 1e6},
}


@pytest.mark.thinned(96)
@pytest.mark.parametrize("at_s", [0.0, 2.75, 7.0])
@pytest.mark.parametrize("base", [name for name in BASES if name != "cells"])
def test_a_change_that_changes_nothing_leaves_no_trace(base, at_s):
    described = tables(BASES[base])
    keys = {}
    for table, assignments in NOTHING.items():
        if table in described or base == table or (table == "link" and "radio" not in described):
            keys |= assignments
    with_change = played(described, [{"at_s": at_s, "set": keys}])
    assert outcome(with_change) == undisturbed(base)


LOGS = {}


def undisturbed_log(base, folder):
    """The message log of a base that nothing changes."""
    if base not in LOGS:
        played(tables(BASES[base]), folder=folder)
        LOGS[base] = run_folder.read(folder, "messages")
    return LOGS[base]


@pytest.mark.thinned(64)
@pytest.mark.parametrize("at_s", [2.75, 4.0])
@pytest.mark.parametrize(
    ("base", "key", "value"), CASES[::3], ids=[f"{b}-{k}" for b, k, _ in CASES[::3]]
)
def test_nothing_differs_before_a_change(files, base, key, value, at_s):
    described = tables(BASES[base])
    summary = played(described, [{"at_s": at_s, "set": {key: value}}], files / "b")
    ended = summary["messages"]
    assert ended["sent"] == sum(
        ended[k] for k in ("delivered", "partial", "lost", "expired", "withdrawn")
    )
    logs = [undisturbed_log(base, files / "a"), run_folder.read(files / "b", "messages")]
    before = [{k: v[log["t_done_s"] < at_s] for k, v in log.items()} for log in logs]
    assert len(before[0]["src"]) > 0
    for column in before[0]:
        np.testing.assert_array_equal(before[0][column], before[1][column], err_msg=column)


def test_messages_on_the_air_end_as_they_began():
    """At 1 kbit/s a model of 314 parameters takes 10 s; the rate changes at 4 s."""
    slow = {"radio": {"rate": {"kind": "fixed", "rate_bps": 1e3}, "fading": {"kind": "none"}}}
    described = tables(slow | {"horizon_s": 40.0, "nodes": {"count": 2}})
    plain = played(described)
    changed = played(described, [{"at_s": 4.0, "set": {"radio.rate.rate_bps": 1e6}}])
    assert plain["delay"]["max_s"] > 9.0
    assert changed["delay"]["max_s"] > 9.0
    assert changed["delay"]["p50_s"] < 1.0


def test_flows_under_way_have_the_new_capacity_from_the_change_on(tmp_path):
    """After a second the capacity is halved: what is left of the message takes twice as long."""
    bits = 32 * (65 * 4 + 5 * 10)
    schedule = {"schedule": "periodic", "period_s": 30.0, "slot_s": 0.5}
    link = {"uplink_bps": bits / 2.0}
    described = tables({"link": link, "nodes": {"count": 2}, "exchange": schedule})
    described["horizon_s"] = 40.0
    played(described, folder=tmp_path / "a")
    begun_s = run_folder.read(tmp_path / "a", "messages")["t_sent_s"][0]
    change = {"at_s": float(begun_s) + 1.0, "set": {"link.uplink_bps": bits / 4.0}}
    played(described, [change], tmp_path / "b")
    alone_s, changed_s = (run_folder.read(tmp_path / name, "messages")["age_s"][0] for name in "ab")
    assert alone_s == pytest.approx(2.0, rel=0.01)
    assert changed_s == pytest.approx(1.0 + 2.0 * (alone_s - 1.0), abs=1e-8)


def test_changes_add_up():
    described = tables(BASES["wires"])
    twice = [
        {"at_s": 3.0, "set": {"link.loss": 0.5, "exchange.rate_hz": 0.5}},
        {"at_s": 6.0, "set": {"link.latency_s": 0.5}},
        {"at_s": 9.0, "set": {"link.loss": 0.05}},
    ]
    whole = played(described, twice)
    assert outcome(whole) != outcome(played(described, twice[:2]))
    at_once = [{"at_s": 3.0, "set": {**twice[0]["set"]}}, twice[1], twice[2]]
    assert outcome(played(described, at_once)) == outcome(whole)
    assert [c["at_s"] for c in whole["changes"]] == [3.0, 6.0, 9.0]


# -- Params and training ---------------------------------------------------------------------------

PARAMS: list[tuple[str, dict[str, Any], str, Any]] = [
    ("kd_pdfl", {"exchange": STAR}, "mu1", 5.0),
    ("kd_pdfl", {"exchange": STAR}, "step", "norm"),
    ("kd_pdfl", {"exchange": STAR, "link": {"latency_s": 0.02}}, "timeout_s", 0.005),
    ("dpfl", {"exchange": ROUNDS}, "budget", 1),
    ("dpfl", {"exchange": ROUNDS}, "initial_epochs", 2),
    ("dpfl", {"exchange": ROUNDS}, "period", 2),
    ("pfedgraph", {"exchange": ROUNDS}, "lam", 0.9),
    ("pfedgraph", {"exchange": ROUNDS}, "steps", 3),
    ("pfedgraph", {"exchange": POISSON, "link": {"latency_s": 0.02}}, "max_age_s", 0.01),
    ("mapl", {"exchange": ROUNDS}, "temperature", 1.0),
    ("l2c", {"exchange": ROUNDS}, "mixing_learning_rate", 0.9),
    ("dpsgd", {"exchange": ROUNDS}, "local_epochs", 2),
    ("fedavg", {"exchange": ROUNDS}, "local_epochs", 2),
]
QUICK = {"dpfl": {"initial_epochs": 1, "local_epochs": 1}, "pfedgraph": {"steps": 2}}


def results(summary: dict[str, Any]) -> tuple[Any, ...]:
    return summary["event_log_sha256"], summary["parameters_sha256"], summary["accuracy"]


def learning(kind: str, base: dict[str, Any], **params: Any) -> dict[str, Any]:
    short = {"horizon_s": 5.0, "metrics": {"every_s": 2.5, "common_test_samples": 5}}
    return tables({**base, "algorithm": {"kind": kind, **QUICK.get(kind, {}), **params}} | short)


@pytest.mark.thinned(24)
@pytest.mark.parametrize(
    ("kind", "base", "key", "value"), PARAMS, ids=[f"{k}-{p}" for k, _, p, _ in PARAMS]
)
def test_params_changed_at_time_0_give_the_run_with_these_params(kind, base, key, value):
    plain = learning(kind, base)
    change = {"at_s": 0.0, "set": {f"algorithm.{key}": value}}
    found = played(plain, [change], timing=False)
    assert results(found) == results(played(learning(kind, base, **{key: value}), timing=False))
    assert found["changes"][0]["unread"] == []


@pytest.mark.slow
@pytest.mark.thinned(2)
@pytest.mark.parametrize(("key", "value"), [("temperature", 1.0), ("augmentation.flip", 0.0)])
def test_work_that_was_asked_for_before_is_of_the_values_before(key, value):
    """Params are handed to work that is carried out later: the models at 2.5 s must not differ."""
    plain = learning("mapl", {"exchange": ROUNDS}, local_epochs=1)
    change = {"at_s": 2.6, "set": {f"algorithm.{key}": value}}
    short = plain | {"horizon_s": 2.6, "metrics": {"every_s": 2.6, "common_test_samples": 5}}
    whole = plain | {"metrics": {"every_s": 2.6, "common_test_samples": 5}}
    a = played(whole, timing=False)
    b = played(whole, [change], timing=False)
    assert a["parameters_sha256"] != b["parameters_sha256"]
    assert a["event_log_sha256"] == b["event_log_sha256"]
    assert played(short, timing=False)["accuracy"] is not None


@pytest.mark.slow
def test_a_change_that_no_process_reads_is_told():
    """Without compression DPFL's first epochs are over before the change."""
    plain = learning("dpfl", {"exchange": ROUNDS})
    change = {"at_s": 3.0, "set": {"algorithm.initial_epochs": 7}}
    found = played(plain, [change], timing=False)
    assert found["changes"] == [
        {"at_s": 3.0, "set": {"algorithm.initial_epochs": 7}, "unread": ["initial_epochs"]}
    ]
    assert results(found) == results(played(plain, timing=False))


TRAINING = {
    "learning_rate": 0.5,
    "momentum": 0.5,
    "weight_decay": 0.1,
    "clip_norm": 0.1,
    "beta1": 0.5,
    "beta2": 0.9,
    "learning_rate_schedule": {"kind": "exponential", "gamma": 0.5},
}


def test_every_key_of_training_is_tried_or_lasts():
    lasting = {key.removeprefix("training.") for key in LASTING if key.startswith("training.")}
    assert set(Training.model_fields) == lasting | set(TRAINING)


@pytest.mark.thinned(18)
@pytest.mark.parametrize("where", ["training", "algorithm.training"])
@pytest.mark.parametrize("key", TRAINING)
def test_training_changed_at_time_0_is_that_of_the_changed_scenario(key, where):
    kind = {"optimizer": "adam"} if key.startswith("beta") else {}
    plain = learning("dpsgd", {"exchange": ROUNDS, "training": kind}, local_epochs=2)
    change = {"at_s": 0.0, "set": {f"{where}.{key}": TRAINING[key]}}
    changed = plain | {"training": {**kind, key: TRAINING[key]}}
    found = played(plain, [change], timing=False)
    assert results(found) == results(played(changed, timing=False))
    assert results(found) != results(played(plain, timing=False))


@pytest.mark.slow
def test_a_learning_rate_of_the_nodes_follows():
    plain = learning("dpfl", {"exchange": ROUNDS})
    change = {"at_s": 2.0, "set": {"training.learning_rate": 1e-9}}
    assert results(played(plain, [change], timing=False)) != results(played(plain, timing=False))


def test_a_scenario_is_not_touched_by_playing_it():
    described = learning("kd_pdfl", {"exchange": STAR})
    described["changes"] = [{"at_s": 1.0, "set": {"algorithm.mu1": 5.0}}]
    scenario = from_dict(described)
    runs = [engine.play(world.build(scenario), scenario.algorithm[0]) for _ in range(2)]
    assert results(runs[0]) == results(runs[1])
    assert scenario.algorithm[0].params.mu1 != 5.0


BUSY = {
    **PLACED,
    "radio": {**RADIO, "tx_power_dbm": 5.0, "rate": {"kind": "fixed", "rate_bps": 3e4}},
    "energy": {"battery_j": 3.0, "radio": {"kind": "transmit"}},
    "churn": {"kind": "exponential", "mean_on_s": 8.0, "mean_off_s": 1.0},
}
STEPS: list[dict[str, Any]] = [
    {"radio.mac.kind": "shared"},
    {"radio.tx_power_dbm": 0.0},
    {"radio.mac.kind": "csma"},
    {"radio.fading.kind": "none"},
    {
        "radio.mac.kind": "csma",
        "radio.mac.carrier_sense_m": 50.0,
        "radio.packet_payload_bytes": 100,
    },
    {"radio.mac.kind": "orthogonal"},
    {"radio.broadcast": {"kind": "repeated"}, "radio.ttl_s": 3.0},
    {"radio.mac.kind": "aloha"},
    {"radio.mac.kind": "tdma", "radio.fading.kind": "rayleigh"},
    {"radio.mac.kind": "shared", "radio.tx_power_dbm": 10.0, "radio.broadcast.kind": "once"},
    {"radio.rate": {"kind": "minstrel"}, "radio.packet_error": {"kind": "ofdm_80211"}},
    {"radio.mac.kind": "csma", "radio.fading.kind": "none"},
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dpsgd", "kd_pdfl"])
def test_every_message_ends_once_however_often_a_busy_radio_changes(kind):
    base = BUSY | (KD_PDFL if kind == "kd_pdfl" else {})
    described = tables(base) | {"horizon_s": 20.0}
    changes = [{"at_s": 1.0 + 1.37 * i, "set": keys} for i, keys in enumerate(STEPS)]
    found = played(described, changes)
    ended = found["messages"]
    assert ended["sent"] == sum(
        ended[k] for k in ("delivered", "partial", "lost", "expired", "withdrawn")
    )
    assert ended["delivered"] > 0
    assert len(found["outcomes"]) > 0
    assert found["energy"]["radio_j"] > 0.0
