"""Harvested energy: closed forms, an exact reference, and runs in which empty nodes come back."""

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from netsim import engine, world
from netsim.channels.sleep import Rhythm
from netsim.clock import Clock
from netsim.devices.availability import Availability
from netsim.devices.energy import Energy
from netsim.devices.energy.battery import HarvestingBattery
from netsim.devices.energy.harvest import Piece, Supply, supply
from netsim.devices.energy.harvest.bernoulli import Bernoulli
from netsim.devices.energy.harvest.constant import Constant
from netsim.devices.energy.harvest.markov import Markov
from netsim.devices.energy.harvest.solar import Solar
from netsim.devices.energy.harvest.trace import Trace
from netsim.devices.energy.loads import Load
from netsim.devices.energy.meter import EnergyMeter
from netsim.devices.speed.fixed import Fixed
from netsim.errors import DataError, InvariantError, ScenarioError
from netsim.node.processor import Processor
from netsim.recording.recorder import Recorder
from netsim.rng import Streams
from netsim.scenario import from_dict
from netsim.topology.churn import Periods, Timeline

S = 1_000_000_000
IDLE_W = 0.5
RADIO = {"kind": "radio_state", "tx_w": 0.9, "rx_w": 0.9, "idle_w": IDLE_W}


def devices(law, battery_j=2.0, nodes=1, step_j=0.0, timeline=None, rhythms=()):
    """A meter, its nodes' availability, and the switches of node 0: (ns, on)."""
    env = Clock()
    given = supply(law, nodes, Streams(0), None)
    begins_empty = law.start_level <= law.off_level
    availability = Availability(
        env, Recorder(None), nodes, timeline, True, True, range(nodes) if begins_empty else ()
    )
    compute = {"kind": "per_step", "joules": step_j}
    energy = Energy.model_validate({"radio": RADIO, "compute": compute, "battery_j": battery_j})
    meter = EnergyMeter(
        env, energy, availability, [0.1] * nodes, None, [battery_j] * nodes, 1, rhythms, given
    )
    switches = []
    availability.add_listener(meter.on_switch)
    availability.add_listener(
        lambda node, on: switches.append((env.now, on)) if node == 0 else None
    )
    return env, meter, availability, switches


def balance(meter, node, now_ns):
    """Return the energy stored, drawn and spilled beyond the initial and the harvested [J]."""
    charge = meter.charge(node, now_ns)
    got = meter.held_j(node) + charge.harvested_j
    return charge.stored_j + meter.spent_j(node, now_ns) + charge.spilled_j - got


@pytest.mark.parametrize("harvested_w", [0.05, 0.1, 0.3, 0.49])
def test_under_constant_power_a_node_is_on_for_harvested_over_drawn_power(harvested_w):
    """On: (0.6 - 0.1) 2 J / (0.5 W - h), off: 1 J / h, so the share is h / 0.5 W."""
    law = Constant(power_w=harvested_w, start_level=0.6, off_level=0.1, on_level=0.6)
    env, meter, availability, switches = devices(law)
    on_s, off_s = 1.0 / (IDLE_W - harvested_w), 1.0 / harvested_w
    assert on_s / (on_s + off_s) == pytest.approx(harvested_w / IDLE_W)
    cycles = 8
    end_ns = round(cycles * (on_s + off_s) * S)
    env.run(until=end_ns + 1000)
    expected = [(k * (on_s + off_s) + on_s, (k + 1) * (on_s + off_s)) for k in range(cycles)]
    times = [t for t, _ in switches]
    # a switch at a whole ns is late by up to one, and with it the energy at which the next is
    late_ns = (
        2 * cycles * max((IDLE_W - harvested_w) / harvested_w, harvested_w / (0.5 - harvested_w))
    )
    assert times == pytest.approx([t * S for pair in expected for t in pair], rel=0, abs=late_ns)
    assert [on for _, on in switches] == [False, True] * cycles
    assert availability.on_s(0, end_ns) / end_ns * S == pytest.approx(harvested_w / IDLE_W)
    assert balance(meter, 0, end_ns + 1000) == pytest.approx(0.0, abs=1e-7)
    assert meter.charge(0, end_ns + 1000).spilled_j == 0.0
    assert meter.summary(end_ns + 1000)["outages"] == {0: cycles}


