"""Links that no radio has are remarked on, and none that ships or that a formula gives."""

import pytest

from netsim import scenario, world
from netsim.scenario.file import shipped
from netsim.world.remarks import MOST_BITS_PER_S_HZ, MOST_SNR_DB, remarks

NEAR = {
    "horizon_s": 10.0,
    "nodes": {"count": 2, "placement": "given", "positions_m": [[0.0, 0.0], [20.0, 0.0]]},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": {"kind": "digits"},
    "model": {"kind": "mlp"},
    "algorithm": {"kind": "dpsgd"},
}
FIXED = {"kind": "fixed", "rate_bps": 20e6}
CAPACITY = {"kind": "shannon_gap", "gap_db": 0.0, "min_rate_bps": 1e5}


def said(**radio):
    found = remarks(world.build(scenario.from_dict({**NEAR, "radio": radio})))
    return [one for one in found if one.startswith("[radio]:")]


@pytest.mark.parametrize(
    ("radio", "told"),
    [
        ({"rate": FIXED}, []),
        ({"rate": FIXED, "bandwidth_hz": 1e6}, [f"more than {MOST_BITS_PER_S_HZ:g}"]),
        ({"rate": FIXED, "tx_power_dbm": 140.0}, [f"more than {MOST_SNR_DB:g} dB"]),
        ({"rate": CAPACITY, "tx_power_dbm": 45.0}, []),
        ({"rate": CAPACITY, "tx_power_dbm": 140.0}, [f"more than {MOST_SNR_DB:g} dB"]),
    ],
)
def test_a_rate_is_remarked_on_if_it_is_stated_and_too_much_for_the_bandwidth(radio, told):
    found = said(**radio)
    assert len(found) == len(told)
    assert all(words in one for words, one in zip(told, found, strict=True))


def test_the_capacity_of_the_test_is_above_the_limit():
    built = world.build(scenario.from_dict({**NEAR, "radio": {"tx_power_dbm": 45.0}}))
    snr = float(built.budget.mean_snr.snr(0, (1,), 0)[0])
    assert 2**MOST_BITS_PER_S_HZ < snr < 10 ** (MOST_SNR_DB / 10)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in shipped() if scenario.load(name).radio])
def test_nothing_is_remarked_of_the_radios_that_ship(name):
    found = remarks(world.build(scenario.load(name)))
    assert [one for one in found if one.startswith("[radio]")] == []
