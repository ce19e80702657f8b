"""Number of floating-point operations of a local step."""

import copy
from collections.abc import Sequence

import torch
from torch.utils.flop_counter import FlopCounterMode

from netsim.learning.architecture import Architecture


def step_flops(
    architecture: Architecture,
    input_shape: Sequence[int],
    batch_size: int,
    kind: torch.dtype | None = None,
) -> float:
    """Operations of one forward and backward pass over a minibatch.

    Counted by PyTorch's counter, two a multiply-accumulate: matrix products and convolutions.
    Element-wise work, the loss's included, and the optimizer's own are left out, as is usual.

    Parameters
    ----------
    architecture : Architecture
    input_shape : sequence of int
        Shape of one sample.
    batch_size : int
        Samples in the minibatch.
    kind : torch.dtype, optional
        Type of the inputs; the parameters' unless it is given.

    Returns
    -------
    float
    """
    meta = torch.device("meta")
    module = copy.deepcopy(architecture.module).to(meta).train()
    x = torch.empty((batch_size, *input_shape), dtype=kind or architecture.dtype, device=meta)
    with FlopCounterMode(display=False) as counter:
        torch.autograd.backward(module(x).sum())
    return float(counter.get_total_flops())
