"""CUDA graphs: the many kernels of a training step, launched as one. Experimental.

Off unless the environment variable NETSIM_CUDA_GRAPHS is 1, since no capture has been run on a GPU
yet (`benchmarks/gpu.py --part graphs` does). Tests show on a CPU that a step may be captured: it
makes the host wait for nothing, and its operations, repeated on the same memory, give what the step
gives.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from netsim.learning.architecture import Architecture

WARM_UPS = 3
"""Runs before a capture: in the first ones libraries choose algorithms and allocate memory."""


def is_captured(architecture: Architecture) -> bool:
    """Return whether steps are CUDA graphs: if asked for, on a GPU, without random layers."""
    is_possible = architecture.device.type == "cuda" and not architecture.is_random
    return is_possible and os.environ.get("NETSIM_CUDA_GRAPHS") == "1"


def captured_width(active: int, capacity: int) -> int:
    """Lanes that take part in a captured step: a power of two, so that few graphs are captured.

    Parameters
    ----------
    active : int
        Lanes that still train.
    capacity : int
        Lanes of the workspace.
    """
    return min(1 << (active - 1).bit_length(), capacity)


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
