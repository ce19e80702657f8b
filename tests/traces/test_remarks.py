"""Start times of runs in a file, and remarks on how far the file reaches."""

import pytest

from netsim.errors import DataError
from netsim.traces.files import Text
from netsim.traces.moments import begin, is_time_of_day, moment, require_seconds
from netsim.traces.remarks import noting

WHERE = '[mobility] path = "x"'


@pytest.mark.parametrize(
    ("word", "seconds"),
    [
        ("12.5", 12.5),
        ("-3", -3.0),
        ("1e3", 1000.0),
        ("1:02:03", 3723.0),
        ("01:02:03.25", 3723.25),
        ("2:01:02:03", 2 * 86400 + 3723.0),
        ("1970-01-01", 0.0),
        ("1970-01-02T00:00:01", 86401.0),
        ("2008-06-10 07:58:07", 1213084687.0),
        ("2008-06-10T07:58:07Z", 1213084687.0),
        ("2008-06-10T09:58:07.5+02:00", 1213084687.5),
    ],
)
def test_times_are_seconds_times_of_day_and_dates(word, seconds):
    assert moment(word) == seconds
    assert is_time_of_day(word) == (":" in word and "-" not in word)


@pytest.mark.parametrize(
    "word",
    ["", "x", "nan", "inf", "1_0", "12:30", "1:60:00", "1:00:61", "10/06/2008", "2008-13-01", "1,5",
     "10.06.2008 07:58", "07:58 PM"],
)  # fmt: skip
def test_what_is_no_certain_time_is_none(word):
    assert moment(word) is None
    with pytest.raises(DataError, match=r"line 3: column 1 is .*, not a time in seconds"):
        require_seconds(Text(WHERE, ""), word, 3, "column 1")


def told(first_s, last_s, start_s=None, horizon_s=100.0, **more):
    with noting() as notes:
        assert begin(WHERE, first_s, last_s, start_s, "nodes stand still", **more) == (
            first_s if start_s is None else start_s
        )
    return notes.remarks(horizon_s)


@pytest.mark.parametrize("first_s", [0.0, 1213084687.0])
def test_a_run_that_a_file_covers_is_not_remarked_on(first_s):
    for last_s in (10.0, 50.0, 100.0, 1e6):
        assert told(first_s, first_s + last_s) == []
    assert told(first_s, first_s) == []  # one instant
    assert told(first_s, first_s + 1.0, repeats=True) == []


@pytest.mark.parametrize(
    ("first_s", "last_s", "start_s", "more", "share"),
    [
        (0.0, 9.0, None, {}, "has rows for 9 s of the run's 100 s"),
        (1e9, 1e9 + 9.0, None, {}, "has rows for 9 s of the run's 100 s"),
        (1e9, 1e9 + 500.0, 0.0, {}, "has no row for 0 s of the run's 100 s"),
        (0.0, 50.0, 45.0, {}, "has rows for 5 s"),
        (0.0, 50.0, 60.0, {}, "has no row for 0 s"),
        (50.0, 50.0, 60.0, {}, "has no row for 0 s"),
        (0.0, 500.0, None, {"speedup": 100.0}, "has rows for 5 s"),
        (200.0, 300.0, 0.0, {"repeats": True}, "has no row for 0 s"),
    ],
)
def test_less_than_a_tenth_of_the_run_is_remarked_on(first_s, last_s, start_s, more, share):
    [remark] = told(first_s, last_s, start_s, **more)
    assert remark.startswith(WHERE)
    assert share in remark
    assert remark.endswith("beyond its rows nodes stand still")


def test_a_first_row_within_the_run_may_count_from_its_start():
    [remark] = told(5.0, 90.0)
    assert "its first row, at 5 s, is played when the run begins" in remark
    assert "set start_s = 0" in remark
    assert told(5.0, 90.0, 0.0) == []
    assert told(5.0, 90.0, clear=True) == []


def test_files_of_one_clock_that_begin_at_other_times_are_remarked_on():
    def both(first_s, other_s, **more):
        with noting() as notes:
            begin(WHERE, first_s, first_s + 900.0, None, "nodes stand still")
            begin('[churn] path = "y"', other_s, other_s + 900.0, None, "nodes are off", **more)
        return notes.remarks(1000.0)

    [remark] = both(1213084687.0, 1213084700.0, clear=True)
    assert "from 1213084687 s on, its first row, and [churn]" in remark
    assert "set start_s of both" in remark
    assert both(1213084687.0, 1213084687.0) == []
    assert both(1213084687.0, 1313084687.0) == []  # years apart: they can't be of one time
    assert both(0.0, 0.0) == []


def test_times_before_0_need_a_start():
    with pytest.raises(DataError, match=r"the time -5 s is before 0; .* unless start_s says"):
        told(-5.0, 90.0)
    assert told(-5.0, 90.0, -5.0) == []
