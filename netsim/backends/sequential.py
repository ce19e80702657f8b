"""The sequential backend: plain PyTorch, job after job, which all others must agree with.

Trainings of one level run in several threads where that pays, each as if it were alone.
"""

from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor

from netsim.backends.job_type import job_type
from netsim.backends.plain import Plain, evaluate
from netsim.backends.plain_threads import PlainThreads
from netsim.backends.ways import ONE_BY_ONE, Ways
from netsim.learning.architecture import Architecture
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
    threads : int
        At most so many jobs run at a time; bits do not depend on it.

    Attributes
    ----------
    shards : Shards
    ways : Ways
        How jobs were computed.
    """

    name = "sequential"

    def __init__(self, shards: Shards, streams: Streams, threads: int = 1) -> None:
        self.shards = shards
        self._plain = Plain(shards, streams)
        self.divergences = self._plain.divergences
        self.one_by_one: dict[str, str] = {}
        self.ways = Ways()
        several = threads > 1 and shards.x.device.type == "cpu"
        self._threads = PlainThreads(shards, streams, threads) if several else None

    def in_double(self, like: Architecture, architecture: Architecture, shards: Shards) -> Self:
        """The same backend in double precision, for one model.

        Parameters
        ----------
        like, architecture : Architecture
            The model, and the same in double precision.
        shards : Shards
            Samples in double precision.
        """
        return type(self)(shards, self._plain.streams)

    def execute(self, jobs: Sequence[Job[Any]]) -> int:
        """Run jobs; see `netsim.learning.scheduler.Backend`."""
        found = {} if self._threads is None or len(jobs) < 2 else self._threads.run(jobs)
        for i, job in enumerate(jobs):
            self.ways.note(job, ONE_BY_ONE)
            try:
                if i not in found:
                    values = job_type(type(job.work)).run_one(job, self._plain)
                else:
                    outcome, noted = found.pop(i)
                    if isinstance(outcome, Exception):
                        raise outcome
                    values = outcome
                    for after in noted:
                        self._plain.note_training(job, after)
            except Exception as error:
                raise JobFailedError(job) from error
            for cell, value in zip(job.outputs, values, strict=True):
                if cell is not None:
                    a, device = cell.architecture, self.shards.x.device
                    cell.fill(value.to(device) if a is None else value.to(device, a.dtype))
        return len(jobs)

    def predictions(self, asked: Sequence[tuple[Ref, Rows]]) -> list[Tensor]:
        """Outputs of models in evaluation mode; see `netsim.learning.scheduler.Backend`."""
        found, gathered, x = [], None, self.shards.x
        for ref, rows in asked:
            # Samples that all nodes share are gathered once, unless a model writes over them.
            if rows is not gathered or x._version:
                gathered, x = rows, self.shards.x[torch.from_numpy(rows).to(self.shards.x.device)]
            found.append(evaluate(ref.architecture, ref.tensor(), x).cpu())
        return found
