"""Losses that look at a model elsewhere than where it is: at other values of its parameters.

For a loss of `node.train` that needs the output of a model, or a gradient, at a point computed from
the parameters that are trained (a mixture, a step ahead), or that holds a part of the model fixed.
"""

from typing import Any

import torch
from torch import Tensor
from torch.func import grad

from netsim.learning.functional_call import call_with
from netsim.learning.shards import Batch


def parameters_of(module: Any) -> Tensor:
    """The parameters of a model, or of a part such as `model.head`, as one row (P,)."""
    return torch.cat([p.reshape(-1) for p in module.parameters()])


def call_at(module: Any, row: Tensor, x: Tensor) -> Tensor:
    """Call a model, or a part of one, with other parameters than its own.

    Parameters
    ----------
    module : torch.nn.Module
    row : torch.Tensor
        (P,) parameters, as `parameters_of` has them.
    x : torch.Tensor
        (n, ...) what the module takes.

    Returns
    -------
    torch.Tensor
        What `module(x)` is there; running statistics change as in any call.

    Examples
    --------
    >>> def mixture_loss(model, batch, learned):
    ...     halfway = (parameters_of(model) + learned["v"]) / 2
    ...     return batch.loss(call_at(model, halfway, batch.x))
    """
    found: Tensor = call_with(module, _split_row(module, row), (x,))
    return found


def gradient_at(model: Any, row: Tensor, batch: Batch) -> Tensor:
    """Gradient of the task's mean loss at other parameters than the model's own.

    Parameters
    ----------
    model : torch.nn.Module
    row : torch.Tensor
        (P,) parameters, as `parameters_of` has them.
    batch : Batch

    Returns
    -------
    torch.Tensor
        (P,), which can be differentiated once more unless `row` is detached. Running statistics
        stay as they are.
    """

    def loss(row: Tensor, buffers: dict[str, Tensor]) -> Tensor:
        return batch.loss(call_with(model, _split_row(model, row) | buffers, (batch.x,)))

    # As an argument, since a function that is differentiated may not change what it captures.
    gradient: Tensor = grad(loss)(row, {n: b.clone() for n, b in model.named_buffers()})
    return gradient


def _split_row(module: Any, row: Tensor) -> dict[str, Tensor]:
    own = dict(module.named_parameters())
    pieces = torch.split(row, [p.numel() for p in own.values()])
    return {n: new.view_as(p) for (n, p), new in zip(own.items(), pieces, strict=True)}
