"""Keys that are stated and that nothing reads are remarked on, and it is true of them."""

import copy

import pytest

from netsim import engine, scenario, world
from netsim.errors import ScenarioError
from netsim.scenario import unread_keys
from netsim.scenario.file import shipped
from netsim.world.remarks import remarks

RADIO = {
    "ttl_s": 1.0,
    "rate": {"kind": "fixed", "rate_bps": 1e5},
    "fading": {"kind": "rayleigh", "coherence_s": 0.05},
    "packet_error": {"kind": "exponential_snr"},
    "mean_snr_db": 5.0,
}
BASE = {
    "horizon_s": 2.0,
    "nodes": {"count": 3},
    "exchange": {"schedule": "star", "slot_s": 0.1, "slots_per_exchange": 4},
    "data": {"kind": "digits", "partition": {"kind": "iid", "train_samples": 20}},
    "model": {"kind": "mlp", "hidden": [2]},
    "metrics": {"every_s": 1.0, "common_test_samples": 5},
    "training": {"learning_rate": 0.1},
    "run": {"device": "cpu"},
    "algorithm": {"kind": "kd_pdfl"},
}
PLACED = {"nodes": {"count": 3, "placement": "disc", "radius_m": 20.0}}
ADAM = {"training": {"optimizer": "adam", "learning_rate": 0.1}}
EXPONENTIAL = {"kind": "exponential", "mean_on_s": 1.0, "mean_off_s": 0.2}
LOG_NORMAL = {"kind": "log_normal", "sigma_db": 4.0}
ALONE = {"kind": "frequency_selective", "profile": "independent"}
EVERY = {"name": "all", "count": 3, "churn": {"kind": "none"}, "battery_j": 5.0}
GROUPS = {"count": 3, "groups": [EVERY]}
WIRED = {"count": 3, "groups": [{**EVERY, "uplink_bps": 1e6}]}
CELL = {
    "nodes": {"count": 3, "groups": [{"name": "base", "count": 1, "role": "server"}]},
    "topology": {"kind": "hub", "centre": 0},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "algorithm": {"kind": "fedavg"},
    "radio": {**RADIO, "mac": {"kind": "ofdma"}},
}
STATES = {"kind": "radio_state", "tx_w": 1.0, "rx_w": 0.5, "idle_w": 0.1}


def path_loss(kind, height_m=None, **keys):
    """Tables with a path loss; `height_m`: of all nodes."""
    heights = {} if height_m is None else {"height_m": height_m}
    return {
        "nodes": {**PLACED["nodes"], **heights},
        "radio": {**RADIO, "mean_snr_db": 20.0, "path_loss": {"kind": kind, **keys}},
    }


