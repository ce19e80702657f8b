"""Losses that are the cross-entropy of a model on changed samples, plus terms of its parameters.

    value = F.cross_entropy(model(changed(batch)), batch.y) + terms(parameters)

The kernel trains by such a loss without asking PyTorch about the model: PyTorch only changes the
samples, and differentiates the terms if there are any. Whether a loss is one of these is seen from
the functions that it calls, each time that it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import grad, vmap
from torch.overrides import TorchFunctionMode

from netsim.backends.native.features import standing_in
from netsim.backends.stacked.batch_invariant import BatchInvariant
from netsim.backends.stacked.functional import ModelFunction, over_lanes
from netsim.backends.stacked.lanes import LEAST_LANES
from netsim.backends.stacked.loss_training import LossSteps
from netsim.data.sets import Scale
from netsim.learning.architecture import Architecture
from netsim.learning.calling import call_with
from netsim.learning.functions import fill
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

SUMS = {"add", "__add__", "__radd__"}
"""Functions that may take the cross-entropy; their results are it plus terms."""

SIZES = {"size", "dim", "__len__", "numel"}
"""Functions of the outputs that do not read them."""


class OtherLossError(Exception):
    """A loss is something else than a cross-entropy plus terms of parameters."""


class Followed(TorchFunctionMode):
    """Calls that a loss makes of a model that gives `outputs`; a context around one call of it.

    Parameters
    ----------
    y : torch.Tensor
        (n,) the labels.
    outputs : torch.Tensor
        (n, L) stands for the outputs: nothing but their cross-entropy may depend on them.

    Attributes
    ----------
    x : torch.Tensor or None
        The samples that the model was called with.
    """

    def __init__(self, y: Tensor, outputs: Tensor) -> None:
        super().__init__()
        self.x: Tensor | None = None
        self._y, self._outputs = y, outputs
        self._sums = [outputs.new_zeros(())]

    def model(self, x: Tensor) -> Tensor:
        """The model's forward pass."""
        if self.x is not None or x.requires_grad:
            raise OtherLossError
        self.x = x
        return self._outputs

    def check(self, value: Tensor) -> None:
        """Refuse a result that is no cross-entropy plus terms.

        Raises
        ------
        OtherLossError
        """
        if self.x is None or not self._is_sum(value) or value.dim():
            raise OtherLossError

    def is_alone(self, value: Tensor) -> bool:
        """Return whether a result is the cross-entropy itself."""
        return value is self._sums[0]

    def _is_sum(self, value: Any) -> bool:
        return any(value is each for each in self._sums)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        keys, name = dict(kwargs or {}), getattr(func, "__name__", "")
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
            return self._sums[0]
        taken = list(_tensors((args, tuple(keys.values()))))
        if any(t is self._outputs for t in taken) and name not in SIZES:
            described = getattr(getattr(func, "__self__", None), "__name__", "")
            if described not in ("shape", "dtype", "device", "ndim"):
                raise OtherLossError
        sums = sum(self._is_sum(t) for t in taken)
        result = func(*args, **keys)
        if sums:
            if sums > 1 or name not in SUMS or keys:
                raise OtherLossError
            self._sums.append(result)
        return result


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _tensors(each)


class CrossEntropyOf:
    """A loss of this kind, for the models of one architecture.

    Parameters
    ----------
    architecture : Architecture
    work : LossSteps
        The training whose loss it is.
    scale : (means, deviations) or None
        How pixels were normalised.
    example : Batch
        On which the loss is tried.
    given : sequence of torch.Tensor
        What the loss is given, for the same.

    Attributes
    ----------
    has_terms : bool
        Whether the loss has terms beside the cross-entropy.

    Raises
    ------
    OtherLossError
        If the loss is another one.
    """

    def __init__(
        self,
        architecture: Architecture,
        work: LossSteps,
        scale: Scale | None,
        example: Batch,
        given: Sequence[Tensor],
    ) -> None:
        if work.loss is None or work.learn:
            raise OtherLossError
        self._architecture, self._scale, self._task = architecture, scale, example.task
        self._structure = work.given
        self._called = ModelFunction(architecture.module, work.loss)
        architecture.module.train(True)
        with self._followed(example) as followed:
            value = self._called(example, {}, *fill(work.given, given))
        followed.check(value)
        self.has_terms = not followed.is_alone(value)

    def samples(self, x: Tensor, y: Tensor, uniforms: Tensor | None, *given: Tensor) -> Tensor:
        """Samples with which the loss calls the model.

        Parameters
        ----------
        x : torch.Tensor
            (W, n, ...) samples.
        y : torch.Tensor
            (W, n) int64
        uniforms : torch.Tensor or None
            (W, n, k)
        given : torch.Tensor
            (W, ...) each.

        Returns
        -------
        torch.Tensor
            (W, n, ...)
        """

        def one(x: Tensor, y: Tensor, *rest: Tensor) -> Tensor:
            batch, values = self._batch(x, y, uniforms is not None, rest)
            with self._followed(batch) as followed:
                value = self._called(batch, {}, *fill(self._structure, values))
            followed.check(value)
            assert followed.x is not None
            return followed.x

        draws = () if uniforms is None else (uniforms,)
        with torch.no_grad():
            found: Tensor = over_lanes(self._called.function, one, x, y, *draws, *given)
        return found

    def samples_and_terms(
        self, rows: Tensor, x: Tensor, y: Tensor, uniforms: Tensor | None, *given: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the samples with which the loss calls the model, and the gradient of the terms.

        Parameters
        ----------
        rows : torch.Tensor
            (W, P or more) parameters.
        x, y, uniforms, given
            As of `samples`.

        Returns
        -------
        samples : torch.Tensor
            (W, n, ...)
        gradient : torch.Tensor
            (W, P)
        """

        def terms(parameters: dict[str, Tensor], x: Tensor, y: Tensor, *rest: Tensor) -> Any:
            batch, values = self._batch(x, y, uniforms is not None, rest)
            args = (batch, {}, *fill(self._structure, values))
            tensors = {f"model.{name}": tensor for name, tensor in parameters.items()}
            with self._followed(batch) as followed:
                value = call_with(self._called, tensors, args)
            followed.check(value)
            return value, followed.x

        draws = () if uniforms is None else (uniforms,)
        inputs = [rows, x, y, *draws, *given]
        width = len(rows)
        if width < LEAST_LANES:
            inputs = [t.expand(LEAST_LANES, *t.shape[1:]).contiguous() for t in inputs]
        parameters = self._architecture.parameters_in(inputs[0])
        with BatchInvariant():
            found, changed = vmap(grad(terms, has_aux=True))(parameters, *inputs[1:])
        flat = torch.cat([g.detach().flatten(1) for g in found.values()], dim=1)
        return changed[:width], flat[:width]

    def _batch(
        self, x: Tensor, y: Tensor, has_draws: bool, rest: Sequence[Tensor]
    ) -> tuple[Batch, Sequence[Tensor]]:
        draws, values = (rest[0], rest[1:]) if has_draws else (None, rest)
        return Batch(x, y, draws, self._scale, self._task), values

    @contextmanager
    def _followed(self, batch: Batch) -> Iterator[Followed]:
        """A context in which the loss is called."""
        a = self._architecture
        outputs = torch.zeros(len(batch.x), a.num_outputs, dtype=a.dtype)
        followed = Followed(batch.y, outputs)
        refused = [(part, _refuse) for part in a.module.children()]
        with standing_in([(a.module, followed.model), *refused]), followed:
            yield followed


def _refuse(*args: Any, **keys: Any) -> Tensor:
    raise OtherLossError
