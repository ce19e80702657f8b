"""Running jobs in groups by signature, and what can't be grouped by another backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import torch

from netsim.backends.dispatch import Routes
from netsim.backends.job_type import Call, Declined, GroupKernel, Signature, job_type, subject
from netsim.learning.jobs import Job, JobFailedError

R = TypeVar("R")

Group = tuple[type, Signature]


class GroupedExecution(Generic[R]):
    """Sorts jobs of one level into groups, and runs each group in as few calls as fit.

    Parameters
    ----------
    backend : str
        Whose kernels run the groups.
    resources : object
        What this backend's kernels use.
    routes : Routes
        Which model's jobs run in groups.
    fallback : callable
        Runs jobs that are not grouped, and says in how many calls.
    declined : dict of str to str
        What could not be grouped, and why; filled here.
    names_missing : bool
        Whether job types without a kernel of this backend are among them: not where the fallback
        groups them in its own way.

    Attributes
    ----------
    splits : int
        How often a call ran out of memory and was halved.
    """

    def __init__(
        self,
        backend: str,
        resources: R,
        routes: Routes,
        fallback: Callable[[Sequence[Job[Any]]], int],
        declined: dict[str, str],
        names_missing: bool = True,
    ) -> None:
        self._backend, self._resources, self._routes = backend, resources, routes
        self._fallback, self._declined = fallback, declined
        self._names_missing = names_missing
        self._widest: dict[Group, int] = {}
        self.splits = 0

    def execute(self, jobs: Sequence[Job[Any]]) -> int:
        """Run jobs of one level; see `netsim.learning.scheduler.Backend`."""
        groups: dict[Group, list[Job[Any]]] = {}
        alone: list[Job[Any]] = []
        for job in jobs:
            signature = self._signature(job)
            try:
                group = (
                    alone
                    if signature is None
                    else groups.setdefault((type(job.work), signature), [])
                )
            except TypeError:  # what its function is given can't be compared with other jobs'
                group = alone
            group.append(job)
        calls = self._fallback(alone) if alone else 0
        for key, members in groups.items():
            calls += self._run_group(key, members)
        return calls

    def _signature(self, job: Job[Any]) -> Signature | None:
        """What the job must share with others to run in one call; None for one that runs alone."""
        if self._declined and subject(job) in self._declined:
            return None
        kernel: GroupKernel[R] | None = job_type(type(job.work)).kernels.get(self._backend)
        if kernel is None:
            if self._names_missing:
                self._declined[subject(job)] = f"there is no {self._backend} kernel for them"
            return None
        if kernel.purpose is not None:
            architecture = job.inputs[0].architecture
            assert architecture is not None
            if self._routes.way(architecture, kernel.purpose) != self._backend:
                return None
        signature = kernel.signature(job, self._resources)
        if isinstance(signature, Declined):
            self._declined[subject(job)] = signature.reason
            return None
        return signature

    def _run_group(self, key: Group, jobs: Sequence[Job[Any]]) -> int:
        """Run a group in chunks of as many jobs as a call takes."""
        work, signature = key
        kernel: GroupKernel[R] = job_type(work).kernels[self._backend]
        call = kernel.prepare(signature, jobs, self._resources)
        width, calls = self._width(key, call.most), 0
        for start in range(0, len(jobs), width):
            calls += self._attempt(call, key, jobs[start : start + width])
        return calls

    def _width(self, key: Group, most: int) -> int:
        """How many jobs a call of this group takes: `most`, or fewer if memory ran out before."""
        return min(most, self._widest.get(key, most))

    def _attempt(self, call: Call, key: Group, jobs: Sequence[Job[Any]]) -> int:
        """Run jobs in one call, or in halves if memory runs out, or one by one if it fails."""
        width, half = self._width(key, len(jobs)), len(jobs) // 2
        if width < len(jobs):  # an earlier chunk has run out of memory meanwhile
            parts = [jobs[i : i + width] for i in range(0, len(jobs), width)]
            return sum(self._attempt(call, key, part) for part in parts)
        try:
            call.run(jobs, self._width(key, call.most))
            return 1
        except torch.OutOfMemoryError as error:
            if half == 0 and self._widest.get(key) == 1:
                raise JobFailedError(jobs[0]) from error
            self._widest[key] = max(1, half)
            self.splits += 1
        except Exception as error:
            # If one job is to blame, it fails alone by its own name. If none does, the call failed.
            calls = self._fallback(jobs)
            reason = " ".join([f"{type(error).__name__}:", *str(error).splitlines()[:1]])
            self._declined.setdefault(subject(jobs[0]), reason)
            return calls
        return self._attempt(call, key, jobs)
