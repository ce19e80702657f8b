"""CUDA graphs: the many kernels of a training step, launched as one. Experimental.

No capture has been run on a GPU yet (`benchmarks/gpu.py` does). Tests show on a CPU that a step may
be captured: it makes the host wait for nothing, and its operations, repeated on the same memory,
give what the step gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

WARM_UPS = 3
"""Runs before a capture: in the first ones libraries choose algorithms and allocate memory."""


@lru_cache(maxsize=1)
def _pool() -> Any:
    """Memory that all graphs share: one is replayed at a time, and none reads another's values."""
    return torch.cuda.graph_pool_handle()


def replayed(step: Callable[[], None], changes: Sequence[Tensor]) -> Callable[[], None]:
    """Capture `step` as a CUDA graph; calling the result replays it.

    Parameters
    ----------
    step : callable
        Reads and writes tensors whose memory stays the same from call to call.
    changes : sequence of torch.Tensor
        The tensors that it changes; their values are restored after the capture.

    Returns
    -------
    callable
        Replays the step.
    """
    before = [t.clone() for t in changes]
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=_pool()):
        step()
    for tensor, old in zip(changes, before, strict=True):
        tensor.copy_(old)
    return graph.replay