def test_what_a_full_battery_cannot_hold_is_spilled():
    """2 J, 0.5 W drawn and 0.75 W harvested: full after 2 s from 1.5 J, then 0.25 W are spilled."""
    env, meter, _, switches = devices(Constant(power_w=0.75, start_level=0.75))
    env.run(until=10 * S)
    assert meter.charge(0, 10 * S) == pytest.approx((2.0, 7.5, 2.0))
    assert (switches, balance(meter, 0, 10 * S)) == ([], pytest.approx(0.0))


def test_a_node_that_begins_empty_comes_when_there_is_energy():
    """0.2 W for 0.1 * 2 J: at 1 s, and off again after 0.2 J / 0.3 W."""
    env, meter, availability, switches = devices(Constant(power_w=0.2, start_level=0.0))
    assert availability.off == {0}
    env.run(until=2 * S)
    assert switches == [(1 * S, True), (pytest.approx(S * 5 / 3, abs=2), False)]
    assert meter.spent_j(0, 2 * S) == pytest.approx(1 / 3)
    never = devices(Constant(power_w=0.0, start_level=0.0))
    never[0].run(until=99 * S)
    assert never[3] == []
    assert never[1].planned == 0


def test_work_stands_still_and_its_energy_is_drawn_once():
    """A job of 4 s and 0.8 J: 0.7 W are drawn, 0.2 W harvested, from 1 J to 0 in 2 s.

    Then off for 2 s, to 0.4 J, on for 0.8 s; off and on again; 1.2 s of the job are left of it.
    """
    env, meter, availability, switches = devices(
        Constant(power_w=0.2, start_level=0.5, on_level=0.2), step_j=0.2
    )
    speed = Fixed(step_s=1.0)
    processor = Processor(0, env, speed, 1.0, availability, Streams(0), Recorder(None), meter)
    done = processor.train(4, "trained")
    done.callbacks.append(lambda _: done_at.append(env.now))
    done_at = []
    env.run(until=20 * S)
    on_s = [2.0, 0.8, 0.8, 0.4]
    assert done_at == [pytest.approx((sum(on_s) + 3 * 2.0) * S, abs=20)]
    assert done.value == "trained"
    found = meter.summary(20 * S)
    assert found["compute_j"] == pytest.approx(0.8, abs=1e-8)
    assert found["idle_j"] == pytest.approx(IDLE_W * availability.on_s(0, 20 * S))
    assert [t / S for t, _ in switches[:6]] == pytest.approx([2, 4, 4.8, 6.8, 7.6, 9.6], abs=1e-7)
    assert balance(meter, 0, 20 * S) == pytest.approx(0.0, abs=1e-7)
    assert processor.busy_until_ns == 20 * S


def test_a_second_job_and_work_beside_wait_for_their_node_too():
    env, meter, availability, _ = devices(Constant(power_w=0.1, start_level=0.5, on_level=0.5))
    processor = Processor(
        0, env, Fixed(step_s=1.0), 1.0, availability, Streams(0), Recorder(None), meter
    )
    ends = {}
    # on for 1 J / 0.4 W = 2.5 s, off for 10 s
    for name, event in (
        ("first", processor.train(2, None)),
        ("second", processor.train(2, None)),
        ("beside", processor.concurrent_work(3.0)),
    ):
        event.callbacks.append(lambda _, name=name: ends.setdefault(name, env.now / S))
    env.run(until=30 * S)
    assert ends == pytest.approx({"first": 2.0, "beside": 13.0, "second": 14.0}, abs=1e-7)


