"""The sequential backend: one node at a time in plain PyTorch. The oracle of every other one."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from netsim.learning import optimizers
from netsim.learning.divergence import Divergences
from netsim.learning.functions import fill
from netsim.learning.jobs import (
    Apply,
    BatchKey,
    Gradient,
    Job,
    JobFailedError,
    Loss,
    Measure,
    Mix,
    Outputs,
    ReplaceColumns,
    Select,
    Train,
)
from netsim.learning.masks import mask_seed, seeded
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Ref
from netsim.learning.select import greedy
from netsim.learning.shards import Batch, Shards
from netsim.rng import Streams


class Sequential:
    """Runs jobs one after another on one device.

    Parameters
    ----------
    shards : Shards
    streams : Streams
        Seeds the masks of random layers, one draw per (node, stream, batch).
    """

    name = "sequential"

    def __init__(self, shards: Shards, streams: Streams) -> None:
        self._shards = shards
        self._streams = streams
        self.divergences = Divergences()
        self.one_by_one: dict[str, str] = {}
        self._states: dict[int, Tensor] = {}
        self._run: dict[type, Callable[[Any, Job], Sequence[Tensor]]] = {
            Train: self._train,
            Outputs: self._outputs,
            Loss: self._loss,
            Gradient: self._gradient,
            Measure: self._measure,
            Apply: self._apply,
            Mix: self._mix,
            ReplaceColumns: self._replace_columns,
            Select: self._select,
        }

    def execute(self, jobs: Sequence[Job]) -> int:
        """Run jobs one after another; see `netsim.learning.scheduler.Backend`."""
        for job in jobs:
            try:
                values = self._run[type(job.work)](job.work, job)
            except Exception as error:
                raise JobFailedError(job) from error
            for cell, value in zip(job.outputs, values, strict=True):
                if cell is not None:
                    cell.value = value
        return len(jobs)

    def predictions(self, asked: Sequence[tuple[Ref, Rows]]) -> list[Tensor]:
        """Outputs of models in evaluation mode; see `netsim.learning.scheduler.Backend`."""
        found, seen, x = [], None, self._shards.x
        for ref, rows in asked:
            if rows is not seen:  # the samples that all nodes share are gathered once
                seen, x = rows, self._shards.x[torch.from_numpy(rows).to(self._shards.x.device)]
            found.append(evaluate(_model(ref), x).cpu())
        return found

    def _train(self, work: Train, job: Job) -> Sequence[Tensor]:
        theta, *others = (r.tensor() for r in job.inputs)
        architecture = job.inputs[0].architecture
        assert architecture is not None
        given = fill(work.given, others[: work.num_given])
        others = others[work.num_given :]
        learned = {
            name: value.clone().requires_grad_()
            for name, value in zip(work.learn, others, strict=False)
        }
        rest = others[len(work.learn) :]
        row = theta.clone()
        model = architecture.bind(row, training=True)
        trained = [*model.parameters(), *learned.values()]
        rows = [t.detach().view(-1) for t in trained]
        anchors: Sequence[Tensor] = ()
        if work.anchor_strength is not None:
            sizes = [p.numel() for p in model.parameters()]
            anchors = torch.split(rest[0][: architecture.num_parameters], sizes)
        state = self._state(work, rest, sum(r.numel() for r in rows), row)
        loss_of = work.loss or cross_entropy
        keys = list(work.batches.keys())
        batches = self._shards.batches(keys, getattr(work.loss, "uniforms", 0))
        for key, batch in zip(keys, batches, strict=True):
            with self._masks(architecture.is_random, key):
                loss = loss_of(model, batch, learned, *given)
            found = torch.autograd.grad(loss, trained, allow_unused=True)
            gradients = [
                torch.zeros_like(r) if g is None else g.reshape(-1)
                for g, r in zip(found, rows, strict=True)
            ]
            for k, anchor in enumerate(anchors):
                gradients[k] = gradients[k].add(rows[k] - anchor, alpha=work.anchor_strength)
            optimizers.step(work.optimizer, work.rate, rows, gradients, state)
        after = row[: architecture.num_parameters].sum()
        self.divergences.note([job], after.reshape(1))
        is_wanted = job.places[-1]() is not None
        return [row, *(v.detach() for v in learned.values()), state.clone() if is_wanted else state]

    def _state(self, work: Train, rest: Sequence[Tensor], size: int, like: Tensor) -> Tensor:
        """Room for the optimiser's state, the same one for every job: fresh memory costs time."""
        length = optimizers.state_size(work.optimizer.kind, size)
        if length not in self._states:
            self._states[length] = like.new_empty(length)
        state = self._states[length]
        return state.copy_(rest[-1]) if work.has_state else state.zero_()

    def _masks(self, is_random: bool, key: BatchKey) -> AbstractContextManager[None]:
        """Random layers draw for this minibatch."""
        if not is_random:
            return nullcontext()
        return seeded(self._shards.x.device, mask_seed(self._streams, key))

    def _outputs(self, work: Outputs, job: Job) -> Sequence[Tensor]:
        (batch,) = self._shards.batches([work.batch])
        return [torch.stack([evaluate(_model(r), batch.x) for r in job.inputs])]

    def _loss(self, work: Loss, job: Job) -> Sequence[Tensor]:
        batch = self._shards.split(work.node, work.split)
        return [F.cross_entropy(evaluate(_model(job.inputs[0]), batch.x), batch.y)]

    def _gradient(self, work: Gradient, job: Job) -> Sequence[Tensor]:
        architecture = job.inputs[0].architecture
        assert architecture is not None
        batch = self._shards.split(work.node, work.split)
        row = job.inputs[0].tensor().clone()
        gradient = torch.zeros_like(row)
        model = architecture.bind(row, gradient[: architecture.num_parameters])
        F.cross_entropy(model(batch.x), batch.y).backward()  # type: ignore[no-untyped-call]
        return [gradient]

    @torch.no_grad()
    def _measure(self, work: Measure, job: Job) -> Sequence[Tensor]:
        model, *given = job.inputs
        arguments = fill(work.given, [r.tensor() for r in given])
        batch = self._shards.split(work.node, work.split)
        return _announced(work.function(_model(model), batch, *arguments), work.function, job)

    def _apply(self, work: Apply, job: Job) -> Sequence[Tensor]:
        values = [r.tensor() for r in job.inputs]
        return _announced(work.function(*fill(work.args, values)), work.function, job)

    def _mix(self, work: Mix, job: Job) -> Sequence[Tensor]:
        if work.weights is not None:
            weights: Sequence[float] = work.weights
            rows = [r.tensor() for r in job.inputs]
        else:
            *rows, lazy = (r.tensor() for r in job.inputs)
            weights = lazy.tolist()
        total = torch.zeros_like(rows[0])
        for row, weight in zip(rows, weights, strict=True):
            if weight:  # a zero weight keeps out a diverged model: 0 * nan is nan
                total.add_(row, alpha=weight)
        return [total]

    def _replace_columns(self, work: ReplaceColumns, job: Job) -> Sequence[Tensor]:
        row = job.inputs[0].tensor().clone()
        row[work.start : work.stop] = job.inputs[1].tensor()
        return [row]

    def _select(self, work: Select, job: Job) -> Sequence[Tensor]:
        inputs = list(job.inputs)
        state = inputs.pop().tensor() if work.has_state else None
        batch = self._shards.split(work.node, "validation")
        architecture = inputs[0].architecture
        assert architecture is not None

        def loss(row: Tensor) -> float:
            logits = evaluate(architecture.bind(row), batch.x)
            return float(F.cross_entropy(logits, batch.y))

        return greedy(
            [r.tensor() for r in inputs], work.sizes, work.coins, work.budget, loss, state
        )


def cross_entropy(model: nn.Module, batch: Batch, learned: dict[str, Tensor]) -> Tensor:
    """The default loss: mean cross-entropy of the batch."""
    return F.cross_entropy(model(batch.x), batch.y)


@torch.no_grad()
def evaluate(model: nn.Module, x: Tensor) -> Tensor:
    """Outputs (n, L) of a model in evaluation mode."""
    logits: Tensor = model(x)
    return logits


def _announced(result: Any, function: Callable[..., Any], job: Job) -> list[Tensor]:
    """The results of a function, checked against the shapes announced, as values of their own."""
    outputs = result if isinstance(result, tuple) else (result,)
    for output, shape in zip(outputs, job.shapes, strict=True):
        if tuple(output.shape) != shape:
            raise ValueError(
                f"{function.__qualname__} gave shape {tuple(output.shape)}, announced was {shape}"
            )
    # A result may be a view of an input; a value must never change with another one.
    return [o.detach().clone() for o in outputs]


def _model(ref: Any) -> nn.Module:
    """The model of a Ref, bound for reading; valid until the next one is bound."""
    return ref.architecture.bind(ref.tensor())  # type: ignore[no-any-return]
