"""CUDA graphs: a step whose hundred kernels are launched as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

WARM_UPS = 3
"""Runs before a capture: libraries choose their algorithms and allocate at the first ones."""


@lru_cache(maxsize=1)
def _pool() -> Any:
    """Memory that all graphs share: they are replayed in turn, and none reads another's."""
    return torch.cuda.graph_pool_handle()


def replayed(step: Callable[[], None], changes: Sequence[Tensor]) -> Callable[[], None]:
    """Capture `step` as a CUDA graph; calling the result replays it.

    Parameters
    ----------
    step : callable
        Reads and writes tensors that stay where they are.
    changes : sequence of torch.Tensor
        What it changes; as it was before, once this returns.
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
