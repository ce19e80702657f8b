"""Running jobs in groups by signature, and what can't be grouped by another backend."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import torch

from netsim.backends.dispatch import Routes
from netsim.backends.job_type import Call, Declined, GroupKernel, Signature, job_type, subject
from netsim.backends.rounding import beyond_rounding
from netsim.learning.divergence import Divergences
from netsim.learning.jobs import Job, JobFailedError

R = TypeVar("R")

Group = tuple[type, Signature]


TRIES = 3
"""On so many jobs a kernel must differ before it counts: see `netsim.backends.rounding`."""


class Plainly(Protocol):
    """The sequential backend."""

    divergences: Divergences

    def execute(self, jobs: Sequence[Job[Any]]) -> int:
        """Run jobs one after another."""


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
    plain : Plainly
        Runs jobs in plain PyTorch, with which kernels are compared.
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
        plain: Plainly,
        declined: dict[str, str],
        names_missing: bool = True,
    ) -> None:
        self._backend, self._resources, self._routes = backend, resources, routes
        self._fallback, self._declined = fallback, declined
        self._names_missing = names_missing
        self._widest: dict[Group, int] = {}
        self._plain, self._compared = plain, set[Hashable]()
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
        """Return the key that jobs of one call share; None for a job that runs alone."""
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
        if not self._agrees(jobs):
            return self._fallback(jobs)
        call = kernel.prepare(signature, jobs, self._resources)
        width, calls = self._width(key, call.most), 0
        for start in range(0, len(jobs), width):
            calls += self._attempt(call, key, jobs[start : start + width])
        return calls

    def _agrees(self, jobs: Sequence[Job[Any]]) -> bool:
        """Return whether this backend computes what plain PyTorch does.

        It is looked at once a loss and model.

        A kernel that fails on the short jobs will say so on the long ones.
        """
        take = job_type(type(jobs[0].work)).sample
        told = None
        for attempt in range(TRIES if take is not None else 0):
            assert take is not None
            ours, plain = (take(jobs[attempt % len(jobs)], attempt) for _ in range(2))
            if ours is None or plain is None or (attempt == 0 and ours[0] in self._compared):
                return True
            self._compared.add(ours[0])
            told = self._differs(ours[1], plain[1])
            if told is None:
                return True
        if told is not None:
            self._declined[subject(jobs[0])] = (
                f"the {self._backend} backend differs from plain PyTorch: {told}"
            )
        return told is None

    def _differs(self, ours: Job[Any], plain: Job[Any]) -> str | None:
        """Describe how two like jobs differ, of which one is run in plain PyTorch."""
        kernel: GroupKernel[R] = job_type(type(ours.work)).kernels[self._backend]
        before = self._plain.divergences.found()
        try:
            signature = kernel.signature(ours, self._resources)
            if signature is None or isinstance(signature, Declined):
                return None
            kernel.prepare(signature, [ours], self._resources).run([ours], 1)
            self._plain.execute([plain])
        except Exception:  # whatever a loss may raise
            return None
        finally:
            self._plain.divergences.restore(before)
        starts = [ref.tensor() for ref in ours.inputs]
        for i, (a, b) in enumerate(zip(ours.outputs, plain.outputs, strict=True)):
            assert a is not None
            assert b is not None
            start = starts[0] if i == 0 else torch.zeros(())
            told = beyond_rounding(a.materialise(), b.materialise(), start)
            if told is not None:
                return f"in two steps result {i} {told}"
        return None

    def _width(self, key: Group, most: int) -> int:
        """Return the number of jobs in a call of this group: `most`, or fewer without memory."""
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
