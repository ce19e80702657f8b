"""Laws of churn: a node's state is a function of (seed, node, time)."""

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.rng import Streams
from netsim.topology.churn import Timeline, timeline
from netsim.topology.churn.exponential import Exponential
from netsim.topology.churn.none import NoChurn
from netsim.topology.churn.trace import Trace
from netsim.units import FOREVER_NS, to_ns

LAW = Exponential(mean_on_s=60.0, mean_off_s=20.0)


def lives(law=LAW, nodes=4, seed=0):
    return timeline([law] * nodes, Streams(seed))


def test_nodes_that_are_always_on_need_no_timeline():
    assert timeline([NoChurn()] * 3, Streams(0)) is None


def test_the_order_of_questions_changes_no_answer():
    times = [to_ns(t) for t in np.random.default_rng(0).uniform(0, 5000, 60)]
    asked = lives()
    backwards = lives()
    answers = {(i, t): asked.is_on(i, t) for i in range(4) for t in times}
    for i, t in reversed(answers):
        assert backwards.is_on(i, t) == answers[i, t]
    alone = timeline([NoChurn(), NoChurn(), NoChurn(), LAW], Streams(0))
    assert all(alone.is_on(3, t) == answers[3, t] for t in times)
    assert any(lives(seed=1).is_on(i, t) != on for (i, t), on in answers.items())


def test_a_switch_changes_the_state_from_its_instant_on():
    found = lives()
    for node in range(4):
        t = 0
        for _ in range(50):
            switch = found.next_switch(node, t)
            assert found.is_on(node, t) == found.is_on(node, switch - 1)
            assert found.is_on(node, switch - 1) != found.is_on(node, switch)
            t = switch


def test_work_ends_after_so_much_time_on():
    life = Timeline([None])
    assert life.work_ends(0, 5, 7) == 12
    trace = timeline_of([(10, 20), (30, 40)])
    assert trace.work_ends(0, 12, 5) == 17
    assert trace.work_ends(0, 12, 8) == 20  # done at the very instant of the switch
    assert trace.work_ends(0, 12, 9) == 31
    assert trace.work_ends(0, 0, 0) == 10  # not before it is on
    assert trace.work_ends(0, 12, 18) == 40
    assert trace.work_ends(0, 12, 19) == FOREVER_NS


def timeline_of(intervals):
    from netsim.topology.churn import Periods

    switches = [t for interval in intervals for t in interval if t > 0]
    return Timeline([Periods(intervals[0][0] == 0, iter(switches))])


def test_a_trace_says_when_nodes_are_on(tmp_path):
    path = tmp_path / "on.csv"
    path.write_text("off_s,node,on_s\n9,2,4.5\n2.5,2,0\n,0,1\n3,7,1\n")
    found = timeline([Trace(path="on.csv")] * 3, Streams(0), tmp_path)
    switches = {0: [1.0], 1: [], 2: [2.5, 4.5, 9.0]}
    starts_on = {0: False, 1: True, 2: True}
    for node, expected in switches.items():
        assert found.is_on(node, 0) == starts_on[node]
        t, seen = 0, []
        while (t := found.next_switch(node, t)) is not None:
            seen.append(t / 1e9)
        assert seen == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("node,on_s\n0,1\n", "no column off_s; it has node, on_s, and needs node, on_s, off_s"),
        ("node,on_s,off_s\n", "has no rows"),
        ("node,on_s,off_s\n0,1,2\n0,3,x\n", "line 3: off_s must be a number"),
        ("node,on_s,off_s\n0,1,2\n-1,3,4\n", "line 3: node must be a node's number, 0, 1, ..."),
        ("node,on_s,off_s\n0,1,2\n.5,3,4\n", "line 3: node must be a node's number, 0, 1, ..."),
        ("node,on_s,off_s\n0,,2\n", "line 2: on_s is empty"),
        ("node,on_s,off_s\n0,1,2\n0,inf,4\n", "line 3: on_s must be a finite number"),
        ("node,on_s,off_s\n0,-1,2\n", "line 2: on_s must be at least 0"),
        ("node,on_s,off_s\n0,2,2\n", "line 2: off_s must be later than on_s"),
        ("node,on_s,off_s\n0,5,8\n1,1,3\n0,1,6\n", "line 2: the interval begins before"),
        ("node,on_s,off_s\n7,1,2\n", "line 2: node must be one of 0 to 2"),
        ("node,on_s,on_s,off_s\n0,1,1,2\n", "columns 2 and 3 have the same name"),
        ("# mine\nnode,on_s,off_s\n\n0,1,2\n# his\n0,-1,2\n", "line 6: on_s must be at least 0"),
        ("node, on_s, off_s\n0, 1, 0\n", "line 2: off_s must be later than on_s"),
        ("node,on_s,off_s\n1e300,1,2\n", "line 2: node must be a node's number"),
        ("node,on_s,off_s\n0,1\n", "line 2: has 2 columns, the header 3"),
    ],
)
def test_a_bad_trace_is_told_with_its_line(tmp_path, text, problem):
    path = tmp_path / "on.csv"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        timeline([Trace(path=str(path))] * 3, Streams(0))
    assert str(caught.value).startswith(f'[churn] path = "{path}": ')
    assert problem in str(caught.value)


def test_a_trace_that_is_not_there_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(ScenarioError, match=r'^\[churn\] path = "on.csv": no such file; looked'):
        timeline([Trace(path="on.csv")], Streams(0), tmp_path)
