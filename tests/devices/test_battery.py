"""Batteries: what is left, and when nothing is."""

import numpy as np
import pytest

from netsim.channels.sleep import Rhythm
from netsim.clock import Clock
from netsim.devices.availability import Availability
from netsim.devices.energy import Energy
from netsim.devices.energy.battery import Battery
from netsim.devices.energy.harvest import supply
from netsim.devices.energy.harvest.constant import Constant
from netsim.devices.energy.loads import Load
from netsim.devices.energy.meter import EnergyMeter
from netsim.recording.recorder import Recorder
from netsim.rng import Streams

S = 1_000_000_000


def test_a_battery_that_only_idles():
    battery = Battery(10.0, standing_w=2.0)
    assert battery.empty_ns(0) == 5 * S
    assert battery.left_j(2 * S) == 6.0
    battery.set_standing_power(0.0)
    assert battery.empty_ns(3 * S) is None
    assert battery.left_j(3 * S) == 6.0


def test_loads_overlap():
    battery = Battery(10.0, standing_w=1.0)
    battery.draw(Load(1 * S, 3 * S, 2.0))
    battery.draw(Load(2 * S, 4 * S, 0.5))
    # drawn by 1, 2, 3, 4 s: 1, 4, 7.5, 9
    assert battery.empty_ns(0) == 5 * S
    assert [battery.left_j(k * S) for k in range(5)] == pytest.approx([10, 9, 6, 2.5, 1])
    assert battery.empty_ns(4 * S) == 5 * S


def test_what_is_told_when_it_has_passed_is_drawn():
    """As of an attempt by attempt transmission, whose end nobody knew."""
    battery = Battery(10.0, standing_w=1.0)
    assert battery.left_j(4 * S) == 6.0
    battery.draw(Load(1 * S, 3 * S, 0.5))
    battery.draw(Load(3 * S, 6 * S, 1.0))
    assert battery.left_j(4 * S) == 4.0
    assert battery.left_j(6 * S) == 0.0


def test_what_is_not_drawn_after_all_is_taken_back():
    battery = Battery(10.0, standing_w=0.0)
    battery.draw(Load(0, 10 * S, 2.0))
    assert battery.empty_ns(0) == 5 * S
    assert battery.left_j(2 * S) == 6.0
    battery.draw(Load(2 * S, 10 * S, -2.0))
    assert battery.empty_ns(2 * S) is None
    assert battery.left_j(99 * S) == 6.0
    battery.take(6.0)
    assert battery.empty_ns(99 * S) == 99 * S


def test_what_was_drawn_before_the_last_look_is_drawn_all_the_same():
    battery = Battery(10.0, standing_w=1.0)
    assert battery.left_j(5 * S) == 5.0
    battery.draw(Load(2 * S, 8 * S, 0.5))
    assert battery.left_j(5 * S) == 3.5
    assert battery.left_j(8 * S) == -1.0


def test_a_sender_that_is_on_the_air_for_part_of_the_time_draws_evenly():
    """4 s in 10 s at 1 W; after 5 s the other half is taken back."""
    env = Clock()
    availability = Availability(env, Recorder(None), 1, None, mortal=True)
    meter = EnergyMeter(env, Energy(battery_j=10.0), availability, [1.0], None, [10.0], 1)
    meter.on_air(0, [], 0, 10 * S, 4 * S)
    assert meter.summary(5 * S)["left_j"][0] == 8.0
    env.run(until=5 * S)
    meter.on_air(0, [], 10 * S, 5 * S, -2 * S)
    assert meter.summary(10 * S)["left_j"][0] == 8.0
    assert meter.spent_j(0, 10 * S) == 2.0


def test_the_prediction_is_the_instant_at_which_nothing_is_left():
    rng = np.random.default_rng(0)
    for _ in range(200):
        battery, again = Battery(5.0, 0.1), Battery(5.0, 0.1)
        for _ in range(6):
            begin, length = rng.uniform(0, 5 * S, 2).astype(int).tolist()
            watt = float(rng.uniform(0.1, 2))
            battery.draw(Load(begin, begin + length, watt))
            again.draw(Load(begin, begin + length, watt))
        empty_ns = battery.empty_ns(0)
        assert again.left_j(empty_ns - 10) > 0
        assert again.left_j(empty_ns) == pytest.approx(0, abs=1e-7)


def test_a_radio_that_sleeps_by_hand():
    """Awake for a quarter of every 4 s: 2 + 3 / 2 = 3.5 J a period."""
    battery = Battery(9.25, 2.0, 1.5, Rhythm(4 * S, S, 0))
    assert battery.empty_ns(0) == 9 * S + S // 2
    battery.draw(Load(0, 2 * S, 1.0))
    assert battery.empty_ns(0) == 8 * S + S // 8
    assert [battery.left_j(t * S) for t in (1, 2, 4)] == [6.25, 4.75, 3.75]
    battery.set_standing_power(0.0)
    assert battery.empty_ns(5 * S) is None
    saves_all = Battery(3.0, 1.0, 1.0, Rhythm(4 * S, S, 0))
    assert saves_all.empty_ns(0) == 9 * S


