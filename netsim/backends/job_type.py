"""Definition of a type of job: one function to run one job, and others to run groups.

The file of a job type (`netsim/backends/job_types/`) registers it under the class that describes
its work. Code that records such a job imports the class from that file, so the type is registered
by then.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from torch import Tensor

from netsim.backends.plain import Plain
from netsim.backends.route import Purpose
from netsim.learning.jobs import Job, Work
from netsim.learning.refs import Cell

Signature = tuple[Any, ...]
"""Properties that jobs of one call share."""


class Declined(NamedTuple):
    """A kernel can't run a job; the run's summary says so.

    Attributes
    ----------
    reason : str
    """

    reason: str


class Passed(NamedTuple):
    """A kernel leaves a job to the backend behind its own.

    Attributes
    ----------
    reason : str
    """

    reason: str


class Call(NamedTuple):
    """Function that runs jobs of one signature.

    Attributes
    ----------
    run : callable
        run(jobs, width) fills the cells of some jobs, of which there are at most `width`.
    most : int
        How many jobs one call takes at most.
    way : str
        How they are computed, if it is not as the backend's name says.
    reason : str
        Why the native kernel does not compute all of it.
    """

    run: Callable[[Sequence[Job[Any]], int], None]
    most: int
    way: str = ""
    reason: str = ""


R = TypeVar("R")
"""Services of a backend for its kernels, such as `netsim.backends.stacked.resources.Resources`."""


@dataclass(frozen=True)
class GroupKernel(Generic[R]):
    """Function by which one backend runs groups of jobs of one type.

    Parameters
    ----------
    signature : callable
        signature(job, resources): what jobs must have in common to run in one call; None or
        `Passed` for a job that is better run alone; `Declined` for one that this kernel can't run.
        Numbers that
        differ from node to node (learning rates, sizes, batches, steps) are no part of it.
    prepare : callable
        prepare(signature, jobs, resources): what runs the jobs of a group.
    purpose : {"train", "loss", "infer"} or None
        The key of `[run.routes]` that says whether such jobs of a model run in groups; None: the
        signature alone says so.
    """

    signature: Callable[[Job[Any], R], Signature | Declined | Passed | None]
    prepare: Callable[[Signature, Sequence[Job[Any]], R], Call]
    purpose: Purpose | None = None


RunOne = Callable[[Job[Any], Plain], Sequence[Tensor]]


Sample = Callable[[Job[Any], int], tuple[Hashable, Job[Any], list[Cell]] | None]
"""Key of a comparison, a job, and the cells of its results."""


@dataclass(frozen=True)
class JobType:
    """One type of job.

    Parameters
    ----------
    run_one : callable
        run_one(job, plain) gives the results of one job, in plain PyTorch: what every other
        kernel must agree with.
    kernels : dict of str to GroupKernel
        By name of a backend. A backend without a kernel runs such jobs one by one, and the run's
        summary says so.
    names_model : bool
        Whether what can't be grouped is told per model.
    calls_model : bool
        Whether such a job calls the model that its first input is, and not only mixes rows.
    sample : callable or None
        sample(job, attempt): work and inputs of a short job like it, by which kernels are compared
        with `run_one` at their first use; None where that was done before the run. Attempts differ
        in what they train on.
    threaded : bool
        Whether `run_one` may run in several threads at a time, each with a `Plain` of its own.
    """

    run_one: RunOne
    kernels: dict[str, GroupKernel[Any]] = field(default_factory=dict)
    names_model: bool = True
    calls_model: bool = True
    sample: Sample | None = None
    threaded: bool = False


_TYPES: dict[type, JobType] = {}


def register(
    work: type[Work],
    run_one: RunOne,
    *,
    names_model: bool = True,
    calls_model: bool = True,
    sample: Sample | None = None,
    threaded: bool = False,
    **kernels: GroupKernel[Any],
) -> None:
    """Register a job type.

    Parameters
    ----------
    work : type
        The class that describes the work of such jobs.
    run_one, names_model, calls_model, sample, threaded
        As for `JobType`.
    **kernels : GroupKernel
        By name of a backend: `stacked=...`.
    """
    _TYPES[work] = JobType(run_one, kernels, names_model, calls_model, sample, threaded)


def offer_kernel(work: type[Work], backend: str, kernel: GroupKernel[Any]) -> None:
    """Add a backend's kernel to a registered job type, from the folder of that backend.

    Parameters
    ----------
    work : type
        The class that describes the work.
    backend : str
        Name of the backend.
    kernel : GroupKernel
    """
    _TYPES[work].kernels[backend] = kernel


def job_type(work: type[Any]) -> JobType:
    """The job type of a class of work."""
    return _TYPES[work]


def subject(job: Job[Any]) -> str:
    """Describe the job, in words that are the same for all jobs that would fail alike."""
    work: Any = job.work
    function = getattr(work, "function", None)
    what = f"jobs of the kind {type(work).__name__}"
    if function is not None:
        what = f"the function {function.__module__}.{function.__qualname__}"
    architecture = job.inputs[0].architecture if job_type(type(work)).names_model else None
    if architecture is None:
        return what
    part = getattr(work, "part", None)
    whole = f"{what} with the model {architecture.name}"
    return whole if part is None else f"{whole}, of its part {part}"
