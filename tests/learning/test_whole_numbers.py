"""Whole numbers in a row of real ones: what is written is read again, and nothing else is."""

import pytest
import torch

from netsim.learning.whole_numbers import decode_whole, encode_whole, entries_of

LIMITS = {dtype: torch.iinfo(dtype) for dtype in (torch.uint8, torch.int8, torch.int16)}
LIMITS |= {dtype: torch.iinfo(dtype) for dtype in (torch.int32, torch.int64)}


@pytest.mark.parametrize("real", [torch.float32, torch.float64])
@pytest.mark.parametrize("dtype", LIMITS)
def test_every_whole_number_comes_back(dtype, real):
    least, most = LIMITS[dtype].min, LIMITS[dtype].max
    draws = torch.Generator().manual_seed(0)
    drawn = torch.randint(least, most, (500,), generator=draws, dtype=dtype)
    edges = [least, most, 0, 1, most // 2, least // 2, most - 1]
    values = torch.cat([drawn, torch.tensor(edges, dtype=dtype)]).view(3, -1)
    row = encode_whole(values, real)
    assert row.shape == (values.numel() * entries_of(dtype),)
    assert row.dtype == real
    assert torch.equal(decode_whole(row, values), values)


def test_truth_values_come_back():
    values = torch.tensor([[True, False], [False, True]])
    assert torch.equal(decode_whole(encode_whole(values, torch.float32), values), values)


def test_entries_that_are_no_whole_numbers_are_read_as_some():
    like = torch.tensor([1, 2, 3])
    row = torch.full((3 * entries_of(torch.int64),), float("nan"))
    assert torch.equal(decode_whole(row, like), torch.zeros(3, dtype=torch.int64))
    row = encode_whole(like, torch.float32) + 0.25
    assert torch.equal(decode_whole(row, like), like)