def test_a_node_is_on_where_both_its_timeline_and_its_battery_let_it():
    """1 J lasts 2.5 s at 0.4 W; churn has it off from 1 to 3 s, and from 10 to 20 s."""
    churn = Timeline([Periods(True, iter([1 * S, 3 * S, 10 * S, 20 * S, 40 * S]))])
    law = Constant(power_w=0.1, start_level=0.5, on_level=0.5)
    env, meter, availability, switches = devices(law, timeline=churn)
    env.run(until=35 * S)
    assert not availability.stays_on(0, 21 * S, 35 * S)
    assert availability.stays_on(0, 34 * S, 35 * S)
    env.run(until=39 * S)
    # 0.6 J at 1 s, 0.8 J at 3 s: empty at 5 s; 1 J again at 15 s, while churn has it off
    # until 20 s: 1.5 J, which last 3.75 s; 10 s later it is on
    expected = [1, 3, 5, 20, 23.75, 33.75, 36.25]
    assert [t / S for t, _ in switches] == pytest.approx(expected, abs=1e-7)
    assert [on for _, on in switches] == [k % 2 == 1 for k in range(7)]
    assert balance(meter, 0, 39 * S) == pytest.approx(0.0, abs=1e-7)


def reference(pieces, loads, capacity, start, off, on, standing, horizon):
    """Switches and charge in rational numbers, from breakpoint to breakpoint."""
    frac = [Fraction(x) for x in (capacity, start, off, on, standing)]
    capacity, stored, off, on, standing = frac
    is_out, now, spilled, found = False, Fraction(0), Fraction(0), []
    marks = sorted({horizon, *(p.until_ns for p in pieces if p.until_ns)} | {
        t for one in loads for t in one[:2]
    })  # fmt: skip
    while now < horizon:
        piece = next(p for p in pieces if p.until_ns is None or p.until_ns > now)
        drawn = Fraction(0)
        if not is_out:
            drawn = standing + sum(Fraction(x.watt) for x in loads if x.from_ns <= now < x.to_ns)
        rise = (Fraction(piece.watt) - drawn) / S
        end = min([t for t in marks if t > now] + [Fraction(horizon)])
        level = on if is_out else off
        if rise and (level - stored) / rise > 0 and now + (level - stored) / rise < end:
            end = now + (level - stored) / rise
            turned = True
        else:
            turned = False
        stored += rise * (end - now)
        if stored > capacity:
            spilled, stored = spilled + stored - capacity, capacity
        now = Fraction(end)
        if turned or (stored >= level if is_out else stored <= level):
            is_out = not is_out
            found.append((float(now), not is_out))
            if is_out:  # the loads of a radio end with it
                loads = [x._replace(to_ns=min(x.to_ns, float(now))) for x in loads]
    return found, float(stored), float(spilled)


@pytest.mark.slow
def test_batteries_are_as_rational_numbers_say():
    """Random powers, loads and levels: every switch to a few ns, every joule to 1e-7."""
    turns = spills = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        ends = np.sort(rng.integers(1, 60 * S, 30)).tolist()
        pieces = [Piece(t, float(w)) for t, w in zip(ends, rng.uniform(0, 1.2, 30), strict=True)]
        pieces.append(Piece(None, 0.3))
        capacity, off = float(rng.uniform(0.5, 3)), float(rng.uniform(0, 0.3))
        on, start = float(rng.uniform(off + 0.1, 1)), float(rng.uniform(off + 0.01, 1))
        law = Constant(power_w=0.0, start_level=start, off_level=off, on_level=on)
        given = Supply(law, [iter(pieces)])
        env, switches = Clock(), []
        availability = Availability(env, Recorder(None), 1, None, True, True)
        energy = Energy.model_validate({"radio": RADIO, "battery_j": capacity})
        meter = EnergyMeter(env, energy, availability, [0.1], None, [capacity], 1, (), given)
        availability.add_listener(meter.on_switch)
        availability.add_listener(lambda _, is_on: switches.append((env.now, is_on)))  # noqa: B023
        loads = []
        for _ in range(8):
            begin, length = rng.integers(0, 40 * S), rng.integers(1, 5 * S)
            loads.append(Load(int(begin), int(begin + length), RADIO["tx_w"] - IDLE_W))
        for one in loads:
            meter.on_air(0, [], one.from_ns, one.to_ns, one.to_ns - one.from_ns)
        horizon = 60 * S
        env.run(until=horizon)
        levels = (start * capacity, off * capacity, on * capacity)
        expected, stored, spilled = reference(pieces, loads, capacity, *levels, IDLE_W, horizon)
        assert [on for _, on in switches] == [on for _, on in expected], seed
        times = [t for t, _ in switches]
        assert times == pytest.approx([t for t, _ in expected], rel=0, abs=200), seed
        charge = meter.charge(0, horizon)
        assert charge.stored_j == pytest.approx(stored, abs=1e-6)
        assert charge.spilled_j == pytest.approx(spilled, abs=1e-6)
        assert balance(meter, 0, horizon) == pytest.approx(0.0, abs=1e-7)
        turns, spills = turns + len(switches), spills + (spilled > 0)
    assert turns > 200
    assert spills > 10


