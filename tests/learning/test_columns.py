"""Columns of rows: unions, and places in rows that have only some."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from netsim.learning.columns import merge_ranges, number_of, places_in, take, union

LENGTH = 40

columns = st.sets(st.integers(0, LENGTH - 1), min_size=1).map(
    lambda found: merge_ranges((one, one + 1) for one in sorted(found))
)


def members(ranges):
    return {one for start, stop in ranges for one in range(start, stop)}


@given(columns, columns)
def test_a_union_has_the_columns_of_both_once(one, other):
    both = union(one, other)
    assert members(both) == members(one) | members(other)
    assert number_of(both) == len(members(both))
    assert both == merge_ranges((c, c + 1) for c in sorted(members(both)))


def test_all_columns_and_some_are_all():
    assert union(None, ((0, 3),)) is None
    assert union(((0, 3),), None) is None
    assert union((), None) is None


@given(columns, columns)
def test_a_row_of_some_columns_gives_each_of_them(one, other):
    row, held = torch.arange(LENGTH), union(one, other)
    assert torch.equal(take(take(row, held), places_in(held, one)), take(row, one))
