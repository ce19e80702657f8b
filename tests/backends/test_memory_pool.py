"""Memory that is kept from run to run."""

import pytest
import torch

from netsim.backends import memory_pool
from netsim.backends.memory_pool import SMALLEST_BLOCK_BYTES, allocate

CPU = torch.device("cpu")
ROWS = SMALLEST_BLOCK_BYTES // 4000 + 1


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(memory_pool, "_free", [])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_a_tensor_has_the_shape_asked_for_and_starts_at_a_page(dtype):
    some = allocate((ROWS, 1000), CPU, dtype)
    assert some.shape == (ROWS, 1000)
    assert some.dtype == dtype
    assert some.is_contiguous()
    assert some.data_ptr() % 4096 == 0
    some.fill_(7)
    assert (some == 7).all()


def test_what_nobody_uses_is_used_again():
    some = allocate((ROWS, 1000), CPU, torch.float32)
    address = some.data_ptr()
    del some
    assert allocate((ROWS, 500), CPU, torch.float64).data_ptr() == address


def test_what_a_view_looks_at_is_left_alone():
    some = allocate((ROWS, 1000), CPU, torch.float32).fill_(1.0)
    seen = some[3]
    del some
    other = allocate((ROWS, 1000), CPU, torch.float32).fill_(2.0)
    assert (seen == 1.0).all()
    address = other.data_ptr()
    del other
    assert allocate((ROWS, 1000), CPU, torch.float32).data_ptr() == address


def test_the_smallest_that_fits_is_taken():
    large, small = (allocate((k * ROWS, 1000), CPU, torch.float32) for k in (4, 3))
    addresses = large.data_ptr(), small.data_ptr()
    del large, small
    found = [allocate((k * ROWS, 1000), CPU, torch.float32) for k in (2, 3)]
    assert [f.data_ptr() for f in found] == [addresses[1], addresses[0]]


@pytest.mark.parametrize(("before", "after"), [(1, 2), (5, 2)])
def test_what_is_of_another_size_goes_back_to_the_system(before, after):
    some = allocate((before * ROWS, 1000), CPU, torch.float32)
    del some
    assert len(memory_pool._free) == 1
    other = allocate((after * ROWS, 1000), CPU, torch.float32)
    assert memory_pool._free == []
    del other
    assert len(memory_pool._free) == 1


def test_little_is_asked_of_torch():
    some = allocate((10, 10), CPU, torch.float32)
    del some
    assert memory_pool._free == []


def test_memory_that_is_not_there_is_told_as_torch_tells_it():
    """So that many jobs are tried in halves before they are run one by one."""
    with pytest.raises(torch.OutOfMemoryError, match="can't allocate memory"):
        allocate((1 << 30, 1 << 16), CPU, torch.float32)