def test_radios_that_sleep_are_seen_to_the_instant():
    """Awake 1 s of 4 at 0.5 W, asleep 0 W, harvested 0.1 W: 0.1 J a period are lost."""
    law = Constant(power_w=0.1, start_level=0.275, on_level=0.5)
    given = Supply(law, [iter((Piece(None, 0.1),))])
    battery = HarvestingBattery(0, 2.0, given, 0.5, 0.5, Rhythm(4 * S, S, 0))
    # 0.55 J at first; the first instant of each period k has 0.55 - 0.1 k, and it falls by 0.4 a s
    assert battery.empty_ns(0) == pytest.approx(8 * S + 0.35 / 0.4 * S, abs=2)
    assert battery.charge(4 * S).stored_j == pytest.approx(0.45)
    assert battery.charge(5 * S).stored_j == pytest.approx(0.05)


def test_asking_for_the_charge_changes_nothing():
    """So that a run that goes on, which is not evaluated anew, has the same switches."""
    plain, asked = (devices(Bernoulli(power_w=0.9, probability=0.5, slot_s=0.3)) for _ in "ab")
    plain[0].run(until=200 * S)
    rng = np.random.default_rng(0)
    for time_ns in np.sort(rng.integers(1, 200 * S, 500)).tolist():
        asked[0].run(until=time_ns)
        asked[1].spent_j(0, time_ns), asked[1].left_j(0, time_ns), asked[1].summary(time_ns)
    asked[0].run(until=200 * S)
    assert plain[3] == asked[3]
    assert len(plain[3]) > 20


class CountedSupply(Supply):
    """Counts how often it is asked."""

    asked = 0

    def piece_at(self, node, time_ns):
        self.asked += 1
        return super().piece_at(node, time_ns)


def test_a_battery_far_from_empty_looks_at_few_pieces_of_its_supply():
    """1,000 J last 1,000 s at least: no plan looks at the 2 ms slots of all that time."""
    law = Bernoulli(power_w=0.5, probability=0.5, slot_s=0.002)
    given = CountedSupply(law, law.pieces([0], Streams(0), None))
    battery = HarvestingBattery(0, 1000.0, given, 0.0)
    for k in range(100):
        battery.draw(Load(k * S, (k + 100) * S, 0.01))
        assert battery.empty_ns(0) is not None
    assert given.asked < 500
    assert battery.empty_ns(0) == pytest.approx(1000 * S, abs=10)


# -- laws ---------------------------------------------------------------------------------------


def powers(law, nodes, slot_s, slots):
    given = supply(law, nodes, Streams(5), None)
    mid = [round((k + 0.5) * slot_s * S) for k in range(slots)]
    return np.array([[given.piece_at(i, t).watt for t in mid] for i in range(nodes)])


def test_bernoulli_slots_have_their_share():
    found = powers(Bernoulli(power_w=0.4, probability=0.3, slot_s=0.5), 50, 0.5, 200) / 0.4
    assert set(np.unique(found)) == {0.0, 1.0}
    deviation = math.sqrt(0.3 * 0.7 / found.size)
    assert abs(found.mean() - 0.3) < 4 * deviation
    alike = (found[:, 1:] == found[:, :-1]).mean()
    assert abs(alike - (0.3**2 + 0.7**2)) < 6 * deviation


