"""How many floating-point operations a local step takes."""

import copy
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from netsim.learning.architecture import Architecture


def step_flops(architecture: Architecture, input_shape: Sequence[int], batch_size: int) -> float:
    """Operations of one forward and backward pass of cross-entropy over a minibatch.

    Counted by PyTorch's counter, two a multiply-accumulate: matrix products and convolutions.
    Element-wise work and the optimizer's own are left out, as is usual.

    Parameters
    ----------
    architecture : Architecture
    input_shape : sequence of int
        Shape of one sample.
    batch_size : int
        Samples in the minibatch.

    Returns
    -------
    float
    """
    meta = torch.device("meta")
    module = copy.deepcopy(architecture.module).to(meta).train()
    x = torch.empty((batch_size, *input_shape), dtype=architecture.dtype, device=meta)
    y = torch.zeros(batch_size, dtype=torch.int64, device=meta)
    with FlopCounterMode(display=False) as counter:
        torch.autograd.backward(F.cross_entropy(module(x), y))
    return float(counter.get_total_flops())
