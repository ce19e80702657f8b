"""Differentially private local training: DP-SGD with the run's optimiser.

Source: Abadi et al. 2016, "Deep Learning with Differential Privacy", Algorithm 1. In each step a
sample is taken with probability q = L / N, independently of the others (L the minibatch's size, N
the node's samples); the step's gradient is

    (sum_i g_i min(1, C / ||g_i||) + N(0, sigma^2 C^2 I)) / L

over the samples taken, of which there may be none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, vmap

from netsim.backends.job_type import register
from netsim.backends.plain import Plain, default_loss
from netsim.backends.stacked.functional import ModelFunction, tensors_of
from netsim.learning import optimizers
from netsim.learning.architecture import Architecture
from netsim.learning.columns import put, take
from netsim.learning.functional_call import call_with
from netsim.learning.functions import fill_slots, require_loss
from netsim.learning.jobs import Batches, BatchKey, Job, Optimizer
from netsim.learning.optimizers import CLIP_EPSILON
from netsim.learning.privacy import Privacy
from netsim.learning.shards import Batch, Shards
from netsim.rng import Streams

SAMPLES_AT_ONCE = 64
"""Gradients of so many samples are computed together: each is as long as the model."""


_TRIED = 4
"""Samples by which a model is looked at."""

_SINGLE: WeakSet[Architecture] = WeakSet()
"""Models whose outputs for a sample have been found to be that sample's alone."""


class PrivateTrain(NamedTuple):
    """Private local steps: inputs theta, given..., [optimizer state].

    Outputs are the trained model and the optimiser's state.

    Parameters
    ----------
    batches : Batches
        Names the draws of each step.
    optimizer : Optimizer
    loss : callable or None
        loss(model, batch, {}, *given) of a batch of one; None is the cross-entropy.
    given : tuple
        The loss's further arguments, with `Slot(i)` in place of the i-th Ref among them.
    num_given : int
        How many Refs these are.
    has_state : bool
        Whether the last input is the state of the optimiser; else it starts anew.
    learning_rate : float or None
        In place of the optimiser's own.
    privacy : Privacy
    """

    batches: Batches
    optimizer: Optimizer
    loss: Callable[..., Any] | None
    given: tuple[Any, ...]
    num_given: int
    has_state: bool
    learning_rate: float | None
    privacy: Privacy

    @property
    def function(self) -> Callable[..., Any] | None:
        """The algorithm's own loss, if there is one."""
        return self.loss

    def describe(self) -> str:
        return f"private training of {self.batches.steps} steps"


def _run_one(job: Job[PrivateTrain], plain: Plain) -> Sequence[Tensor]:
    """Step after step."""
    work, shards = job.work, plain.shards
    theta, *others = (r.tensor() for r in job.inputs)
    architecture = job.inputs[0].architecture
    assert architecture is not None
    given = fill_slots(work.given, others[: work.num_given])
    row = theta.clone()
    columns = architecture.trained_columns()
    trained = take(row, columns).clone()
    size = optimizers.state_size(work.optimizer.kind, len(trained))
    state = others[-1].clone() if work.has_state else trained.new_zeros(size)
    rate = work.optimizer.learning_rate if work.learning_rate is None else work.learning_rate
    rows = shards.rows[work.batches.shard].train
    share = min(1.0, shards.batch_size / len(rows))
    _require_single(
        architecture, row, shards.x[torch.from_numpy(rows[:_TRIED]).to(shards.x.device)]
    )
    gradients = _gradients(architecture, work.loss or default_loss, given, shards)
    for step in range(work.batches.steps):
        key = work.batches.key(step)
        index = torch.from_numpy(rows[draw_samples(plain.streams, key, len(rows), share)])
        index = index.to(shards.x.device)
        each = gradients(row, shards.x[index], shards.y[index])
        total = clipped_sum(each, work.privacy.clip_norm)
        noise = drawn_noise(plain.streams, key, len(trained))
        noise_std = work.privacy.noise_multiplier * work.privacy.clip_norm
        total = total + noise_std * torch.from_numpy(noise).to(total)
        gradient = total / (share * len(rows))
        optimizers.step(work.optimizer, rate, [trained], [gradient], state)
        put(row, columns, trained)
    plain.divergences.note([job], trained.sum().reshape(1))
    return [row, state]


