"""Samples as a loss changes them before it calls the model, for many nodes at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from netsim.backends.native.library import Variant
from netsim.backends.native.loss_trace import answering
from netsim.backends.native.views import natively
from netsim.backends.stacked.functional import ModelFunction, over_lanes
from netsim.backends.stacked.loss_training import LossSteps
from netsim.data.sets import Scale
from netsim.learning.functions import fill
from netsim.learning.shards import Batch
from netsim.learning.tasks import Task


class _FoundError(Exception):
    """The loss has called the model with these samples."""

    def __init__(self, x: Tensor) -> None:
        super().__init__()
        self.x = x


def _stop(name: str, part: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    raise _FoundError(args[0])


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
        with torch.no_grad(), natively(self._variant):
            found: Tensor = over_lanes(self._function.function, one, x, y, *draws, *given)
        return found

    def _of_one(self, batch: Batch, given: Sequence[Tensor]) -> Tensor:
        learned = {n: torch.zeros(s, dtype=self._dtype) for n, s in self._learned.items()}
        model = self._function.model
        try:
            with answering(model, _stop):
                self._function(batch, learned, *fill(self._structure, given))
        except _FoundError as found:
            return found.x
        raise AssertionError("a loss that does not call the model")
