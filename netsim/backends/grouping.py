"""Running jobs in groups by signature, and what can't be grouped by another backend."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from netsim.backends.dispatch import Routes
from netsim.backends.job_type import (
    Call,
    Declined,
    GroupKernel,
    Passed,
    Signature,
    job_type,
    subject,
)
from netsim.backends.rounding import beyond_rounding, rounds_like
from netsim.backends.ways import Ways
from netsim.errors import is_out_of_memory, one_line
from netsim.learning.architecture import Architecture
from netsim.learning.divergence import Divergences
from netsim.learning.functions import WrittenInPlaceError
from netsim.learning.jobs import Job, JobFailedError
from netsim.learning.refs import Cell, Ref
from netsim.learning.shards import Shards

R = TypeVar("R")

Group = tuple[type, Signature]

InDouble = Callable[[Architecture, Architecture, Shards], "GroupedExecution[Any]"]
"""The groups of the same backend in double precision: see `Sequential.in_double`."""


TRIES = 3
"""On so many jobs a kernel must differ before it counts: see `netsim.backends.rounding`."""


class PlainBackend(Protocol):
    """The sequential backend."""

    divergences: Divergences
    shards: Shards

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
    in_double : callable
        The same in double precision, for one model.
    ways : Ways
        Told how jobs are computed.
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
        plain: PlainBackend,
        declined: dict[str, str],
        in_double: InDouble,
        ways: Ways,
        names_missing: bool = True,
    ) -> None:
        self._backend, self._resources, self._routes = backend, resources, routes
        self._fallback, self._declined = fallback, declined
        self._names_missing = names_missing
        self._widest: dict[Group, int] = {}
        self._plain, self._compared = plain, set[Hashable]()
        self._in_double, self._ways = in_double, ways
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
            reason = f"there is no {self._backend} kernel for them"
            self._ways.decline(job, reason)
            if self._names_missing:
                self._declined[subject(job)] = reason
            return None
        if kernel.purpose is not None:
            architecture = job.inputs[0].architecture
            assert architecture is not None
            if self._routes.backend_name(architecture, kernel.purpose) != self._backend:
                self._ways.decline(job, self._routes.reason(architecture, kernel.purpose))
                return None
        signature = kernel.signature(job, self._resources)
        if isinstance(signature, Declined | Passed):
            self._ways.decline(job, signature.reason)
            if isinstance(signature, Declined):
                self._declined[subject(job)] = signature.reason
            return None
        return signature

    def _run_group(self, key: Group, jobs: Sequence[Job[Any]]) -> int:
        """Run a group in chunks of as many jobs as a call takes."""
        work, signature = key
        kernel: GroupKernel[R] = job_type(work).kernels[self._backend]
        if not self._agrees_with_plain(jobs):
            return self._fallback(jobs)
        call = kernel.prepare(signature, jobs, self._resources)
        model = jobs[0].inputs[0].architecture if jobs[0].inputs else None
        if model is not None:
            way = call.way or self._routes.name(model, self._backend)
            self._ways.note(jobs[0], way, call.reason)
        width, calls = self._width(key, call.most), 0
        for start in range(0, len(jobs), width):
            calls += self._attempt(call, key, jobs[start : start + width])
        return calls

    def _agrees_with_plain(self, jobs: Sequence[Job[Any]]) -> bool:
        """Return whether this backend computes what plain PyTorch does.

        It is looked at once a loss and model.

        A kernel that fails on the short jobs will say so on the long ones.
        """
        take = job_type(type(jobs[0].work)).sample
        difference = None
        for attempt in range(TRIES if take is not None else 0):
            assert take is not None
            job = jobs[attempt % len(jobs)]
            ours, plain = (take(job, attempt) for _ in range(2))
            if ours is None or plain is None or (attempt == 0 and ours[0] in self._compared):
                return True
            self._compared.add(ours[0])
            difference = self._describe_difference(ours[1], plain[1])
            if difference is None or self._only_rounds(job, attempt, ours[1], plain[1]):
                return True
        if difference is not None:
            reason = f"the {self._backend} backend differs from plain PyTorch: {difference}"
            self._declined[subject(jobs[0])] = reason
            self._ways.decline(jobs[0], reason)
        return difference is None

    def _describe_difference(self, ours: Job[Any], plain: Job[Any]) -> str | None:
        """Describe how two like jobs differ, of which one is run in plain PyTorch."""
        kernel: GroupKernel[R] = job_type(type(ours.work)).kernels[self._backend]
        before = self._plain.divergences.diverged_entries()
        try:
            signature = kernel.signature(ours, self._resources)
            if signature is None or isinstance(signature, Declined | Passed):
                return None
            kernel.prepare(signature, [ours], self._resources).run([ours], 1)
        except Exception as error:  # whatever a loss may raise
            if isinstance(error.__cause__, WrittenInPlaceError):
                raise  # what it has written to is not what it was
            return None
        try:
            self._plain.execute([plain])
        except JobFailedError as failure:
            why = failure.__cause__ or failure
            if isinstance(why, WrittenInPlaceError) or is_out_of_memory(why):
                raise
            return f"there it fails: {type(why).__name__}: {one_line(why)}"
        finally:
            self._plain.divergences.restore(before)
        for i, (a, b, start) in enumerate(
            zip(*map(_final_values, (ours, plain)), _initial_values(ours), strict=True)
        ):
            difference = beyond_rounding(a, b, start)
            if difference is not None:
                return f"in two steps result {i} {difference}"
        return None

    def _only_rounds(self, job: Job[Any], attempt: int, ours: Job[Any], plain: Job[Any]) -> bool:
        """Return whether two short jobs that differ in float32 agree but for rounding.

        Parameters
        ----------
        job : Job
            What they are short forms of.
        attempt : int
            Which of these.
        ours, plain : Job
            Both have run.
        """
        take, a = job_type(type(job.work)).sample, job.inputs[0].architecture
        assert take is not None
        assert a is not None
        if a.dtype != torch.float32:
            return False
        try:
            double = a.in_double()
            shards = self._plain.shards.in_double(list(ours.work.batches.keys()))
            twin, same = self._in_double(a, double, shards), _in_double(job, double)
            found, exact = (take(same, attempt) for _ in range(2))
            assert found is not None
            assert exact is not None
            if twin._describe_difference(found[1], exact[1]) is not None:
                return False
            jobs = zip(
                *map(_final_values, (ours, plain, exact[1])), _initial_values(ours), strict=True
            )
            return all(
                beyond_rounding(mine, theirs, start) is None
                or rounds_like(mine, theirs, right, start)
                for mine, theirs, right, start in jobs
            )
        except Exception as error:  # whatever a loss may raise in other numbers than its own
            if is_out_of_memory(error):
                raise
            return False

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
            self._ways.decline(jobs[0], reason)
            return calls
        return self._attempt(call, key, jobs)


def _final_values(job: Job[Any]) -> list[Tensor]:
    """Values of a short job that has run."""
    cells = [cell for cell in job.outputs if cell is not None]
    return [cell.materialise() for cell in cells]


def _initial_values(job: Job[Any]) -> list[Tensor]:
    """Values that a short training's results were before it: of the model, and zeros."""
    return [job.inputs[0].tensor(), *(torch.zeros(()) for _ in job.shapes[1:])]


def _in_double(job: Job[Any], double: Architecture) -> Job[Any]:
    """A job with the values of another one in double precision, and the same model in that."""
    like, inputs = job.inputs[0].architecture, []
    for ref in job.inputs:
        value = ref.tensor().double()
        architecture = double if ref.architecture is like else None
        cell = Cell(ref.cell.scheduler, tuple(value.shape), architecture, value)
        inputs.append(Ref(ref.owner, cell))
    return Job(job.work, job.node, job.time_ns, tuple(inputs), job.output_refs, job.shapes)
