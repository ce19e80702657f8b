"""One radio that is told to do several things at once is in one state at a time."""

import numpy as np
import pytest

from netsim.devices.energy.states import KEPT, Activity, States

RX_W = 0.5


def drawn(changes):
    return sum(c.watt * (c.to_ns - c.from_ns) for c in changes)


def never():
    return 0


def demands(rng, count):
    for _ in range(count):
        from_ns, lasts_ns = (int(x) for x in rng.integers(1, 100, 2))
        share = float(rng.uniform(0.1, 1.0))
        kind = rng.choice(["sending", "receiving", "overhearing"])
        power = {"sending_w": 2.0 * share} if kind == "sending" else {}
        yield Activity(**{kind: share}, **power), from_ns, from_ns + lasts_ns


def by_hand(found):
    """Energy of demands, nanosecond by nanosecond."""
    total = 0.0
    for t in range(300):
        now = [a for a, begins, ends in found if begins <= t < ends]
        sends = sum(a.sending for a in now)
        hears = sum(a.receiving + a.overhearing for a in now)
        total += 2.0 * min(1.0, sends) + RX_W * min(hears, 1.0 - min(1.0, sends))
    return total


@pytest.mark.parametrize("seed", range(5))
def test_energy_is_that_of_the_demands_whatever_was_taken_back(seed):
    rng = np.random.default_rng(seed)
    states, found, joules = States(RX_W), list(demands(rng, 12)), 0.0
    gone = found[::3]
    for one in found:
        joules += drawn(states.add(*one, never))
    for one in gone:
        joules += drawn(states.add(*one, never, -1.0))
    assert joules == pytest.approx(by_hand([one for one in found if one not in gone]))
    for one in found:
        if one not in gone:
            joules += drawn(states.add(*one, never, -1.0))
    assert joules == pytest.approx(0.0, abs=1e-9)


def test_two_packets_at_once_are_received_once_and_none_while_sending():
    states, hears = States(RX_W), Activity(receiving=1.0)
    assert drawn(states.add(hears, 0, 10, never)) == 10 * RX_W
    assert drawn(states.add(hears, 5, 15, never)) == 5 * RX_W
    assert drawn(states.add(Activity(overhearing=1.0), 0, 20, never)) == 5 * RX_W
    assert drawn(states.add(Activity(1.0, 2.0), 0, 20, never)) == 20 * (2.0 - RX_W)
    assert drawn(states.add(hears, 5, 15, never, -1.0)) == 0.0


def test_a_radio_is_awake_for_what_it_takes_part_in():
    states = States(RX_W)
    assert [c.awake for c in states.add(Activity(receiving=0.5), 0, 10, never)] == [0.5]
    assert [c.awake for c in states.add(Activity(receiving=0.75), 0, 10, never)] == [0.5]
    assert [c.awake for c in states.add(Activity(overhearing=1.0), 0, 10, never)] == []


def test_what_is_long_past_is_forgotten():
    states, one = States(RX_W), Activity(receiving=1.0)
    for k in range(1, 2000):
        assert drawn(states.add(one, 10 * k, 10 * k + 10, lambda k=k: 10 * k)) == 10 * RX_W
    assert len(states._steps.from_ns) < 4 * KEPT
