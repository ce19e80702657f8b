"""Local training: steps of an optimiser from a model."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple
from weakref import ref as weak

import torch
from torch import Tensor

from netsim.backends.job_type import Call, GroupKernel, Signature, register
from netsim.backends.plain import Plain, default_loss
from netsim.backends.rounding import as_sgd
from netsim.backends.stacked.activations import activations_per_sample
from netsim.backends.stacked.loss_training import LossTraining
from netsim.backends.stacked.resources import Resources
from netsim.backends.stacked.training import Training
from netsim.learning import optimizers
from netsim.learning.functions import (
    fill_slots,
    freeze_arguments,
    require_loss,
    require_unchanged,
    tensor_versions,
    uniforms_of,
)
from netsim.learning.jobs import Batches, Job, Optimizer
from netsim.learning.refs import Cell

SAMPLE_STEPS, SAMPLE_RATE = 2, 0.05
"""Local steps by which backends are compared, and their learning rate."""


class Train(NamedTuple):
    """Local steps: inputs theta, given..., learned..., [anchor], [optimizer state].

    Outputs are the trained model, each of `learn`, and the optimiser's state.

    Parameters
    ----------
    batches : Batches
        A minibatch per step.
    optimizer : Optimizer
    loss : callable or None
        loss(model, batch, learned, *given); None is that of the task.
    given : tuple
        The loss's further arguments, with `Slot(i)` in place of the i-th Ref among them.
    num_given : int
        How many Refs these are.
    learn : tuple of str
        Names of values that are trained jointly with the model.
    anchor_strength : float or None
        Factor of the pull towards the anchor; None: there is no anchor.
    has_state : bool
        Whether the last input is the state of the optimiser; else it starts anew.
    learning_rate : float or None
        In place of the optimiser's own.
    part : str or None
        The only part of the model that is trained; None: all of it.
    """

    batches: Batches
    optimizer: Optimizer
    loss: Callable[..., Any] | None
    given: tuple[Any, ...]
    num_given: int
    learn: tuple[str, ...]
    anchor_strength: float | None
    has_state: bool
    learning_rate: float | None = None
    part: str | None = None

    @property
    def rate(self) -> float:
        """The learning rate: the job's own, or the run's."""
        return self.optimizer.learning_rate if self.learning_rate is None else self.learning_rate

    @property
    def function(self) -> Callable[..., Any] | None:
        """The algorithm's own loss, if there is one."""
        return self.loss

    def describe(self) -> str:
        loss = f" with loss {self.loss.__qualname__}" if self.loss else ""
        return f"training of {self.batches.steps} steps{loss}"


def _run_one(job: Job[Train], plain: Plain) -> Sequence[Tensor]:
    """Step after step, with autograd."""
    loss_of, architecture = job.work.loss, job.inputs[0].architecture
    if loss_of is None or architecture is None:
        return _steps(job, plain)
    module = plain.bound_layout(architecture).module
    with plain.first_calls.looked_at(loss_of, module, lambda: [_first_loss(job, plain)]):
        return _steps(job, plain)


@torch.no_grad()
def _first_loss(job: Job[Train], plain: Plain) -> Tensor:
    """An own loss of the first minibatch, before any step."""
    work, (theta, *others) = job.work, (r.tensor() for r in job.inputs)
    architecture = job.inputs[0].architecture
    assert architecture is not None
    assert work.loss is not None
    given = fill_slots(work.given, others[: work.num_given])
    learned = dict(zip(work.learn, others[work.num_given :], strict=False))
    model = plain.bound_layout(architecture).bind(theta.clone(), training=True)
    key = next(iter(work.batches.keys()))
    (batch,) = plain.batches([key], uniforms_of(work.loss))
    with plain.masks(architecture.is_random, key):
        value: Tensor = work.loss(model, batch, learned, *given)
    return value


def _steps(job: Job[Train], plain: Plain) -> Sequence[Tensor]:
    work = job.work
    theta, *others = (r.tensor() for r in job.inputs)
    architecture = job.inputs[0].architecture
    assert architecture is not None
    is_random, architecture = architecture.is_random, plain.bound_layout(architecture)
    held_fixed = others[: work.num_given]
    before = tensor_versions(held_fixed)
    given = fill_slots(work.given, held_fixed)
    others = others[work.num_given :]
    row = theta.clone()
    learned = {  # in the model's precision, as in the row that other backends make of both
        name: value.to(row.dtype, copy=True).requires_grad_()
        for name, value in zip(work.learn, others, strict=False)
    }
    rest = others[len(work.learn) :]
    model = architecture.bind(row, training=True)
    parameters = [parameter for parameter, _ in architecture.trained_parameters(work.part)]
    trained = [*parameters, *learned.values()]
    rows = [t.detach().view(-1) for t in trained]
    anchors: Sequence[Tensor] = ()
    if work.anchor_strength is not None:
        sizes = [p.numel() for p in parameters]
        anchor = architecture.trained_of(rest[0], work.part).to(row.dtype)
        anchors = torch.split(anchor, sizes)
    size = optimizers.state_size(work.optimizer.kind, sum(r.numel() for r in rows))
    state = plain.scratch(size, row)
    _ = state.copy_(rest[-1]) if work.has_state else state.zero_()
    counts = optimizers.counts(work.optimizer, rows, state)
    loss_of = work.loss or default_loss
    keys = list(work.batches.keys())
    batches = plain.batches(keys, uniforms_of(work.loss))
    for key, batch in zip(keys, batches, strict=True):
        with plain.masks(is_random, key):
            loss = loss_of(model, batch, learned, *given)
        if work.loss is not None:
            loss = require_loss(work.loss, loss)
        architecture.keep_in(row)
        found = torch.autograd.grad(loss, trained, allow_unused=True)
        # As PyTorch's optimisers have it, a step of the task's loss leaves alone what this does not
        # depend on. A loss of the algorithm's may well leave out what decays or has an anchor.
        leaves = work.loss is None and not anchors
        gradients = [
            (None if leaves else torch.zeros_like(r)) if g is None else g.reshape(-1)
            for g, r in zip(found, rows, strict=True)
        ]
        for k, anchor in enumerate(anchors):
            gradient = gradients[k]
            assert gradient is not None
            gradients[k] = gradient.add(rows[k] - anchor, alpha=work.anchor_strength)
        optimizers.step(work.optimizer, work.rate, rows, gradients, state, counts)
    if work.loss is not None:
        require_unchanged(work.loss, held_fixed, before)
    architecture.collect_buffers(row)
    if work.part is not None:
        row = architecture.only_part(work.part, theta, row)
    after = row[: architecture.num_parameters].sum()
    plain.note_training(job, after.reshape(1))
    is_wanted = job.output_refs[-1]() is not None
    if is_wanted:
        optimizers.keep_counts(work.optimizer, rows, state, counts)
    return [row, *(v.detach() for v in learned.values()), state.clone() if is_wanted else state]


