"""Record of how a run's jobs were computed, sort by sort, and why not by the native kernel."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from netsim.backends.job_type import job_type, subject
from netsim.learning.jobs import Job

ONE_BY_ONE = "PyTorch, node after node"
STACKED = "PyTorch, many nodes in a call"


class Ways:
    """The ways of all jobs that have a model, shared by the backends of a run.

    Attributes
    ----------
    of_models : dict of int to str
        Why the kernel computes nothing of a model, by the `id` of its architecture.
    """

    def __init__(self) -> None:
        self._subjects: dict[Hashable, str] = {}
        self._ways: dict[str, str] = {}
        self._reasons: dict[str, str] = {}
        self.of_models: dict[int, str] = {}

    def note(self, job: Job[Any], way: str, reason: str = "") -> None:
        """Note how jobs like this one are computed.

        Parameters
        ----------
        job : Job
        way : str
            As `native/avx512`.
        reason : str
            Why the kernel computes no more of it.
        """
        name = self._subject(job)
        if name:
            self._ways[name] = way
            if not reason and way in (STACKED, ONE_BY_ONE):
                reason = self.of_models.get(id(job.inputs[0].architecture), "")
            if reason:
                self._reasons[name] = reason
            elif way.startswith("native"):
                self._reasons.pop(name, None)

    def forget(self) -> None:
        """Forget what was noted so far: jobs of no method of the run's."""
        self._ways.clear()
        self._reasons.clear()

    def decline(self, job: Job[Any], reason: str) -> None:
        """Note why the native kernel does not compute jobs like this one."""
        name = self._subject(job)
        if name:
            self._reasons.setdefault(name, reason)

    def as_dict(self) -> dict[str, str]:
        """The way of each sort of jobs, and the reason where it is not the kernel's alone."""
        return {
            name: f"{way}: {self._reasons[name]}" if name in self._reasons else way
            for name, way in sorted(self._ways.items())
        }

    def _subject(self, job: Job[Any]) -> str:
        """Describe a job in the words of `subject`; empty for one without a model."""
        architecture = job.inputs[0].architecture if job.inputs else None
        if architecture is None or not job_type(type(job.work)).calls_model:
            return ""
        function = getattr(job.work, "function", None)
        key = type(job.work), function, getattr(job.work, "part", None), id(architecture)
        if key not in self._subjects:
            self._subjects[key] = subject(job)
        return self._subjects[key]
