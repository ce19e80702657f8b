"""Losses that are the cross-entropy of a model on changed samples.

    value = F.cross_entropy(model(changed(batch)), batch.y)

The kernel trains by such a loss as by the default one: PyTorch only changes the samples. Whether a
loss is one of these is seen from the functions that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from netsim.backends.native.features import standing_in
from netsim.backends.native.loss_recorder import tensors_in
from netsim.backends.native.trace import READS
from netsim.backends.stacked.functional import ModelFunction
from netsim.backends.stacked.loss_training import LossSteps
from netsim.learning.architecture import Architecture
from netsim.learning.functions import fill_slots, tensor_versions
from netsim.learning.shards import Batch

DEFAULTS = {
    "weight": None,
    "size_average": None,
    "ignore_index": -100,
    "reduce": None,
    "reduction": "mean",
    "label_smoothing": 0.0,
}
"""Further arguments of a plain cross-entropy."""

SIZES = {"size", "dim", "__len__", "numel"}
"""Functions of the outputs that do not read them."""


class OtherLossError(Exception):
    """A loss is something else than a cross-entropy of the model's outputs."""


class LossObserver(TorchFunctionMode):
    """Calls that a loss makes of a model that gives `outputs`; a context around one call of it.

    Parameters
    ----------
    module : torch.nn.Module
        The model, in training mode.
    y : torch.Tensor
        (n,) the labels.
    outputs : torch.Tensor
        (n, L) stands for the outputs: nothing but their cross-entropy may depend on them.

    Attributes
    ----------
    x : torch.Tensor or None
        The samples that the model was called with.
    """

    def __init__(self, module: nn.Module, y: Tensor, outputs: Tensor) -> None:
        super().__init__()
        self._module, self._modes = module, [part.training for part in module.modules()]
        self.x: Tensor | None = None
        self._y, self._outputs = y, outputs
        self._value = outputs.new_zeros(())

    def model(self, x: Tensor) -> Tensor:
        """The model's forward pass."""
        modes = [part.training for part in self._module.modules()]
        if self.x is not None or x.requires_grad or modes != self._modes:
            raise OtherLossError
        _require_gradients()
        self.x = x
        return self._outputs

    def check(self, value: Tensor) -> None:
        """Refuse a result that is no cross-entropy.

        Raises
        ------
        OtherLossError
        """
        if self.x is None or value is not self._value:
            raise OtherLossError

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        keys, name = dict(kwargs or {}), getattr(func, "__name__", "")
        if name in READS:  # another job's values may lead elsewhere
            raise OtherLossError
        if func is F.cross_entropy and args and args[0] is self._outputs:
            if (
                len(args) != 2
                or args[1] is not self._y
                or any(
                    isinstance(value, Tensor) or (key, value) not in DEFAULTS.items()
                    for key, value in keys.items()
                )
            ):
                raise OtherLossError
            _require_gradients()
            return self._value
        taken = list(tensors_in((args, tuple(keys.values()))))
        if any(t is self._value or isinstance(t, nn.Parameter) for t in taken):
            raise OtherLossError
        if any(t is self._outputs for t in taken) and name not in SIZES:
            described = getattr(getattr(func, "__self__", None), "__name__", "")
            if described not in ("shape", "dtype", "device", "ndim"):
                raise OtherLossError
        return func(*args, **keys)


def is_cross_entropy(
    architecture: Architecture, work: LossSteps, example: Batch, given: Sequence[Tensor]
) -> tuple[ModelFunction, bool] | None:
    """Follow a loss that may be the cross-entropy of a model on samples that it may change.

    Parameters
    ----------
    architecture : Architecture
    work : LossSteps
        The training whose loss it is.
    example : Batch
        On which the loss is tried.
    given : sequence of torch.Tensor
        What the loss is given, for the same.

    Returns
    -------
    ModelFunction, bool
        The loss, and whether it changes samples; None if it is another loss.
    """
    if work.loss is None or work.learn:
        return None
    a, called = architecture, ModelFunction(architecture.module, work.loss)
    outputs = torch.zeros(len(example.x), a.num_outputs, dtype=a.dtype)
    refused = [(part, _refuse) for part in a.module.children()]
    a.module.train(True)
    before = tensor_versions([example.x, example.y])
    followed = LossObserver(a.module, example.y, outputs)
    try:
        with standing_in([(a.module, followed.model), *refused]), followed:
            value = called(example, {}, *fill_slots(work.given, given))
        followed.check(value)
    except Exception:  # whatever a loss may raise; where it trains, that is told
        return None
    if tensor_versions([example.x, example.y]) != before:
        return None
    return called, followed.x is not example.x


def _require_gradients() -> None:
    if not torch.is_grad_enabled():
        raise OtherLossError


def _refuse(*args: Any, **keys: Any) -> Tensor:
    raise OtherLossError
