"""Calls of actors: what goes together, and what nothing may overtake."""

import pickle

import pytest

from netsim.engine.actors.calls import AHEAD, TOGETHER, Calls, Part
from netsim.engine.actors.ray_pool import LostError


class Pool:
    """A pool that notes calls; a reply is the number of its call."""

    size, at_once_bytes = 2, 100

    def __init__(self):
        self.made, self.lost = [], set()

    def call(self, actor, method, *given):
        if method == "run":
            levels, *moved = given
            given = ([jobs for _, jobs in pickle.loads(levels)], moved)
        self.made.append((actor, method, *given))
        return len(self.made) - 1

    def get(self, handle):
        if isinstance(handle, list):
            return [self.get(one) for one in handle]
        if handle in self.lost:
            raise LostError("gone")
        return handle


@pytest.fixture
def pool():
    return Pool()


def part(name, size_bytes=0, gone=()):
    return Part([name], [f"job {name}"], gone, size_bytes)


def test_levels_without_rows_of_others_are_one_call(pool):
    calls = Calls(pool)
    for name in "abcdef":
        calls.run(0, part(name), None)
    calls.send_all()
    assert TOGETHER == 4
    assert pool.made == [
        (0, "run", [["a"], ["b"], ["c"], ["d"]], []),
        (0, "run", [["e"], ["f"]], []),
    ]
    assert [sent.packed for sent in calls.sent] == [["a", "b", "c", "d"], ["e", "f"]]
    assert calls.sent[1].jobs == ["job e", "job f"]


@pytest.mark.parametrize("moved", [("rows",), ()], ids=["come with it", "came before"])
def test_a_level_that_reads_rows_of_others_begins_a_call(pool, moved):
    calls = Calls(pool)
    calls.run(0, part("a"), None)
    calls.run(0, part("b"), moved)
    calls.run(0, part("c"), None)
    calls.send_all()
    assert pool.made == [(0, "run", [["a"]], []), (0, "run", [["b"], ["c"]], list(moved))]


def test_as_many_rows_are_held_as_go_to_an_actor_together(pool):
    """More would be moved and made at once, by a call that nobody has counted."""
    calls = Calls(pool)
    for name in "abc":
        calls.run(0, part(name, 60), None)
    calls.run(1, part("d", 101), None)
    assert pool.made == [(0, "run", [["a"], ["b"]], []), (1, "run", [["d"]], [])]
    assert [sent.size_bytes for sent in calls.sent] == [120, 101]
    calls.send_all()
    assert pool.made[-1] == (0, "run", [["c"]], [])


def test_nothing_overtakes_what_is_held_for_its_actor(pool):
    calls = Calls(pool)
    calls.run(0, part("a"), None)
    calls.run(1, part("b"), None)
    calls.call(0, "give", {7: None})
    assert pool.made == [(0, "run", [["a"]], []), (0, "give", {7: None})]


def test_what_nobody_needs_is_dropped_before_its_own_level_only(pool):
    calls = Calls(pool)
    calls.run(0, part("a", gone=[1]), None)
    calls.run(0, part("b", gone=[2]), None)
    pool.call = lambda *given: pool.made.append(given)
    calls.send_all()
    assert pickle.loads(pool.made[0][2]) == [([1], ["a"]), ([2], ["b"])]


def test_nobody_is_left_without_work_by_a_wait(pool):
    calls = Calls(pool)
    for name in "ab":
        calls.run(0, part(name), ("rows",))
    calls.run(0, part("c"), ("rows",))
    calls.run(1, part("d"), None)
    assert [(sent.actor, reply) for sent, reply in calls.taken(1)] == [(0, 0)]
    assert [one[0] for one in pool.made] == [0, 0, 1]  # actor 0 has b, and c is still held
    calls.send_all()
    assert pool.made[-1] == (0, "run", [["c"]], ["rows"])


def test_a_loss_takes_none(pool):
    calls = Calls(pool)
    for name in "abc":
        calls.run(0, part(name), ())
    calls.send_all()
    pool.lost = {1}
    with pytest.raises(LostError):
        list(calls.taken(3))
    assert len(calls.sent) == 3
    found = [reply for _, reply in calls.taken_one_by_one()]
    assert found[0] == 0
    assert isinstance(found[1], LostError)
    assert found[2] == 2
    assert not calls.sent


def test_calls_and_bytes_under_way_are_bounded(pool):
    calls = Calls(pool)
    for number in range(AHEAD * pool.size):
        calls.run(0, part(number), ())
    calls.send_all()
    assert not calls.are_many()
    calls.run(0, part("more"), ())
    calls.send_all()
    assert calls.are_many()
    large = Calls(pool)
    large.run(0, part("a", 201), ())
    large.send_all()
    assert not large.are_many()  # one alone has to be, whatever it takes
    large.run(1, part("b", 1), ())
    large.send_all()
    assert large.are_many()
