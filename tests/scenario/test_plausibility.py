"""Slips of units are remarked on, times of no tick refused, keys known by their other names."""

import pytest

from netsim import scenario
from netsim.errors import ScenarioError
from netsim.scenario import plausibility
from netsim.scenario.file import folder_name, shipped

BASE = {
    "horizon_s": 10.0,
    "nodes": {"count": 4},
    "exchange": {"schedule": "poisson", "rate_hz": 1.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp"},
    "algorithm": {"kind": "local"},
}
LOUD = {"name": "a", "count": 1, "tx_power_dbm": 90.0}
SLIPS = {
    "carrier in GHz": ({"radio": {"carrier_hz": 2.4}}, "[radio] carrier_hz = 2.4: is less than"),
    "bandwidth in MHz": ({"radio": {"bandwidth_hz": 20.0}}, "[radio] bandwidth_hz = 20.0: is less"),
    "power in mW": ({"radio": {"tx_power_dbm": 100.0}}, "[radio] tx_power_dbm = 100.0: is more"),
    "speed in km/h": (
        {"mobility": {"kind": "random_waypoint", "max_m_per_s": 400.0}},
        "[mobility] max_m_per_s = 400.0: is more than 350.0 (faster than sound)",
    ),
    "rate in Mbit/s": ({"link": {"rate_bps": 20.0}}, "[link] rate_bps = 20.0: is less than 100"),
    "latency in ms": ({"link": {"latency_s": 20.0}}, "[link] latency_s = 20.0: it is longer than"),
    "step in ms": ({"compute": {"kind": "fixed", "step_s": 15.0}}, "[compute] step_s = 15.0: it"),
    "clock in GHz": (
        {"energy": {"compute": {"kind": "cpu", "clock_hz": 2.0, "cycles_per_sample": 1e6}}},
        "[energy.compute] clock_hz = 2.0: is less",
    ),
    "period for a rate": (
        {"exchange": {"schedule": "poisson", "rate_hz": 0.01}},
        "[exchange] rate_hz = 0.01: once in 100 s",
    ),
    "group": (
        {
            "radio": {},
            "nodes": {"count": 4, "groups": [{"name": "a", "count": 1, "tx_power_dbm": 90.0}]},
        },
        "[nodes.groups.0] tx_power_dbm = 90.0: is more than 60.0",
    ),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_of_a_unit_is_remarked_on(name):
    tables, said = SLIPS[name]
    (remark,) = plausibility.remarks(scenario.from_dict({**BASE, **tables}))
    assert remark.startswith(said)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", shipped())
def test_nothing_is_remarked_of_what_ships(name):
    assert plausibility.remarks(scenario.load(name)) == []


@pytest.mark.parametrize(
    ("tables", "key"),
    [
        ({"compute": {"kind": "fixed", "step_s": 1e-12}}, "[compute] step_s"),
        ({"radio": {"mac": {"kind": "csma", "slot_s": 1e-12}}}, "[radio.mac] slot_s"),
        ({"radio": {"probe_window_s": 1e-12}}, "[radio] probe_window_s"),
        ({"link": {"latency_s": 4e-10}}, "[link] latency_s"),
        ({"link": {"ttl_s": 1e-30}}, "[link] ttl_s"),
        ({"algorithm": {"kind": "dpsgd", "max_age_s": 1e-12}}, "[algorithm] max_age_s"),
        ({"changes": [{"at_s": 1e-12, "set": {"seed": 1}}]}, "at_s"),
    ],
)
def test_a_time_that_the_clock_takes_for_none_is_refused(tables, key):
    with pytest.raises(ScenarioError, match=r"is no time for the clock") as refused:
        scenario.from_dict({**BASE, **tables})
    assert key in str(refused.value)


def test_times_that_enter_formulas_alone_may_be_below_a_tick():
    mac = {"kind": "csma", "propagation_s": 3e-10}
    scenario.from_dict({**BASE, "radio": {"mac": mac}})


@pytest.mark.parametrize(
    ("tables", "meant"),
    [
        ({"lr": 0.1}, '"learning_rate", in [training]'),
        ({"training": {"lr": 0.1}}, '"learning_rate"'),
        ({"training": {"batch": 8}}, '"batch_size"'),
        ({"nodes": {"count": 4, "clients": 4}}, '"count"'),
        ({"radio": {"frequency": 5e9}}, '"carrier_hz"'),
        ({"link": {"delay": 0.1}}, '"latency_s"'),
        ({"duration": 5.0}, '"horizon_s", at the top of the file'),
    ],
)
def test_a_key_is_known_by_its_other_names(tables, meant):
    with pytest.raises(ScenarioError) as refused:
        scenario.from_dict({**BASE, **tables})
    assert f"did you mean {meant.split(', at')[0]}" in str(refused.value)


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("my run", "my_run"),
        ("bl\u00e4nk \u00fc", "blank_u"),
        ("-dash", "dash"),
        ("..", "scenario"),
        ("a\nb\"c'", "a_b_c_"),
        ("\u65e5\u672c", "scenario"),
        ("x" * 300, "x" * 100),
        ("bad\udcff", "bad_"),
    ],
)
def test_a_scenario_file_may_have_any_name(tmp_path, stem, name):
    assert folder_name(stem) == name
    scenario.from_dict({**BASE, "name": name})
