"""Times of checkpoints, by a clock of the test's own."""

import itertools

import pytest

from netsim.engine.checkpoints import writing
from netsim.engine.checkpoints.writing import Pace

TIMED = writing


def played(clock, cost_s, until_s, size_bytes=1000, look_s=0.1):
    """Moments of checkpoints [s] of a run that takes so long."""
    one, found = Pace(), []
    began_s = clock.now_s
    while clock.now_s < began_s + until_s:
        if one.is_due() and not one.postponed(size_bytes):
            clock.now_s += cost_s
            one.written(cost_s)
            found.append(clock.now_s - began_s)
        clock.now_s += look_s
    return found


def test_the_first_comes_within_seconds(clock):
    assert played(clock, 0.02, 10.0)[0] < 3.0


def test_large_values_are_not_written_before_the_run_has_lasted(clock):
    assert played(clock, 10.0, 5000.0, size_bytes=1_500_000_000)[0] > 900.0


@pytest.mark.thinned(6)
@pytest.mark.parametrize("cost_s", [0.01, 0.5, 20.0])
def test_they_take_a_fiftieth_of_the_run_at_most(clock, cost_s):
    found = played(clock, cost_s, 20_000.0, size_bytes=int(cost_s * writing.BYTES_PER_S))
    assert len(found) * cost_s < 0.02 * 20_000.0


@pytest.mark.slow
def test_a_kill_costs_a_twentieth_of_the_work_at_most(clock):
    found = played(clock, 0.01, 20_000.0)
    for one, following in itertools.pairwise(found):
        assert following - one < max(13.0, 0.05 * following + 3.0)
        assert following - one < 603.0
