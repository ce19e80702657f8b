"""Wake-ups that follow one schedule until an instant and another from then on."""

import pytest

from netsim.rng import Streams
from netsim.schedules import ChangingClock
from netsim.schedules.periodic import Periodic
from netsim.schedules.poisson import Poisson
from netsim.schedules.star import Star

NODES, S = 4, 10**9
SCHEDULES = [
    Poisson(rate_hz=2.0),
    Poisson(rate_hz=0.5),
    Periodic(period_s=0.7),
    Star(slot_s=0.1, slots_per_exchange=2),
    Star(slot_s=0.1, slots_per_exchange=7),
]


def clock(schedule):
    return schedule.clock(Streams(3), NODES)


def wakeups(times, node, until_ns=20 * S):
    """All (time, number) up to an instant."""
    found, number = [], 0
    while True:
        time_ns, number = times.next_wakeup(node, number)
        if time_ns > until_ns:
            return found
        found.append((time_ns, number))


@pytest.mark.parametrize("at_ns", [0, 1, 5 * S, 5 * S + 7])
@pytest.mark.parametrize("after", SCHEDULES)
@pytest.mark.parametrize("before", SCHEDULES)
def test_times_are_those_of_either_and_numbers_grow(before, after, at_ns):
    times = ChangingClock(clock(before), at_ns, clock(after))
    for node in range(NODES):
        found = wakeups(times, node)
        first = [t for t, _ in wakeups(clock(before), node) if t < at_ns]
        then = [t for t, _ in wakeups(clock(after), node) if t >= at_ns]
        assert [t for t, _ in found] == first + then
        numbers = [number for _, number in found]
        assert numbers == sorted(set(numbers))
        for now_ns in (0, at_ns - 1, at_ns, at_ns + S, 17 * S):
            last = [wake for wake in found if wake[0] <= now_ns]
            if now_ns >= 0:
                assert times.last_wakeup(node, now_ns) == (last[-1] if last else (-1, 0))


@pytest.mark.parametrize("at_ns", [0, 1, 5 * S])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_change_to_the_same_schedule_changes_nothing(schedule, at_ns):
    times = ChangingClock(clock(schedule), at_ns, clock(schedule))
    for node in range(NODES):
        assert wakeups(times, node) == wakeups(clock(schedule), node)


def test_two_changes_follow_each_other():
    poisson, periodic, star = SCHEDULES[0], SCHEDULES[2], SCHEDULES[3]
    times = ChangingClock(ChangingClock(clock(poisson), S, clock(star)), 3 * S, clock(periodic))
    for node in range(NODES):
        found = [t for t, _ in wakeups(times, node)]
        parts = [
            [t for t, _ in wakeups(clock(poisson), node) if t < S],
            [t for t, _ in wakeups(clock(star), node) if S <= t < 3 * S],
            [t for t, _ in wakeups(clock(periodic), node) if t >= 3 * S],
        ]
        assert found == [*parts[0], *parts[1], *parts[2]]