def test_the_prediction_holds_for_radios_that_sleep():
    rng = np.random.default_rng(1)
    for _ in range(200):
        period, awake, offset = rng.integers([S, 1, 0], [2 * S, S, S]).tolist()
        standing_w, sleeping_w = rng.uniform(0, 0.5, 2).tolist()
        naps = standing_w, standing_w - sleeping_w, Rhythm(period, awake, offset)
        battery, again = Battery(5.0, *naps), Battery(5.0, *naps)
        for _ in range(4):
            begin, length = rng.uniform(0, 5 * S, 2).astype(int).tolist()
            watt = float(rng.uniform(0.1, 1))
            battery.draw(Load(begin, begin + length, watt))
            again.draw(Load(begin, begin + length, watt))
        empty_ns = battery.empty_ns(0)
        assert again.left_j(empty_ns - 10) > 0
        assert again.left_j(empty_ns) == pytest.approx(0, abs=1e-7)


def test_loads_that_are_taken_back_leave_a_battery_as_it_was():
    """A radio that contends takes back and draws anew what others change, all through a message."""
    rng = np.random.default_rng(2)
    battery, fewer = Battery(5.0, 0.1), Battery(5.0, 0.1)
    for k in range(500):
        begin, end = sorted(rng.integers(0, 4, 2).tolist())
        load = Load(begin * S, (end + 1) * S, float(rng.uniform(0.1, 2)))
        battery.draw(load)
        if k % 100:
            battery.draw(load._replace(watt=-load.watt))
        else:
            fewer.draw(load)
    assert len(list(battery._powers(0))) <= 6
    assert battery.empty_ns(0) == pytest.approx(fewer.empty_ns(0), abs=1000)
    assert battery.left_j(2 * S) == pytest.approx(fewer.left_j(2 * S))


@pytest.mark.parametrize("off_level", [None, 0.3])
@pytest.mark.parametrize(
    "radio",
    [
        {"kind": "first_order", "electronics_j_per_bit": 1.0},
        {"kind": "radio_state", "tx_w": 500.0, "rx_w": 0.0, "idle_w": 0.0},
    ],
)
def test_what_takes_more_than_a_battery_has_leaves_nothing(radio, off_level):
    """500 J, told of when they have been drawn: no rounding leaves a node on without energy."""
    for joules in np.random.default_rng(3).uniform(0.1, 100.0, 200).tolist():
        env, harvested, kept_j = Clock(), None, 0.0
        if off_level is not None:
            law = Constant(power_w=0.0, off_level=off_level, on_level=1.0)
            harvested, kept_j = supply(law, 1, Streams(0), None), off_level * joules
        availability = Availability(env, Recorder(None), 1, None, True, harvested is not None)
        energy = Energy.model_validate({"radio": radio, "battery_j": joules})
        meter = EnergyMeter(
            env, energy, availability, [1.0], lambda *_: 0.0, [joules], 1, (), harvested
        )
        env.run(until=S)
        meter.count_sent(0, [0], [], 500)
        meter.on_air(0, [], 0, S, S)
        env.run(until=2 * S)
        assert availability.off == {0}
        assert meter.spent_j(0, 2 * S) == pytest.approx(joules - kept_j)
        assert meter.unpaid_j == pytest.approx(500.0 - joules + kept_j)


def metered(joules):
    """The meter of one node that idles at 0.1 W and sends at 1 W more, its clock and its fate."""
    env = Clock()
    availability = Availability(env, Recorder(None), 1, None, True, False)
    radio = {"kind": "radio_state", "tx_w": 1.1, "rx_w": 0.1, "idle_w": 0.1}
    energy = Energy.model_validate({"radio": radio, "battery_j": joules})
    return EnergyMeter(env, energy, availability, [1.0], None, [joules], 1), env, availability


def test_loads_long_before_a_battery_is_empty_need_no_event_each():
    """Else a run whose packets are played one by one keeps events of each until its end."""
    meter, env, availability = metered(1e4)
    for k in range(1_000):
        env.run(until=(k + 1) * 1_000_000)
        meter.on_air(0, [], env.now, env.now + 1_000_000, 1_000_000)
    assert meter.planned <= 2
    assert not availability.dead


@pytest.mark.parametrize("taken_back_s", [None, 62])
def test_a_battery_is_empty_when_its_loads_say_whenever_they_are_told(taken_back_s):
    """Of 10 J four are left at 60 s, when the node begins to send for 100 s, or for less."""
    meter, env, availability = metered(10.0)
    env.run(until=60 * S)
    meter.on_air(0, [], 60 * S, 160 * S, 100 * S)
    empty_s = 60 + 4 / 1.1
    if taken_back_s == 62:  # 1.8 J are left
        env.run(until=62 * S)
        meter.on_air(0, [], 160 * S, 62 * S, -98 * S)
        empty_s = 62 + 1.8 / 0.1
    env.run(until=100 * S)
    assert availability.dead[0] == pytest.approx(empty_s * S, abs=10)
    assert meter.left_j(0, env.now) == pytest.approx(0.0, abs=1e-8)
    assert meter.spent_j(0, env.now) == pytest.approx(10.0)