@torch.no_grad()
def _require_single(architecture: Architecture, row: Tensor, x: Tensor) -> None:
    """Refuse a model whose loss is not the mean of its samples' own losses.

    Batch normalisation is refused before; this finds what a model computes itself.

    Parameters
    ----------
    architecture : Architecture
    row : torch.Tensor
        (num_values,)
    x : torch.Tensor
        (n, ...) samples.

    Raises
    ------
    RuntimeError
    """
    if architecture in _SINGLE:
        return
    problem, model = None, architecture.bind(row.clone(), training=True)
    before = {name: b.clone() for name, b in model.named_buffers()}
    together = model(x)
    apart = torch.cat([model(one) for one in torch.split(x, 1)])
    after = dict(model.named_buffers())
    changed = [name for name, b in before.items() if not torch.equal(after[name], b)]
    near = torch.finfo(together.dtype).eps ** 0.5 * float(together.abs().max())
    if changed:
        problem = f"a pass changes its buffer {changed[0]}"
    elif not torch.allclose(together, apart, rtol=0.0, atol=near, equal_nan=True):
        problem = "its output for a sample depends on the others of its minibatch"
    if problem is not None:
        raise RuntimeError(
            f"private training takes gradients of single samples, and of model {architecture.name} "
            f"{problem}"
        )
    _SINGLE.add(architecture)


def draw_samples(streams: Streams, key: BatchKey, count: int, share: float) -> np.ndarray:
    """Draw the node's samples for a step, each with probability `share`.

    Parameters
    ----------
    streams : Streams
    key : BatchKey
    count : int
        How many samples the node has.
    share : float
        q

    Returns
    -------
    (n,) int64
    """
    purpose = f"private/{key.stream}"
    draws = streams.uniforms(purpose, key.shard, key.counter, counters=np.arange(count))
    return np.flatnonzero(draws < share)


def drawn_noise(streams: Streams, key: BatchKey, length: int) -> np.ndarray:
    """Independent N(0, 1) draws of a step.

    Parameters
    ----------
    streams : Streams
    key : BatchKey
    length : int

    Returns
    -------
    (length,) float64
    """
    generator = streams.generator(f"private noise/{key.stream}", key.shard, key.counter)
    noise: np.ndarray = generator.standard_normal(length)
    return noise


def clipped_sum(gradients: Tensor, largest: float) -> Tensor:
    """The sum (P,) of gradients (n, P), each scaled down to the largest norm."""
    norms = torch.linalg.vector_norm(gradients, dim=1, keepdim=True)
    total: Tensor = (gradients * (largest / (norms + CLIP_EPSILON)).clamp(max=1.0)).sum(0)
    return total


def _gradients(
    architecture: Architecture, loss_of: Callable[..., Any], given: tuple[Any, ...], shards: Shards
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """A function that gives the gradients (n, P) of single samples.

    Parameters
    ----------
    architecture : Architecture
    loss_of : callable
    given : tuple
        The loss's further arguments.
    shards : Shards
    """
    architecture.module.train(True)
    called = ModelFunction(architecture.module, loss_of)

    def loss(row: Tensor, x: Tensor, y: Tensor) -> Tensor:
        batch = Batch(x.unsqueeze(0), y.unsqueeze(0), None, shards.scale, shards.task)
        value = call_with(called, tensors_of(architecture, row), (batch, {}, *given))
        return require_loss(loss_of, value)

    by_sample: Any = vmap(grad(loss), in_dims=(None, 0, 0), chunk_size=SAMPLES_AT_ONCE)

    def sample_gradients(row: Tensor, x: Tensor, y: Tensor) -> Tensor:
        if not len(x):
            return row.new_zeros((0, architecture.num_trained()))
        gradients: Tensor = by_sample(row, x, y)
        return take(gradients, architecture.trained_columns())

    return sample_gradients


register(PrivateTrain, _run_one)
