"""Threads that run a call together, each in a workspace of its own."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_int64

import numpy as np
from numpy.typing import NDArray

from netsim.backends.native.library import Library, Variant
from netsim.backends.native.records import HEADER_BYTES, Call, Mode
from netsim.backends.sharing import Sharing

_ALIGNMENT = 64


WORK_A_THREAD = 300_000
"""Fewest scalars for which a thread is woken; see `_estimate_work`.

Each takes 0.5 to 2 ns, and waking a thread some 0.1 ms.
"""


class Workers:
    """Workspaces and the threads that use them.

    Parameters
    ----------
    library : Library
    threads : int
        At most so many work on a call, the caller's own among them; fewer where there is too
        little to do, and one alone where several do not pay; see `sharing`.

    Notes
    -----
    Threads take whole jobs from a counter that they share, and a job is computed by one thread in
    one order: the bits of a result depend neither on how many threads there are nor on which of
    them was quicker. Threads without work sleep. The caller does not wait for a thread that has
    not begun when no job is left, as happens where other programs keep the cores busy.
    """

    def __init__(self, library: Library, threads: int) -> None:
        self._library, self.threads = library, threads
        self._spaces: list[NDArray[np.uint8]] = []
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._sharing: defaultdict[int, Sharing] = defaultdict(Sharing)

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
        work = _estimate_work(call, values)
        most = min(self.threads, call.num_jobs, work // WORK_A_THREAD)
        with self._lock:
            if most < 2:
                self._run(call, variant, scalar_bytes, needed, 1)
                return
            sharing = self._sharing[work.bit_length()]
            width = most if sharing.is_worthwhile() else 1
            start = time.perf_counter()
            cpu_s = self._run(call, variant, scalar_bytes, needed, width)
            sharing.note(width, time.perf_counter() - start, cpu_s)

    def _run(
        self, call: Call, variant: Variant, scalar_bytes: int, space_bytes: int, width: int
    ) -> float:
        """Run a call by some threads; gives their CPU time [s]."""
        for k in range(width):
            if k == len(self._spaces):
                self._spaces.append(_fresh_memory(space_bytes))
            elif len(self._spaces[k]) < space_bytes:
                self._spaces[k] = _fresh_memory(space_bytes)

        def work(k: int) -> float:
            space = self._spaces[k]
            start = space.ctypes.data
            start += -start % _ALIGNMENT
            before = time.thread_time()
            self._library.run(byref(call), start, variant.number, scalar_bytes)
            return time.thread_time() - before

        if width > 1 and self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1, "netsim-native")
        others = [self._pool.submit(work, k) for k in range(1, width)] if self._pool else []
        cpu_s = work(0)
        return cpu_s + sum(other.result() for other in others if not other.cancel())


def _estimate_work(call: Call, values: int) -> int:
    """Scalars that a call goes through, about: weights and values, step by step."""
    if call.mode == Mode.SUM:
        terms = c_int64.from_address(call.first_source + 8 * call.num_jobs).value
        return int(terms * call.num_values) // 4  # 0.1 to 0.3 ns each
    if not call.first_step:
        return 0
    steps = c_int64.from_address(call.first_step + 8 * call.num_jobs).value
    return int(steps * (call.num_packed + values))


def _fresh_memory(size: int) -> NDArray[np.uint8]:
    """Fresh memory, its header zero; the rest is written before it is read."""
    space = np.empty(size, dtype=np.uint8)
    space[: 2 * _ALIGNMENT] = 0
    return space
