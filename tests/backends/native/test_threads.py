"""Number of threads in a call, and number of cores of a process."""

import os

import pytest

from netsim.backends.native import cores
from netsim.backends.sharing import FIRST_PAUSE, Sharing


@pytest.fixture
def quota(tmp_path, monkeypatch):
    """Return the path of the container's limit; there is none yet."""
    monkeypatch.setattr(cores, "QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda who: set(range(6)), raising=False)
    return tmp_path / "cpu.max"


def test_cores_are_those_of_the_affinity(quota):
    assert cores.available() == 6


@pytest.mark.parametrize(
    ("limit", "found"),
    [("max 100000", 6), ("250000 100000", 2), ("50000 100000", 1), ("900000 100000", 6), ("", 6)],
)
def test_a_container_limits_the_cores(quota, limit, found):
    quota.write_text(limit + "\n")
    assert cores.available() == found


def test_processes_side_by_side_share_the_cores(quota, monkeypatch):
    monkeypatch.setattr(cores, "_processes", [1])
    for processes, each in ((1, 6), (2, 3), (4, 1), (9, 1)):
        cores.share(processes)
        assert cores.cores() == each


def test_threads_that_halve_the_time_are_taken_for_every_call():
    sharing = Sharing()
    for _ in range(50):
        assert sharing.is_worthwhile()
        sharing.note(2, 0.5, 1.0)


def test_threads_that_hold_each_other_up_are_tried_ever_more_seldom_until_they_pay_again():
    sharing, tried = Sharing(), []
    for call in range(400):
        if sharing.is_worthwhile():
            tried.append(call)
            sharing.note(2, 5.0, 1.0)
        else:
            sharing.note(1, 1.2, 1.0)
    assert len(tried) < 6
    assert tried[1] == FIRST_PAUSE + 1
    for _ in range(2000):
        shared = sharing.is_worthwhile()
        sharing.note(2 if shared else 1, 0.5 if shared else 1.0, 1.0)
    assert all(sharing.is_worthwhile() for _ in range(5))


def test_on_busy_cores_threads_pay_if_they_are_quicker_than_one_of_them_there():
    sharing, shared = Sharing(), 0
    for _ in range(500):
        if sharing.is_worthwhile():
            shared += 1
            sharing.note(2, 1.1, 1.0)
        else:
            sharing.note(1, 1.5, 1.0)
    assert shared > 400
