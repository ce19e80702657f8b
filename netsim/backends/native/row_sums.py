"""Weighted sums of rows by the kernel: one pass over them, shared by the threads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from netsim.backends.native.data import Sums
from netsim.backends.native.library import Variant
from netsim.backends.native.records import Call, Mode
from netsim.backends.native.workers import Workers
from netsim.backends.parameter_store import Terms


def sums_of(terms: Terms) -> Sums:
    """Return the terms of sums as the kernel reads them."""
    first = np.concatenate([[0], np.cumsum(terms.counts, dtype=np.int64)])
    return Sums(terms.slab.storage, np.array(terms.rows, dtype=np.int64), terms.weights, first)


class RowAdder:
    """Adds rows by the kernel, each sum by one thread and in the order of its terms.

    Parameters
    ----------
    variant : Variant
    workers : Workers
    """

    def __init__(self, variant: Variant, workers: Workers) -> None:
        self._variant, self._workers = variant, workers

    def __call__(self, terms: Terms, out: Tensor, at: Sequence[int]) -> None:
        """Write sums into rows; see `netsim.backends.parameter_store.Adder`."""
        sums, target = sums_of(terms), np.array(at, dtype=np.int64)
        length = sums.storage.shape[1]
        if (
            out.shape[1] != length
            or out.dtype != sums.storage.dtype
            or len(target) != len(terms.counts)
        ):
            raise ValueError(f"rows of {length} values, one for each sum")
        next_job = np.zeros(1, dtype=np.int64)
        call = Call(mode=Mode.SUM, num_jobs=len(target), num_values=length)
        call.next, call.target = next_job.ctypes.data, target.ctypes.data
        call.rows, call.rows_pitch = sums.storage.data_ptr(), sums.storage.stride(0)
        call.source, call.first_source = sums.at.ctypes.data, sums.first.ctypes.data
        call.source_weights = sums.weights.data_ptr()
        call.out, call.out_pitch = out.data_ptr(), out.stride(0)
        self._workers.run(call, self._variant, out.element_size(), 0)