@pytest.mark.slow
def test_markov_slots_are_stationary_and_last():
    """Good with g / (g + b) = 1/3 from the first slot on; a good time lasts 1 / b = 5 slots."""
    law = Markov(good_w=1.0, bad_w=0.25, good_to_bad=0.2, bad_to_good=0.1)
    good = powers(law, 300, 1.0, 150) == 1.0
    one = math.sqrt(1 / 3 * 2 / 3 / 300)
    assert abs(good[:, 0].mean() - 1 / 3) < 4 * one
    assert abs(good[:, -1].mean() - 1 / 3) < 4 * one
    # correlation 0.7 ** n: the variance of a mean is (1 + 0.7) / (1 - 0.7) times as large
    assert abs(good.mean() - 1 / 3) < 4 * one * math.sqrt(1.7 / 0.3 / 150)
    leaves = (good[:, :-1] & ~good[:, 1:]).sum() / good[:, :-1].sum()
    assert abs(leaves - 0.2) < 4 * math.sqrt(0.2 * 0.8 / good[:, :-1].sum())
    assert law.bad_w in powers(law, 1, 1.0, 30)


def test_a_day_has_its_energy_and_a_night_none():
    law = Solar(peak_w=2.0, day_s=1000.0, daylight_s=400.0, sunrise_s=-100.0, step_s=7.0)
    given = supply(law, 1, Streams(0), None)
    of_a_day = 2 / math.pi * 2.0 * 400.0
    for days in (1, 5):
        joules = given.joules(0, days * 1000 * 7 * S) / 7
        assert joules == pytest.approx(days * of_a_day, rel=1e-9)
    assert given.piece_at(0, 100 * S).watt == pytest.approx(2.0, rel=1e-3)
    assert given.piece_at(0, 600 * S).watt == 0.0
    at_50 = 2.0 * math.sin(math.pi * 150 / 400)
    assert given.piece_at(0, 50 * S).watt == pytest.approx(at_50, rel=0.03)
    assert given.joules(0, 49 * S) == pytest.approx(law.joules(49.0) - law.joules(0.0))


def test_the_order_of_questions_changes_no_power():
    for law in (Bernoulli(power_w=1.0, probability=0.5), Solar(peak_w=1.0, day_s=100.0)):
        times = np.random.default_rng(1).integers(0, 300 * S, 60).tolist()
        forwards, backwards = (supply(law, 3, Streams(2), None) for _ in "ab")
        one = {t: forwards.piece_at(1, t) for t in sorted(times)}
        other = {t: backwards.piece_at(1, t) for t in sorted(times, reverse=True)}
        assert one == other


def write(folder, text):
    (folder / "sun.csv").write_text(text)
    return str(folder / "sun.csv")


def test_a_trace_is_played_row_by_row(tmp_path):
    path = write(tmp_path, "t_s,power_mw\n10,300\n12,0\n15,100\n")
    given = supply(Trace(path=path, factor=2.0, last_s=4.0), 2, Streams(0), None)
    for node in (0, 1):
        found = [given.piece_at(node, t * S).watt for t in (0, 1, 2, 4, 5, 8, 9, 99)]
        assert found == pytest.approx([0.6, 0.6, 0, 0, 0.2, 0.2, 0, 0])
    later = supply(Trace(path=path, start_s=11.0), 1, Streams(0), None)
    assert [later.piece_at(0, t * S).watt for t in (0, 1, 4)] == pytest.approx([0.3, 0, 0.1])


def test_a_trace_may_have_rows_of_each_node(tmp_path):
    path = write(tmp_path, "node,t_s,power_w\n1,5,0.5\n0,0,1\n1,6,0.25\n")
    given = supply(Trace(path=path), 3, Streams(0), None)
    assert [given.piece_at(0, t * S).watt for t in (0, 1)] == [1.0, 0.0]
    assert [given.piece_at(1, t * S).watt for t in (0, 5, 6, 7)] == [0.0, 0.5, 0.25, 0.0]
    assert given.joules(2, 100 * S) == 0.0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("t_s,power_w\n0,-1\n", "must be at least 0"),
        ("t_s,power_w\n0,1\n1,2e6\n", "must be at most 1e+06 W"),
        ("t_s,power_w\n0,1\n0,2\n", "there is a row for this time already"),
        ("t_s\n0\n", "power_w"),
        ("t_s,power_w\n23:59:00,1\n00:01:00,2\n", "times of day need dates"),
        ("node,t_s,power_w\n0,23:59:00,1\n1,23:00:00,1\n0,00:01:00,2\n", "line 4"),
        ("node,t_s,power_w\n7,0,1\n", "node must be one of 0 to 2"),
    ],
)
def test_what_is_wrong_in_a_trace_is_told(tmp_path, text, told):
    with pytest.raises(DataError) as error:
        supply(Trace(path=write(tmp_path, text)), 3, Streams(0), None)
    assert told in str(error.value)


