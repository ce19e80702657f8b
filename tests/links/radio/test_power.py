"""Transmit power control: what senders send with, what others hear, what it costs."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from netsim.channels.power.fixed import FixedPower
from netsim.channels.power.fractional import FractionalPower
from netsim.channels.power.inversion import InversionPower
from netsim.clock import Clock
from netsim.devices.availability import Availability
from netsim.devices.energy import Energy
from netsim.devices.energy.meter import EnergyMeter
from netsim.links.radio.table import Radio
from netsim.recording.recorder import Recorder
from netsim.units import NS_PER_S, db_to_linear, linear_to_db

FULL_DBM = 30.0
"""Of the nodes of `ether`, whose transmit power is 1 W."""


@pytest.mark.parametrize(
    ("loss_db", "blocks", "alpha", "dbm"),
    [
        (100.0, 1, 0.8, 0.0),  # -80 + 80
        (100.0, 10, 0.8, 10.0),  # ... + 10 log10 10
        (110.0, 1, 1.0, 23.0),  # -80 + 110, capped
        (110.0, 1, 0.0, -80.0),  # no part of the loss
        (100.0, 50, 0.6, -80.0 + 60.0 + 16.9897),
    ],
)
def test_fractional_power_is_that_of_the_standard(loss_db, blocks, alpha, dbm):
    rule = FractionalPower(p0_dbm=-80.0, alpha=alpha, resource_blocks=blocks)
    assert rule.dbm(loss_db, 23.0, -100.0) == pytest.approx(dbm, abs=1e-4)


def test_inversion_makes_up_for_the_loss_up_to_full_power():
    rule = InversionPower(target_snr_db=10.0)
    assert rule.dbm(90.0, 23.0, -94.0) == 6.0
    assert rule.dbm(120.0, 23.0, -94.0) == 23.0
    assert FixedPower().dbm(90.0, 23.0, -94.0) == 23.0


def snrs_db(radio: Radio, mean_db: float) -> dict[str, float]:
    """SNR that a link of this mean at full power has under each rule."""
    loss_db = FULL_DBM - radio.noise_dbm - mean_db
    return {
        "fixed": mean_db,
        "inversion": min(mean_db, 12.0),
        "fractional": min(FULL_DBM, -70.0 + 0.7 * loss_db) - loss_db - radio.noise_dbm,
    }


RULES = {
    "fixed": {"kind": "fixed"},
    "inversion": {"kind": "inversion", "target_snr_db": 12.0},
    "fractional": {"kind": "fractional", "p0_dbm": -70.0, "alpha": 0.7},
}


@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize("rule", RULES)
def test_links_have_the_snr_that_the_rule_gives_them(ether, rule, fidelity):
    means_db = [5.0, 12.0, 20.0, 30.0, 60.0]
    matrix = np.ones((6, 6))
    matrix[0, 1:] = [db_to_linear(mean) for mean in means_db]
    here = ether({"power": RULES[rule], "fidelity": fidelity}, matrix, nodes=6)
    for dst in range(1, 6):
        here.send(0, dst, 4_000)
    found = {ended.dst: ended.snr_db for ended in here.run()}
    want = [snrs_db(Radio(), mean)[rule] for mean in means_db]
    assert [found[dst] for dst in range(1, 6)] == pytest.approx(want, abs=1e-9)


def test_a_rate_follows_the_power(ether):
    """Shannon's rate at the target: four packets of 1000 bits at B log2(1 + 10^1.2)."""
    rate = {"kind": "shannon_gap", "gap_db": 0.0, "min_rate_bps": 1.0}
    here = ether({"power": RULES["inversion"], "rate": rate, "bandwidth_hz": 1e6}, 1e4)
    here.send(0, 1, 4_000)
    (ended,) = here.run()
    assert ended.at_ns == pytest.approx(4e9 * 1e3 / (1e6 * math.log2(1 + 10**1.2)), rel=1e-6)


def test_a_broadcast_takes_what_its_farthest_receiver_needs(ether):
    matrix = np.ones((4, 4))
    matrix[0, 1:] = [db_to_linear(mean) for mean in (40.0, 30.0, 20.0)]
    here = ether({"power": RULES["inversion"]}, matrix, nodes=4)
    here.send(0, [1, 2, 3], 4_000)
    found = {ended.dst: ended.snr_db for ended in here.run()}
    assert found == pytest.approx({1: 32.0, 2: 22.0, 3: 12.0})


@pytest.mark.parametrize("fidelity", ["message", "packet"])
@pytest.mark.parametrize("fading", ["none", "rayleigh"])
def test_interference_is_that_of_the_power_in_use(ether, fading, fidelity):
    """SINR S / (1 + I): both ends of the second link are near, so that it disturbs little."""
    wanted, loud, own = db_to_linear(20.0), db_to_linear(15.0), db_to_linear(32.0)
    matrix = np.full((4, 4), 1e-9)
    matrix[0, 1], matrix[2, 1], matrix[2, 3] = wanted, loud, own
    fades = (
        {"kind": fading, "coherence_s": 100.0, "hold": "coherence"} if fading != "none" else None
    )
    keys = {"mac": {"kind": "shared"}, "power": RULES["inversion"], "fidelity": fidelity}
    here = ether(keys | ({"fading": fades} if fades else {}), matrix, nodes=4)
    here.send(2, 3, 20_000)
    here.send(0, 1, 10_000, at_ns=1_000_000)
    found = {ended.dst: ended.snr_db for ended in here.run()}
    gain, other = (here.air._channel.gain(i, 1, 0) for i in (0, 2))
    target, turned_down = db_to_linear(12.0), db_to_linear(12.0 - 32.0)
    want = gain * target / (1.0 + other * turned_down * loud)
    assert found[1] == pytest.approx(linear_to_db(want), abs=1e-6)


def test_energy_is_that_of_the_power_in_use():
    """0.5 W radiated at a tenth of it for two seconds: 0.1 J, and taken back as it was charged."""
    clock = Clock()
    availability = Availability(clock, Recorder(None), 2, None, False)
    energy = Energy.model_validate({"radio": {"kind": "transmit"}})
    meter = EnergyMeter(clock, energy, availability, [0.5, 0.5], None, [None, None], 1)
    meter.on_air(0, [1], 0, 2 * NS_PER_S, 2 * NS_PER_S, 0.1)
    assert meter.spent_j(0, 2 * NS_PER_S) == pytest.approx(0.1)
    meter.on_air(0, [1], 2 * NS_PER_S, NS_PER_S, -NS_PER_S, 0.1)
    assert meter.spent_j(0, 2 * NS_PER_S) == pytest.approx(0.05)
    assert meter.spent_j(1, 2 * NS_PER_S) == 0.0


def test_csma_is_played_at_full_power_only():
    with pytest.raises(ValidationError, match=r'power\.kind = "fixed" or another mac'):
        Radio.model_validate({"mac": {"kind": "csma"}, "power": RULES["inversion"]})