CASES = {
    "radio.mean_snr_db": (PLACED | {"radio": {**RADIO, "mean_snr_db": 20.0}}, 40.0),
    "radio.path_loss.exponent": ({}, 4.0),
    "radio.carrier_hz": ({}, 9e8),
    "radio.noise_figure_db": ({}, 12.0),
    "radio.noise_temperature_k": ({}, 400.0),
    "radio.tx_power_dbm": ({}, 3.0),
    "radio.calibrate": ({}, "power"),
    "radio.threshold_db": ({"radio": {**RADIO, "reachable": 1.0}}, 9.0),
    "radio.probe_window_s": ({}, 0.2),
    "radio.fading.tones": ({}, 128),
    "radio.fading.coherence_s": ({"radio": {**RADIO, "fading": {"hold": "exchange"}}}, 0.7),
    "radio.routing.update_s": ({}, 0.1),
    "radio.routing.max_hops": ({}, 1),
    "radio.mac.rts_s": ({"radio": {**RADIO, "mac": {"kind": "csma"}}}, 1e-3),
    "radio.mac.cts_s": ({"radio": {**RADIO, "mac": {"kind": "csma"}}}, 1e-3),
    "nodes.radius_m": ({}, 3.0),
    "link.sharing": ({"link": {"rate_bps": 1e5}}, "fifo"),
    "link.forwarding": ({"link": {"rate_bps": 1e5}}, "stored"),
    "training.momentum": (ADAM, 0.9),
    "training.beta1": ({}, 0.5),
    "training.beta2": ({}, 0.5),
    "training.learning_rate_schedule.by": ({}, "time"),
    "algorithm.staleness.unit": ({}, "seconds"),
    "algorithm.training.momentum": (ADAM, 0.9),
    "algorithm.training.beta1": ({}, 0.5),
    "training.learning_rate": (
        {"training": {}, "algorithm": {"kind": "kd_pdfl", "training": {"learning_rate": 0.2}}},
        0.3,
    ),
    "training.batch_size": (
        {"algorithm": {"kind": "kd_pdfl", "training": {"batch_size": 5}}},
        7,
    ),
    "metrics.stages": ({"algorithm": {"kind": "kd_pdfl", "stages": ["mixed"]}}, ["received"]),
    "energy.battery_j": ({"nodes": GROUPS}, 1e-3),
    "link.uplink_bps": ({"nodes": WIRED, "link": {"latency_s": 0.01}}, 1e3),
    "churn.mean_on_s": ({"nodes": GROUPS, "churn": EXPONENTIAL}, 0.5),
    "nodes.placement": ({"link": {"rate_bps": 1e5}}, "disc"),
    "radio.shadowing.decorrelation_m": ({"radio": {**RADIO, "shadowing": LOG_NORMAL}}, 9.0),
    "radio.fading.delay_spread_s": ({"radio": {**RADIO, "fading": ALONE}}, 3e-7),
    "radio.fading.hold": ({"radio": {**RADIO, "fading": {"kind": "none"}}}, "exchange"),
    "radio.mac.average_s": (CELL, 0.1),
    "radio.mac.anomalous_slots": (
        {"radio": {**RADIO, "mac": {"kind": "csma"}, "fidelity": "packet"}},
        False,
    ),
    "radio.path_loss.altitude_m": (path_loss("air_to_ground", height_m=3.0), 40.0),
    "radio.path_loss.roof_m": (path_loss("air_to_ground"), 1.0),
    "radio.path_loss.averaged": (path_loss("air_to_ground", sight="always"), True),
    "radio.path_loss.antenna_height_m": (path_loss("two_ray", height_m=3.0), 9.0),
    "radio.path_loss.polarisation": (path_loss("two_ray"), "horizontal"),
    "radio.path_loss.base_height_m": (path_loss("umi", height_m=3.0), 9.0),
    "radio.path_loss.device_height_m": (path_loss("okumura_hata", height_m=3.0), 2.0),
    "radio.path_loss.blocker_height_m": (path_loss("v2v", sight="always"), 5.0),
    "energy.radio.sleep_w": ({"energy": {"radio": {**STATES}}}, 0.3),
    "run.actors": ({}, 3),
    "run.spill_above_gb": ({}, 1.0),
}
"""By key a scenario that does not read it, and a value for it."""
KINDS = {"fading": "rayleigh", "path_loss": "log_distance", "learning_rate_schedule": "constant"}
KINDS |= {"routing": "none", "staleness": "none"}


def tables(key, beside, value=None):
    found = copy.deepcopy({**BASE, **beside})
    if "link" not in found:
        found.setdefault("radio", copy.deepcopy(RADIO))
    *path, last = key.split(".")
    table = found
    for name in path:
        table = table.setdefault(name, {"kind": KINDS[name]} if name in KINDS else {})
        if name in KINDS:
            table.setdefault("kind", KINDS[name])
    if value is not None:
        table[last] = value
    return found


def told(found):
    return unread_keys.remarks(scenario.from_dict(found))


def hashes(found):
    made = scenario.from_dict(found)
    played = engine.play(world.build(made), made.algorithm[0])
    return played["event_log_sha256"], played["parameters_sha256"]


@pytest.mark.parametrize("key", CASES)
def test_a_key_that_nothing_reads_is_told_where_it_is_stated(key):
    beside, value = CASES[key]
    assert not any(key.split(".")[-1] in text for text in told(tables(key, beside)))
    (text,) = told(tables(key, beside, value))
    assert " has no effect: " in text
    assert "kind = " in text or f"] {key.split('.')[-1]} = " in text


@pytest.mark.thinned(16)
@pytest.mark.parametrize("key", CASES)
def test_what_is_said_to_have_no_effect_has_none(key):
    beside, value = CASES[key]
    assert hashes(tables(key, beside)) == hashes(tables(key, beside, value))