# -- runs ---------------------------------------------------------------------------------------

HARVEST = {
    "kind": "markov", "good_w": 0.1, "good_to_bad": 0.3, "bad_to_good": 0.2, "slot_s": 0.5,
    "start_level": 0.5, "on_level": 0.3,
}  # fmt: skip


def scenario(**tables):
    return {
        "name": "harvest", "horizon_s": 40.0,
        "nodes": {"count": 5, "placement": "disc", "radius_m": 30.0},
        "exchange": {"schedule": "poisson", "rate_hz": 0.7},
        "radio": {"fading": {"kind": "rayleigh"}},
        "energy": {
            "radio": RADIO | {"idle_w": 0.05},
            "compute": {"kind": "per_step", "joules": 0.05},
            "battery_j": 0.8, "harvest": HARVEST,
        },
        "data": {"kind": "digits", "partition": {"kind": "iid"}},
        "model": {"kind": "mlp", "hidden": [8]},
        "compute": {"kind": "fixed", "step_s": 0.1},
        "algorithm": {"kind": "dpsgd"},
        "metrics": {"timeline": True, "every_s": 4.0},
    } | tables  # fmt: skip


def played(folder, **tables):
    built = world.build(from_dict(scenario(**tables)))
    engine.play(built, built.scenario.algorithm[0], folder, check=True)
    return json.loads((folder / "summary.json").read_text())


SETTINGS = {
    "poisson": {},
    "rounds": {"exchange": {"schedule": "rounds", "interval_s": 2.0, "deadline_s": 1.5}},
    "churn": {"churn": {"kind": "exponential", "mean_on_s": 4.0, "mean_off_s": 2.0}},
    "sleep": {
        "radio": {"sleep": {"kind": "duty_cycle", "period_s": 0.7, "awake_fraction": 0.3}}
    },
    "csma": {"radio": {"mac": {"kind": "csma"}}},
    "wires": {"radio": None, "link": {"rate_bps": 1e6}},
}  # fmt: skip


@pytest.mark.parametrize("name", ["poisson", *(
    pytest.param(name, marks=pytest.mark.slow) for name in list(SETTINGS)[1:]
)])  # fmt: skip
def test_in_any_run_every_joule_is_accounted_for(tmp_path, name):
    """stored = start + harvested - used - spilled at every node; messages to it are lost as off."""
    tables = dict(SETTINGS[name])
    if name == "wires":
        energy = scenario()["energy"] | {"radio": {"kind": "transmit"}, "battery_j": 0.3}
        tables["energy"] = energy | {"harvest": HARVEST | {"good_w": 0.05}}
        del tables["radio"]
        made = scenario(**tables)
        del made["radio"]
        built = world.build(from_dict(made))
        engine.play(built, built.scenario.algorithm[0], tmp_path, check=True)
        summary = json.loads((tmp_path / "summary.json").read_text())
    else:
        summary = played(tmp_path, **tables)
    energy, full_j = summary["energy"], 0.3 if name == "wires" else 0.8
    for node in range(5):
        stored = full_j / 2 + energy["harvested_j"][str(node)] - energy["spilled_j"][str(node)]
        stored -= energy["per_node_j"][node]
        assert stored == pytest.approx(energy["left_j"][str(node)], abs=1e-7)
        assert -1e-7 <= stored <= full_j + 1e-12
    assert sum(energy["outages"].values()) > 5
    assert energy["died"] == []
    off_s = sum(summary["time_s"]["off"])
    availability = summary["power"]["mean_availability"]
    assert off_s == pytest.approx((1 - availability) * 5 * 40.0, rel=1e-6)
    if name == "poisson":
        rows = pd.concat(map(pd.read_parquet, sorted((tmp_path / "messages").glob("*.parquet"))))
        assert (rows.outcome == "off").sum() > 10
        assert (rows.outcome == "delivered").sum() > 10
        wakes = pd.concat(map(pd.read_parquet, sorted((tmp_path / "wakes").glob("*.parquet"))))
        back = wakes[wakes.what == "on"].groupby("node").t_s.first()
        woke = wakes[wakes.what == "woke"].groupby("node").t_s.max()
        assert (woke[back.index] > back).any(), "who came back goes on"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["poisson", "rounds", "churn", "csma"])
