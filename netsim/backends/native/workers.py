"""Threads that run a call together, each in a workspace of its own."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref

import numpy as np
from numpy.typing import NDArray

from netsim.backends.native.library import Library, Variant
from netsim.backends.native.records import HEADER_BYTES, Call

_ALIGNMENT = 64


def cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """Workspaces and the threads that use them.

    Parameters
    ----------
    library : Library
    threads : int
        At most so many work on a call, the caller's own among them.

    Notes
    -----
    Threads take whole jobs from a counter that they share, and a job is computed by one thread in
    one order: the bits of a result depend neither on how many threads there are nor on which of
    them was quicker.
    """

    def __init__(self, library: Library, threads: int) -> None:
        self._library, self.threads = library, threads
        self._spaces: list[NDArray[np.uint8]] = []
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def run(self, call: Call, variant: Variant, scalar_bytes: int, values: int) -> None:
        """Run a call to its end.

        Parameters
        ----------
        call : Call
        variant : Variant
        scalar_bytes : int
        values : int
            Scalars of the largest table's values.
        """
        scalars = self._library.workspace_scalars(byref(call)) + values
        needed = HEADER_BYTES + scalars * scalar_bytes + _ALIGNMENT
        with self._lock:
            width = max(1, min(self.threads, call.num_jobs))
            for k in range(width):
                if k == len(self._spaces):
                    self._spaces.append(_space(needed))
                elif len(self._spaces[k]) < needed:
                    self._spaces[k] = _space(needed)

            def work(k: int) -> None:
                space = self._spaces[k]
                start = space.ctypes.data
                start += -start % _ALIGNMENT
                self._library.run(byref(call), start, variant.number, scalar_bytes)

            if width > 1 and self._pool is None:
                self._pool = ThreadPoolExecutor(self.threads - 1, "netsim-native")
            others = [self._pool.submit(work, k) for k in range(1, width)] if self._pool else []
            work(0)
            for other in others:
                other.result()


def _space(size: int) -> NDArray[np.uint8]:
    """Fresh memory, its header zero; the rest is written before it is read."""
    space = np.empty(size, dtype=np.uint8)
    space[: 2 * _ALIGNMENT] = 0
    return space