@pytest.mark.parametrize(
    ("key", "value"), [("tx_power_dbm", -40.0), ("sleep", {"kind": "duty_cycle"})]
)
def test_a_server_on_wires_has_no_radio_for_keys(key, value):
    def made(*groups):
        server = {"name": "server", "count": 1, "role": "server"}
        nodes = {"count": 4, "groups": [{**server, **groups[0]}, *groups[1:]]}
        return {**BASE, "radio": RADIO, "link": {"latency_s": 0.01}, "nodes": nodes}

    assert told(made({})) == []
    (text,) = told(made({key: value}))
    assert "[nodes.groups" in text
    assert "servers are on the wires" in text
    assert hashes(made({})) == hashes(made({key: value}))
    assert told(made({key: value}, {"name": "phones", "count": 1, key: value})) == []


LOUD = {"nodes": {"count": 3, "groups": [{"name": "a", "count": 1, "tx_power_dbm": 0.0}]}}
DOPPLER = {"kind": "rayleigh", "speed_m_per_s": 3.0}
TONES = {"kind": "rayleigh", "doppler_hz": 9.0, "tones": 128, "process": "sum_of_sinusoids"}
READ = {
    "SNR of all": ({}, {"mean_snr_db": 7.0}),
    "power, in a disc": (PLACED, {"tx_power_dbm": 3.0}),
    "power, beside that of a group": (LOUD, {"tx_power_dbm": 3.0}),
    "noise, for a sensitivity": ({}, {"noise_figure_db": 12.0, "sensitivity_dbm": -95.0}),
    "carrier, for a Doppler shift": ({}, {"carrier_hz": 9e8, "fading": DOPPLER}),
    "tones": ({}, {"fading": TONES}),
    "preset": ({}, {"preset": {"kind": "lora"}}),
    "probes": ({}, {"discovery": "probe", "probe_window_s": 0.2}),
}


@pytest.mark.parametrize("case", READ)
def test_what_is_read_is_not_remarked_on(case):
    beside, radio = READ[case]
    assert told({**BASE, **beside, "radio": {**RADIO, "mean_snr_db": 20.0, **radio}}) == []


def test_a_key_that_a_change_or_an_algorithm_reads_is_not_remarked_on():
    found = tables("radio.probe_window_s", {}, 0.2)
    assert len(told(found)) == 1
    assert told({**found, "changes": [{"at_s": 1.0, "set": {"radio.discovery": "probe"}}]}) == []
    probing = {"kind": "kd_pdfl", "name": "probing", "set": {"radio.discovery": "probe"}}
    assert told({**found, "algorithm": [{"kind": "kd_pdfl"}, probing]}) == []


def test_a_key_that_a_change_alone_states_is_told_where_nothing_reads_it():
    found = tables("radio.probe_window_s", {})
    late = {"at_s": 1.0, "set": {"radio.probe_window_s": 0.2}}
    (text,) = told({**found, "changes": [late]})
    assert "probe_window_s = 0.2 has no effect" in text
    probing = {"at_s": 0.5, "set": {"radio.discovery": "probe"}}
    assert told({**found, "changes": [probing, late]}) == []


@pytest.mark.parametrize(
    ("beside", "value", "is_told"),
    [({}, 1e4, False), ({}, 1e5, True), ({"ideal_network": True}, 1e4, True)],
)
def test_a_change_after_which_all_is_as_before_is_told(beside, value, is_told):
    change = {"at_s": 1.0, "set": {"link.rate_bps": value}}
    texts = told({**BASE, "link": {"rate_bps": 1e5}, "changes": [change], **beside})
    assert any("[[changes]] at_s = 1 has no effect" in text for text in texts) == is_told


def test_a_set_of_what_the_algorithms_own_training_states_is_refused():
    method = {"kind": "kd_pdfl", "training": {"learning_rate": 0.2}}
    own = {**method, "set": {"training.learning_rate": 0.3}}
    with pytest.raises(ScenarioError, match=r"learning_rate = 0\.3.*its own training"):
        scenario.from_dict({**BASE, "algorithm": own})
    scenario.from_dict({**BASE, "algorithm": {**method, "set": {"training.momentum": 0.3}}})


def test_the_remark_is_among_those_of_the_world():
    made = world.build(scenario.from_dict(tables("radio.tx_power_dbm", {}, 3.0)))
    assert any("tx_power_dbm = 3.0 has no effect" in text for text in remarks(made))


@pytest.mark.slow
def test_no_scenario_that_ships_states_what_nothing_reads():
    for name in shipped():
        assert unread_keys.remarks(scenario.load(name)) == [], name
