"""Threads that run jobs of plain PyTorch beside each other, each with modules of its own."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from netsim.backends.job_type import job_type
from netsim.backends.plain import Plain
from netsim.backends.sharing import Sharing
from netsim.learning.architecture import DROPOUT, Architecture
from netsim.learning.global_draws import generator, mask_seed
from netsim.learning.jobs import BatchKey, Job
from netsim.learning.module_copies import left_behind
from netsim.learning.shards import Batch, Shards
from netsim.rng import Streams

Outcome = Sequence[Tensor] | Exception
"""Results of a job, or why it failed."""


class PlainThreads:
    """Threads for jobs of types that are `threaded`.

    Parameters
    ----------
    shards : Shards
    streams : Streams
    threads : int
        At most so many work at a time.

    Notes
    -----
    A job is computed by one thread, with one thread of PyTorch, in the order in which it would be
    computed alone, so its bits depend neither on how many threads there are nor on which of them
    took it. Nothing is shared but what all of them only read: each thread has its own modules,
    scratch memory and generators, and what a job tells of divergence is noted by the caller.
    """

    def __init__(self, shards: Shards, streams: Streams, threads: int) -> None:
        lock = threading.Lock()
        self._threads = threads
        self._owners = [ThreadPlain(shards, streams, lock) for _ in range(threads)]
        self._pool: ThreadPoolExecutor | None = None
        self._sharing = Sharing()
        self._fits: dict[int, bool] = {}

    def run(self, jobs: Sequence[Job[Any]]) -> dict[int, tuple[Outcome, list[Tensor]]]:
        """Run the jobs that may run beside each other; in one thread where several do not pay.

        Parameters
        ----------
        jobs : sequence of Job
            None of them reads what another one computes.

        Returns
        -------
        dict of int to (Outcome, list of torch.Tensor)
            By place among `jobs`: its results, and what is to be noted of divergence, (1,) each.
        """
        chosen = [i for i, job in enumerate(jobs) if self._can_run(job)]
        if len(chosen) < 2:
            return {}
        for i in chosen:
            for ref in jobs[i].inputs:
                if ref.cell.recipe is not None:  # left for later: computed by one thread
                    ref.cell.materialise()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(
                self._threads, "netsim-plain", initializer=torch.set_num_threads, initargs=(1,)
            )
        left, found = iter(chosen), dict[int, tuple[Outcome, list[Tensor]]]()
        taking = threading.Lock()

        def work(owner: ThreadPlain) -> float:
            before = time.thread_time()
            while True:
                with taking:
                    i = next(left, None)
                if i is None:
                    return time.thread_time() - before
                found[i] = owner.run(jobs[i])

        start = time.perf_counter()
        width = min(self._threads, len(chosen)) if self._sharing.is_worthwhile() else 1
        cpu_s = sum(self._pool.map(work, self._owners[:width]))
        self._sharing.note(width, time.perf_counter() - start, cpu_s)
        return found

    def _can_run(self, job: Job[Any]) -> bool:
        if not job_type(type(job.work)).threaded:
            return False
        architecture = job.inputs[0].architecture
        assert architecture is not None
        if id(architecture) not in self._fits:
            self._fits[id(architecture)] = _can_be_copied(architecture)
        return self._fits[id(architecture)] and architecture.sequential_reason is None


class ThreadPlain(Plain):
    """Services for jobs that one thread of several runs.

    Parameters
    ----------
    shards : Shards
    streams : Streams
    lock : threading.Lock
        Held while minibatches are gathered: the orders of samples are cached for all threads.
    """

    def __init__(self, shards: Shards, streams: Streams, lock: threading.Lock) -> None:
        super().__init__(shards, streams)
        self._lock, self._generator = lock, generator(shards.x.device, 0)
        self._owned: dict[Architecture, Architecture] = {}
        self._noted: list[Tensor] = []

    def run(self, job: Job[Any]) -> tuple[Outcome, list[Tensor]]:
        """Run a job; what its training is to be judged by comes with its results."""
        self._noted = []
        try:
            values: Outcome = job_type(type(job.work)).run_one(job, self)
        except Exception as error:  # whatever a loss may raise: the caller says whose it was
            values = error
        return values, self._noted

    def note_training(self, job: Job[Any], after: Tensor) -> None:
        """Keep it for the caller."""
        self._noted.append(after)

    def batches(self, keys: Sequence[BatchKey], uniforms: int) -> list[Batch]:
        """Minibatches, gathered while no other thread gathers any."""
        with self._lock:
            return super().batches(keys, uniforms)

    def bound_layout(self, architecture: Architecture) -> Architecture:
        """The layout with a module that no other thread uses."""
        if architecture not in self._owned:
            a, module = architecture, copy.deepcopy(architecture.module)
            for layer in module.modules():
                if type(layer) is nn.Dropout:
                    setattr(layer, "forward", _Dropout(layer, self._generator))  # noqa: B010 - typed
            mine = Architecture(a.name, module, a.device, a.dtype, a.num_outputs, a.traits, a.head)
            self._owned[architecture] = mine
        return self._owned[architecture]

    @contextmanager
    def masks(self, is_random: bool, key: BatchKey) -> Iterator[None]:
        """Seed this thread's own generator for a minibatch."""
        if is_random:
            self._generator.manual_seed(mask_seed(self.streams, key))
        yield


class _Dropout:
    """Dropout as PyTorch computes it, with another generator than the global one."""

    def __init__(self, layer: nn.Dropout, drawn: torch.Generator) -> None:
        self._layer, self._generator = layer, drawn

    def __call__(self, x: Tensor) -> Tensor:
        p = self._layer.p
        if not self._layer.training or p == 0 or not x.numel():
            return x
        if p == 1:
            return x * torch.zeros((), dtype=x.dtype)
        return x * torch.empty_like(x).bernoulli_(1 - p, generator=self._generator).div_(1 - p)


_DRAWS = (DROPOUT, nn.RReLU, nn.RNNBase, nn.MultiheadAttention)
"""Layers that may draw from the global generator; only `Dropout` has a form with its own."""


def _can_be_copied(architecture: Architecture) -> bool:
    """Return whether threads may have modules of their own, with the same results."""
    for layer in architecture.module.modules():
        if isinstance(layer, _DRAWS) and (type(layer) is not nn.Dropout or layer.inplace):
            return False
    try:
        copied = copy.deepcopy(architecture.module)
        if left_behind(architecture.module, copied) is not None:
            return False
    except Exception:  # whatever a module of the user's may raise
        return False
    return architecture.device.type == "cpu"
