"""Functions of values and of models, for many nodes at once through `torch.func.vmap`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import vmap

from netsim.backends.parameter_store import padded_length
from netsim.backends.stacked.batch_invariant import BatchInvariant
from netsim.backends.stacked.lanes import LEAST_LANES
from netsim.learning.architecture import Architecture
from netsim.learning.functional_call import call_with
from netsim.learning.functions import fill_slots, require_unchanged, tensor_versions
from netsim.learning.hidden_state import is_of_lanes
from netsim.learning.shards import Batch


class ModelFunction(nn.Module):
    """A function of a model as a module, for `call_with` with a lane's tensors."""

    def __init__(self, model: nn.Module, function: Callable[..., Any]) -> None:
        super().__init__()
        self.model, self.function = model, function

    def forward(self, *args: Any) -> Any:
        attributes = vars(self.model)
        before = dict(attributes)
        try:
            return self.function(self.model, *args)
        finally:  # no tensor of a lane outlives the call
            for name, value in list(attributes.items()):
                if isinstance(value, Tensor) and is_of_lanes(value):
                    del attributes[name]
                    attributes |= {name: before[name]} if name in before else {}


def tensors_of(architecture: Architecture, row: Tensor) -> dict[str, Tensor]:
    """The named tensors of a model, as views of its row (D,)."""
    return {f"model.{s.name}": row[s.start : s.stop].view(s.shape) for s in architecture.slices}


@torch.no_grad()
def measure(
    architecture: Architecture,
    function: Callable[..., Any],
    given: tuple[Any, ...],
    samples: Batch,
    inputs: Sequence[Tensor],
) -> list[Tensor]:
    """Evaluate a function on many models, each on its own samples.

    Parameters
    ----------
    architecture : Architecture
    function : callable
        function(model, batch, *given)
    given : tuple
        Its further arguments, with `Slot(i)` in place of the i-th tensor among them.
    samples : Batch
        x (W, n, ...) and y (W, n, ...).
    inputs : sequence of torch.Tensor
        (W, D) models, then (W, ...) for each `Slot`.

    Returns
    -------
    list of torch.Tensor
        W results.
    """
    models, *values = inputs
    length = models.shape[1]
    rows = F.pad(models, (0, padded_length(length) - length))[
        :, :length
    ]  # each at an aligned address
    architecture.module.train(False)
    called = ModelFunction(architecture.module, function)
    scale, task = samples.scale, samples.task

    def one(row: Tensor, x: Tensor, y: Tensor, *values: Tensor) -> Any:
        batch = Batch(x, y, None, scale, task)
        return call_with(called, tensors_of(architecture, row), (batch, *fill_slots(given, values)))

    result: Tensor = over_lanes(function, one, rows, samples.x, samples.y, *values)
    return list(result.unbind())


def call_with_vmap(function: Callable[..., Any], args: Any, inputs: Sequence[Tensor]) -> Any:
    """A function of values under `vmap`.

    Parameters
    ----------
    function : callable
    args : tuple
        Its arguments, with `Slot(i)` in place of input i.
    inputs : sequence of torch.Tensor
        (W, ...) each.

    Returns
    -------
    torch.Tensor or tuple of torch.Tensor
        (W, ...) each.
    """
    return over_lanes(function, lambda *values: function(*fill_slots(args, values)), *inputs)


def over_lanes(named: Callable[..., Any], function: Callable[..., Any], *inputs: Tensor) -> Any:
    """`vmap`, on a CPU with at least `LEAST_LANES` lanes and batch-invariant operations.

    Parameters
    ----------
    named : callable
        The algorithm's function that `function` calls; it may not work in place.
    function : callable
    *inputs : torch.Tensor
        (W, ...) each.
    """
    if inputs[0].is_cuda:
        return vmap(function)(*inputs)
    width = len(inputs[0])
    if width < LEAST_LANES:
        inputs = tuple(x.expand(LEAST_LANES, *x.shape[1:]).contiguous() for x in inputs)
    before = tensor_versions(inputs)
    with BatchInvariant():
        results = vmap(function)(*inputs)
    require_unchanged(named, inputs, before)
    if isinstance(results, tuple):
        return tuple(r[:width] for r in results)
    return results[:width]


def unstack_results(results: Any, count: int) -> list[list[Tensor]]:
    """Results of W lanes, (W, ...) each, as a list of results per lane."""
    several: Mapping[int, Tensor] | Sequence[Tensor]
    several = results if isinstance(results, tuple) else (results,)
    return [[r[i] for r in several] for i in range(count)]