def in_common(job: Job[Train]) -> tuple[Hashable, ...]:
    """The architecture, optimiser and kinds of inputs that all jobs of one call have."""
    work = job.work
    is_anchored = work.anchor_strength is not None
    return (
        id(job.inputs[0].architecture),
        work.optimizer,
        work.anchor_strength,
        job.inputs[-2 if work.has_state else -1].num_values if is_anchored else 0,
        work.has_state,
    )


def _signature(job: Job[Train], resources: Resources) -> Signature | None:
    """One architecture, optimiser and kind of inputs; one loss with one sort of arguments.

    The default loss has a kernel of its own for models with a stacked form. Any other loss, and
    any other model, runs under `torch.func`.
    """
    work, ref, shards = job.work, job.inputs[0], resources.shards
    architecture = ref.architecture
    assert architecture is not None
    smallest = min(shards.batch_size, shards.train_size(work.batches.shard))
    if smallest == 1 and architecture.normalises_batches:
        return None  # a batch of one has no variance: torch's own error names the node
    common = in_common(job)
    if work.loss is None and not work.learn and work.part is None:
        if not resources.routes.is_stacked(architecture, "train"):
            return None
        if resources.stacked_module_of(ref) is not None:
            return ("default loss", *common)
    if architecture.is_random or not resources.routes.is_stacked(architecture, "loss"):
        return None
    shapes = tuple(r.shape for r in job.inputs)
    return (
        "own loss",
        *common,
        work.loss,
        freeze_arguments(work.given),
        work.learn,
        shapes,
        work.part,
    )


def _prepare(key: Signature, jobs: Sequence[Job[Train]], resources: Resources) -> Call:
    """Prepare as many nodes at once as the route, the caches or the GPU's memory allow."""
    ref, shards = jobs[0].inputs[0], resources.shards
    architecture = ref.architecture
    assert architecture is not None
    activations = activations_per_sample(architecture, shards.x[:1])
    most = resources.routes.lanes(architecture, shards.minibatches.columns * activations)
    module = resources.stacked_module_of(ref) if key[0] == "default loss" else None
    if module is not None:
        training = resources.made_once(
            (Training, id(module)),
            lambda: Training(
                module, shards, resources.streams, resources.store, resources.divergences
            ),
        )
        return Call(lambda some, width: training.run(some, key, width), most)
    trainer = LossTraining(architecture, shards, resources.store, resources.divergences)
    return Call(lambda some, _: resources.fill(some, trainer.run(some)), most)


def _sample(job: Job[Train], attempt: int) -> tuple[Hashable, Job[Train], list[Cell]] | None:
    """Two steps of SGD by a loss of the algorithm's; the task's own is compared before a run."""
    work, inputs = job.work, job.inputs
    if work.loss is None and not work.learn and work.part is None:
        return None
    key = id(inputs[0].architecture), work.optimizer, work.loss, work.learn, work.part
    first = work.batches.first + SAMPLE_STEPS * attempt
    batches = work.batches._replace(first=first, steps=SAMPLE_STEPS, is_same=False)
    short = work._replace(
        batches=batches,
        optimizer=as_sgd(work.optimizer),
        has_state=False,
        learning_rate=SAMPLE_RATE,
    )
    architecture = inputs[0].architecture
    assert architecture is not None
    learned = [r.num_values for r in inputs[1 + work.num_given :][: len(work.learn)]]
    shapes = (*job.shapes[:-1], (architecture.num_trained(work.part) + sum(learned),))
    cells = [Cell(inputs[0].cell.scheduler, shape) for shape in shapes]
    cells[0].architecture = architecture
    given = inputs[:-1] if work.has_state else inputs
    results = tuple(map(weak, cells))
    return key, Job(short, job.node, job.time_ns, given, results, shapes), cells


register(Train, _run_one, sample=_sample, threaded=True, stacked=GroupKernel(_signature, _prepare))
