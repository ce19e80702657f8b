"""Services for job types that run one job of one node in plain PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from netsim.learning.architecture import Architecture
from netsim.learning.columns import columns_before, number_of
from netsim.learning.divergence import Divergences
from netsim.learning.global_draws import mask_seed, seeded
from netsim.learning.hidden_state import FirstCalls
from netsim.learning.jobs import BatchKey, Job
from netsim.learning.refs import Ref
from netsim.learning.shards import Batch, Shards
from netsim.rng import Streams


class Plain:
    """Services that a job type may use to run one job.

    Parameters
    ----------
    shards : Shards
        The samples of all nodes.
    streams : Streams
        Seeds the masks of random layers, one draw per (node, stream, minibatch); also for job types
        that draw.

    Attributes
    ----------
    divergences : Divergences
        To be told of every training.
    first_calls : FirstCalls
        Of functions that are given a model's module.
    """

    def __init__(self, shards: Shards, streams: Streams) -> None:
        self.shards, self.streams = shards, streams
        self.divergences, self.first_calls = Divergences(), FirstCalls()
        self._scratch: dict[int, Tensor] = {}

    def scratch(self, length: int, like: Tensor) -> Tensor:
        """Memory for (length,) values, the same for every job: new memory costs time.

        Its values are whatever the last job left there.
        """
        if length not in self._scratch:
            self._scratch[length] = like.new_empty(length)
        return self._scratch[length]

    def masks(self, is_random: bool, key: BatchKey) -> AbstractContextManager[None]:
        """Seed random layers for a minibatch; nothing to do for a model without any."""
        if not is_random:
            return nullcontext()
        return seeded(self.shards.x.device, mask_seed(self.streams, key))

    def bound_layout(self, architecture: Architecture) -> Architecture:
        """Layout whose module this job may bind; each of several threads has a copy."""
        return architecture

    def batches(self, keys: Sequence[BatchKey], uniforms: int) -> list[Batch]:
        """Minibatches; see `netsim.learning.shards.Shards.batches`."""
        return self.shards.batches(keys, uniforms)

    def note_training(self, job: Job[Any], after: Tensor) -> None:
        """Report a training, by the sum (1,) of its final parameters."""
        self.divergences.note([job], after)


def seeded_inference(architecture: Architecture | None) -> AbstractContextManager[None]:
    """Seed the draws of an evaluation, always alike; no effect on a model without draws."""
    if architecture is None or not architecture.traits.draws_in_evaluation:
        return nullcontext()
    return seeded(architecture.device, architecture.traits.look_seed)


def keep_whole(value: Tensor, models: Sequence[Ref]) -> None:
    """Put the whole numbers of the first model in place of what was computed of them.

    Parameters
    ----------
    value : torch.Tensor
        A model or a part of one, made of others; changed in place.
    models : sequence of Ref
        What it was made of, of the same columns.
    """
    for ref in models[:1]:
        architecture = ref.cell.architecture
        if architecture is None or not architecture.whole_columns:
            return
        whole = architecture.whole_columns[0][0]
        start = number_of(columns_before(ref.ranges or ((0, architecture.num_values),), whole))
        value[start:] = ref.tensor()[start:]


def default_loss(model: nn.Module, batch: Batch, learned: dict[str, Tensor]) -> Tensor:
    """The loss of the task: of a classification, mean cross-entropy of the batch.

    Parameters
    ----------
    model : torch.nn.Module
    batch : Batch
    learned : dict of str to torch.Tensor
        What is trained beside the model: nothing that this loss uses.

    Returns
    -------
    torch.Tensor
        ()
    """
    return batch.loss(model(batch.x))


@torch.no_grad()
def evaluate(architecture: Architecture | None, row: Tensor, x: Tensor) -> Tensor:
    """Outputs (n, L) of a model in evaluation mode, those of all positions of a sample in a row.

    Parameters
    ----------
    architecture : Architecture or None
        Of the row, a whole model.
    row : torch.Tensor
        (D,)
    x : torch.Tensor
        (n, ...)
    """
    assert architecture is not None
    with seeded_inference(architecture):
        outputs: Tensor = architecture.bind(row)(x)
    return outputs.flatten(1) if outputs.dim() > 2 else outputs


def checked_results(result: Any, function: Callable[..., Any], job: Job[Any]) -> list[Tensor]:
    """Copies of a function's results, checked against the shapes announced.

    Parameters
    ----------
    result : torch.Tensor or tuple of torch.Tensor
    function : callable
        Named in the error.
    job : Job

    Raises
    ------
    ValueError
        If a shape differs, or a result is no tensor.
    """
    outputs = result if isinstance(result, tuple) else (result,)
    for output in outputs:
        if not isinstance(output, Tensor):
            raise ValueError(
                f"{function.__qualname__} gave a {type(output).__name__}; it must give a tensor, "
                "such as torch.tensor(value)"
            )
    for output, shape in zip(outputs, job.shapes, strict=True):
        if tuple(output.shape) != shape:
            raise ValueError(
                f"{function.__qualname__} gave shape {tuple(output.shape)}, announced was {shape}"
            )
    # A result may be a view of an input; a value must never change with another one.
    return [o.detach().clone() for o in outputs]
