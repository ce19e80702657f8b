"""Samples as a loss changes them before it calls the model, for many nodes at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from netsim.backends.native.crop_flip import record_crop_flips
from netsim.backends.native.library import Variant
from netsim.backends.native.loss_recorder import tensors_in
from netsim.backends.native.loss_trace import replacing_calls
from netsim.backends.native.views import use_variant
from netsim.backends.stacked.functional import ModelFunction, over_lanes
from netsim.backends.stacked.loss_training import LossSteps
from netsim.data.sets import Scale
from netsim.learning.functions import fill_slots, uniforms_of
from netsim.learning.shards import Batch, Shards
from netsim.learning.tasks import Task

RUNS = {"__getitem__", "narrow", "split", "chunk", "tensor_split"}
"""Functions by which a loss takes a part of a minibatch."""


class _FoundError(Exception):
    """The loss has called the model with these samples."""

    def __init__(self, x: Tensor) -> None:
        super().__init__()
        self.x = x


def _raise_stop(
    name: str, part: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...]
) -> Any:
    raise _FoundError(args[0])


class _Runs(TorchFunctionMode):
    """Notes which samples are a run of others, of which the loss calls the model with more."""

    def __init__(self) -> None:
        super().__init__()
        self._sources: dict[int, tuple[Tensor, Tensor]] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        found = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") in RUNS and args and isinstance(args[0], Tensor):
            for each in tensors_in(found):
                self._sources[id(each)] = each, args[0]
        return found

    def full_batch(self, x: Tensor) -> Tensor:
        """The samples of which some are a run."""
        while id(x) in self._sources:
            x = self._sources[id(x)][1]
        return x


class ChangedSamples:
    """Samples as a loss changes them: its code up to the first call of the model.

    Parameters
    ----------
    function : ModelFunction
        The loss and the model.
    work : LossSteps
        A training by the loss.
    learned : mapping of str to shape
        What is learned beside the model; samples do not depend on it.
    scale : (means, deviations) or None
        How pixels were normalised.
    task : Task
    dtype : torch.dtype
        Of the model.
    variant : Variant
        Instruction set.
    """

    def __init__(
        self,
        function: ModelFunction,
        work: LossSteps,
        learned: Mapping[str, tuple[int, ...]],
        scale: Scale | None,
        task: Task,
        dtype: torch.dtype,
        variant: Variant,
    ) -> None:
        self._variant = variant
        self._function, self._structure = function, work.given
        self._learned, self._scale, self._task, self._dtype = learned, scale, task, dtype
        self._count = uniforms_of(work.loss)
        self._pad: int | None = None
        self._pads: dict[int, int | None] = {}

    def pad(self, shards: Shards, size: int, given: Callable[[], Sequence[Tensor]]) -> int | None:
        """Most pixels by which the loss moves images, if it does nothing else to samples.

        Parameters
        ----------
        shards : Shards
        size : int
            Samples of a minibatch.
        given : callable
            What the loss is given, (1, ...) each; values do not matter.

        Returns
        -------
        int or None
            None: `samples` has to be asked.
        """
        if size not in self._pads:
            rows = torch.arange(size) % len(shards.x)
            x, y = shards.x[rows][None], shards.y[rows][None]
            draws = torch.full((1, size, self._count), 0.5, dtype=self._dtype)
            self.samples(x, y, draws if self._count else None, *given())
            self._pads[size] = self._pad
        return self._pads[size]

    def samples(self, x: Tensor, y: Tensor, uniforms: Tensor | None, *given: Tensor) -> Tensor:
        """Samples with which the loss calls the model.

        Parameters
        ----------
        x : torch.Tensor
            (W, n, ...) samples.
        y : torch.Tensor
            (W, n, ...) labels or targets.
        uniforms : torch.Tensor or None
            (W, n, k)
        given : torch.Tensor
            (W, ...) each.

        Returns
        -------
        torch.Tensor
            (W, m, ...)
        """

        def one(x: Tensor, y: Tensor, *rest: Tensor) -> Tensor:
            draws, values = (None, rest) if uniforms is None else (rest[0], rest[1:])
            return self._of_one(Batch(x, y, draws, self._scale, self._task), values)

        draws = () if uniforms is None else (uniforms,)
        with torch.no_grad(), use_variant(self._variant):
            found: Tensor = over_lanes(self._function.function, one, x, y, *draws, *given)
        return found

    def _of_one(self, batch: Batch, given: Sequence[Tensor]) -> Tensor:
        learned = {n: torch.zeros(s, dtype=self._dtype) for n, s in self._learned.items()}
        model = self._function.model
        runs = _Runs()
        try:
            with replacing_calls(model, _raise_stop), record_crop_flips() as moves, runs:
                self._function(batch, learned, *fill_slots(self._structure, given))
        except _FoundError as found:
            found.x = runs.full_batch(found.x)
            self._pad = next(
                (
                    move.pad
                    for move in moves
                    if move.found is found.x
                    and move.x is batch.x
                    and move.draws is batch.uniforms
                    and move.scale is batch.scale
                ),
                None,
            )
            return found.x
        raise AssertionError("a loss that does not call the model")
