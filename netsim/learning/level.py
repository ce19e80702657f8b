"""Running one level of jobs, watched for draws that no seed of the run sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from netsim.errors import ComputeError, NetsimError
from netsim.learning.architecture import Architecture
from netsim.learning.calling_line import line_of
from netsim.learning.global_draws import (
    ALONE,
    drawing_job,
    set_torch_state,
    torch_state,
    uses_global_generator,
)
from netsim.learning.jobs import Job, JobFailedError
from netsim.units import to_s


class Executes(Protocol):
    """As `netsim.learning.scheduler.Backend`, which has more."""

    def execute(self, jobs: Sequence[Job[Any]]) -> int:
        """Run jobs of one level, whose inputs are all computed; in how many calls."""


class Levels:
    """Runs the levels of one run, and remembers which models draw.

    Parameters
    ----------
    backend : Executes

    Attributes
    ----------
    one_by_one : dict of str to str
        Models that were found to draw though their first passes did not, and so run alone.
    """

    def __init__(self, backend: Executes) -> None:
        self._backend = backend
        self.one_by_one: dict[str, str] = {}

    def run(self, jobs: Sequence[Job[Any]]) -> int:
        """Run jobs of one level; in how many calls.

        Raises
        ------
        JobFailedError
            Naming the job that can't be run.
        ComputeError
            If a job draws from torch's global generator.
        """
        with ALONE:
            drawn_before = torch_state()
            calls = self._backend.execute(jobs)
            if torch_state() != drawn_before:
                self._refuse_draws(jobs)
                calls += self._seed_models(jobs)
                set_torch_state(drawn_before)
        return calls

    def _refuse_draws(self, jobs: Sequence[Job[Any]]) -> None:
        found = drawing_job(jobs, lambda job: self._backend.execute([job]))
        if found is not None:
            raise ComputeError(found)

    def _seed_models(self, jobs: Sequence[Job[Any]]) -> int:
        """Run jobs again, with seeds, whose models draw though their first passes did not."""
        late: set[Architecture] = set()
        for job in jobs:
            models = {r.architecture for r in job.inputs if r.architecture is not None} - late
            may = any(not a.is_random for a in models)
            if may and uses_global_generator(job, lambda job: self._backend.execute([job])):
                late |= models
        for architecture in late:
            architecture.found_random = True
            subject = f"the model {architecture.name}"
            self.one_by_one.setdefault(subject, str(architecture.sequential_reason))
        return self._backend.execute(jobs) if late else 0


def failure_error(failure: JobFailedError) -> NetsimError:
    """Error for the user about a failed job: node, virtual time, job, line."""
    job, error = failure.job, failure.__cause__
    if isinstance(error, NetsimError):
        return error
    asked = "" if job.place is None else f"; asked for at {line_of(job.place)}"
    return ComputeError(
        f"node {job.node} at {to_s(job.time_ns):g} s: {job.work.describe()} failed: "
        f"{type(error).__name__}: {error}{asked}"
    )
