"""DPFL's greedy selection of models by validation loss; the algorithm is `learning.select`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from netsim.backends.inference import Inference, InferenceResources
from netsim.backends.job_type import Call, GroupKernel, Signature, register
from netsim.backends.plain import Plain, evaluate
from netsim.backends.stacked.inference import padded_size
from netsim.learning.candidate_sets import inspect_selections
from netsim.learning.jobs import Job
from netsim.learning.select import greedy, greedy_rounds

SPLIT = "validation"


@dataclass(frozen=True)
class Select:
    """Greedy selection: inputs own model, candidates, [state]; outputs weights and state.

    Parameters
    ----------
    shard : int
        Whose validation samples.
    sizes : tuple of float
        Training samples of the node that each model comes from, own first.
    coins : tuple of float
        One draw in [0, 1) per candidate.
    budget : int or None
        Largest number of models chosen, own included; None for no limit.
    has_state : bool
        Whether the last input is the state of an earlier batch of candidates.
    """

    shard: int
    sizes: tuple[float, ...]
    coins: tuple[float, ...]
    budget: int | None
    has_state: bool

    def describe(self) -> str:
        return "select"


def _run_one(job: Job[Select], plain: Plain) -> Sequence[Tensor]:
    """The selection of one node."""
    work = job.work
    models, state = _models_and_state(job)
    batch = plain.shards.split(work.shard, SPLIT)
    architecture = job.inputs[0].architecture

    def loss(row: Tensor) -> float:
        return float(batch.loss(evaluate(architecture, row, batch.x)))

    return greedy(models, work.sizes, work.coins, work.budget, loss, state)


def _models_and_state(job: Job[Select]) -> tuple[list[Tensor], Tensor | None]:
    values = [r.tensor() for r in job.inputs]
    state = values.pop() if job.work.has_state else None
    return values, state


def _signature(job: Job[Select], resources: InferenceResources) -> Signature | None:
    """One architecture, and validation splits that are padded to one size."""
    if not resources.supports_inference(job.inputs[0]):
        return None
    rows = resources.shards.split_rows(job.work.shard, SPLIT)
    return id(job.inputs[0].architecture), padded_size(len(rows))


def _prepare(_: Signature, jobs: Sequence[Job[Select]], resources: InferenceResources) -> Call:
    """All selections in lock-step: the losses that any of them needs next, in one pass.

    On a GPU the host waits once for what it must know of models, and once in each step for losses.
    """
    inference = resources.inference(jobs[0].inputs[0])

    def run(some: Sequence[Job[Select]], _: int) -> None:
        resources.fill(some, _selections(some, inference))

    return Call(run, len(jobs))


def _selections(jobs: Sequence[Job[Select]], inference: Inference) -> list[list[Tensor]]:
    results: list[list[Tensor]] = [[] for _ in jobs]
    going_on = {}
    given = [_models_and_state(job) for job in jobs]
    for i, ((models, state), at_first) in enumerate(
        zip(given, inspect_selections(given), strict=True)
    ):
        work = jobs[i].work
        going_on[i] = greedy_rounds(models, work.sizes, work.coins, work.budget, state, at_first)
    index, share = inference.padded_splits([(job.work.shard, SPLIT) for job in jobs])
    losses: dict[int, list[float] | None] = dict.fromkeys(going_on)
    while going_on:
        asked: list[tuple[int, Tensor]] = []
        for i, rounds in list(going_on.items()):
            known = losses[i]
            try:
                rows = next(rounds) if known is None else rounds.send(known)
                asked += [(i, row) for row in rows]
            except StopIteration as end:
                results[i] = list(end.value)
                del going_on[i]
        found: dict[int, list[float]] = {i: [] for i in going_on}
        for (i, _), loss in zip(asked, _losses(asked, index, share, inference), strict=True):
            found[i].append(loss)
        losses = dict(found)
    return results


def _losses(
    asked: Sequence[tuple[int, Tensor]], index: Tensor, share: Tensor, inference: Inference
) -> list[float]:
    """Validation losses of models, chunk by chunk.

    Parameters
    ----------
    asked : sequence of (int, (D,) torch.Tensor)
        The job that asks, and the model.
    index, share : torch.Tensor
        (jobs, n) as `Inference.padded_splits` gives them.
    inference : Inference
    """
    if not asked:
        return []
    job_numbers = torch.tensor([i for i, _ in asked]).to(index.device, non_blocking=True)
    chunk, losses = inference.models_at_once(index.shape[1]), []
    for start in range(0, len(asked), chunk):
        some = asked[start : start + chunk]
        rows = inference.empty_rows(len(some))
        torch.stack([row for _, row in some], out=rows[:, : some[0][1].numel()])
        mine = job_numbers[start : start + chunk]
        losses.append(inference.losses(rows, index[mine], share[mine]))
    found: list[float] = torch.cat(losses).cpu().tolist()
    return found


register(Select, _run_one, stacked=GroupKernel(_signature, _prepare, purpose="infer"))
