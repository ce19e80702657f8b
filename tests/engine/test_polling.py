"""Looks between events, by a clock of the test's own."""

import itertools

import pytest

from netsim.engine import polling

TIMED = polling


def test_looks_come_often_where_events_are_slow_and_seldom_where_they_are_quick(clock):
    one = polling.Polling()
    for _ in range(20):
        clock.now_s += 1e-6 * one.events()
    assert one.events() == polling.MOST_EVENTS
    for _ in range(20):
        clock.now_s += 1.0
        one.events()
    clock.now_s += 1.0
    assert one.events() == 1


@pytest.mark.parametrize("event_s", [1e-6, 1e-4, 0.01, 0.3, 5.0])
def test_the_progress_is_told_about_twice_a_second_however_slow_events_are(clock, event_s):
    """As often as that, an event that takes longer and the look after it apart."""
    one, told = polling.Polling(), []
    while len(told) < 30:
        clock.now_s += one.events() * event_s
        if one.is_progress_due():
            told.append(clock.now_s)
    gaps = [after - before for before, after in itertools.pairwise(told[10:])]
    assert min(gaps) >= polling.TOLD_EVERY_S
    assert max(gaps) <= polling.TOLD_EVERY_S + max(
        polling.MOST_EVENTS * event_s / 8, 4 * event_s, 0.5
    )
