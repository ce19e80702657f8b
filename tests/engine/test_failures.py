"""Messages about a run that failed."""

import errno
import os

import pytest

from netsim.engine.playing import failure_text
from netsim.errors import ComputeError


def raised(error):
    try:
        raise error
    except BaseException as caught:
        return caught


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] you tried to allocate 4304040 bytes."),
        ComputeError("node 1 at 2 s: training failed: DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_a_lack_of_memory_is_called_so(error):
    assert failure_text(raised(error)).startswith("out of memory: ")


def test_it_is_called_so_once():
    text = failure_text(raised(RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")))
    assert text.startswith("RuntimeError: CUDA out of memory. Tried")


def test_an_error_without_words_has_its_name():
    assert failure_text(raised(KeyError())).startswith("KeyError\nat ")
