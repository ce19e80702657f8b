"""The table of intervals: what is taken back is taken from the message that it was of."""

from itertools import permutations

import pytest

from netsim.recording.intervals import Intervals
from netsim.recording.schema import TRANSMIT


class Rows:
    """Stand-in for the parts of a table."""

    def __init__(self):
        self.found = []

    def add(self, row):
        self.found.append((row.t_begin_ns, row.t_end_ns, row.busy_ns))
        return False


PIECES = [(0, 100, 80.0), (50, 100, 5.0), (20, 100, 30.0), (0, 90, 9.0)]
"""Begin, end and work of what one radio is to send; three end at once."""


@pytest.mark.parametrize("order", list(permutations(range(4)))[::5])
@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("until_ns", [50, 60, 99])
def test_of_messages_that_end_at_once_the_right_one_is_cut_short(order, which, until_ns):
    rows = Rows()
    intervals = Intervals(rows)
    for k in order:
        intervals.on_air(0, 7, TRANSMIT, *PIECES[k])
    begin_ns, end_ns, busy_ns = PIECES[which]
    left_ns = busy_ns * (until_ns - begin_ns) / (end_ns - begin_ns)
    intervals.on_air(10, 7, TRANSMIT, end_ns, until_ns, left_ns - busy_ns)
    intervals.end(1000)
    cut = [(begin_ns, until_ns, round(left_ns))] if until_ns > begin_ns else []
    others = [piece for k, piece in enumerate(PIECES) if k != which]
    assert sorted(rows.found) == sorted(others + cut)