def test_with_energy_in_plenty_a_run_is_the_one_without_batteries(tmp_path, name):
    energy = scenario()["energy"]
    plenty = {**energy, "battery_j": 1e6}
    none = {k: v for k, v in energy.items() if k not in ("battery_j", "harvest")}
    one = played(tmp_path / "plenty", **SETTINGS[name] | {"energy": plenty})
    other = played(tmp_path / "none", **SETTINGS[name] | {"energy": none})
    for key in ("event_log_sha256", "parameters_sha256", "energy_j"):
        assert one[key] == other[key], key
    assert one["energy"]["outages"] == {str(i): 0 for i in range(5)}


def test_harvest_without_a_battery_is_refused():
    energy = {k: v for k, v in scenario()["energy"].items() if k != "battery_j"}
    with pytest.raises(ScenarioError, match=r"no node has one; set energy\.battery_j"):
        world.build(from_dict(scenario(energy=energy)))


@pytest.mark.parametrize(
    ("harvest", "told"),
    [
        ({"kind": "constant", "power_w": 1.0, "off_level": 0.4, "on_level": 0.4}, "must be less"),
        ({"kind": "none", "on_level": 0.4}, "is read only where something is harvested"),
        ({"kind": "solar", "peak_w": 1.0, "day_s": 10.0, "daylight_s": 11.0}, "at most day_s"),
        ({"kind": "markov", "good_w": 1.0, "good_to_bad": 0.0, "bad_to_good": 0.1}, "good_to_bad"),
        ({"kind": "bernoulli", "power_w": 1.0, "probability": 1.5}, "probability"),
        ({"kind": "bernoulli", "power_w": 1e300, "probability": 0.5}, "power_w"),
        ({"kind": "constant", "power_w": 1e300}, "power_w"),
        ({"kind": "solar", "peak_w": 1e300}, "peak_w"),
        (
            {"kind": "markov", "good_w": 1, "bad_w": 9e9, "good_to_bad": 1, "bad_to_good": 1},
            "bad_w",
        ),
    ],
)
def test_what_is_no_harvest_is_refused(harvest, told):
    energy = scenario()["energy"] | {"harvest": harvest}
    with pytest.raises(ScenarioError, match=told):
        from_dict(scenario(energy=energy))


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (lambda c: c._replace(harvested_j=2 * c.harvested_j), "drawn and spilled, and what it got"),
        (
            lambda c: c._replace(harvested_j=c.harvested_j + 1, stored_j=c.stored_j + 1),
            "energy harvested, in J",
        ),
        (
            lambda c: c._replace(stored_j=c.stored_j + 1, spilled_j=c.spilled_j - 1),
            "holds more than it can",
        ),
        (
            lambda c: c._replace(stored_j=c.stored_j - 1e-3, spilled_j=c.spilled_j + 1e-3),
            "or less than nothing",
        ),
        (lambda c: c._replace(stored_j=0.9 * c.stored_j), "left in its battery, drawn and spilled"),
    ],
)
def test_energy_from_nowhere_ends_a_checked_run(tmp_path, monkeypatch, fault, told):
    built = world.build(from_dict(scenario()))
    monkeypatch.setattr(EnergyMeter, "charge", lambda self, node, now_ns: fault(
        self._batteries[node].charge(now_ns)
    ))  # fmt: skip
    monkeypatch.setattr(
        EnergyMeter, "left_j", lambda self, node, now_ns: max(0.0, self.charge(node, now_ns)[0])
    )
    with pytest.raises(InvariantError) as error:
        engine.play(built, built.scenario.algorithm[0], tmp_path, True, check=True)
    assert told in str(error.value)
