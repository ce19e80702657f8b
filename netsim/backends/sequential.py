"""The sequential backend: one job at a time in plain PyTorch, which all others must agree with."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from netsim.backends.job_type import job_type
from netsim.backends.plain import Plain, evaluate
from netsim.learning.jobs import Job, JobFailedError
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Ref
from netsim.learning.shards import Shards
from netsim.rng import Streams


class Sequential:
    """Runs jobs one after another on one device.

    Parameters
    ----------
    shards : Shards
    streams : Streams
        Seeds the masks of random layers.
    """

    name = "sequential"

    def __init__(self, shards: Shards, streams: Streams) -> None:
        self._shards = shards
        self._plain = Plain(shards, streams)
        self.divergences = self._plain.divergences
        self.one_by_one: dict[str, str] = {}

    def execute(self, jobs: Sequence[Job[Any]]) -> int:
        """Run jobs one after another; see `netsim.learning.scheduler.Backend`."""
        for job in jobs:
            try:
                values = job_type(type(job.work)).run_one(job, self._plain)
            except Exception as error:
                raise JobFailedError(job) from error
            for cell, value in zip(job.outputs, values, strict=True):
                if cell is not None:
                    cell.fill(value)
        return len(jobs)

    def predictions(self, asked: Sequence[tuple[Ref, Rows]]) -> list[Tensor]:
        """Outputs of models in evaluation mode; see `netsim.learning.scheduler.Backend`."""
        found, gathered, x = [], None, self._shards.x
        for ref, rows in asked:
            # Samples that all nodes share are gathered once, unless a model writes over them.
            if rows is not gathered or x._version:
                gathered, x = rows, self._shards.x[torch.from_numpy(rows).to(self._shards.x.device)]
            found.append(evaluate(ref.architecture, ref.tensor(), x).cpu())
        return found
