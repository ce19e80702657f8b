"""What jobs must share to run in one call.

Numbers that differ from node to node (learning rates, sizes, batches, numbers of steps) are no part
of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from netsim.backends.dispatch import Routes
from netsim.backends.stacked.inference import bucket
from netsim.backends.stacked.stacked_module import Form
from netsim.learning.architecture import Architecture
from netsim.learning.functions import frozen
from netsim.learning.jobs import Apply, Job, Measure, Mix, Outputs, ReplaceColumns, Select, Train
from netsim.learning.shards import Shards

LONG_VALUE = 1024
"""Entries from which on a value lies in a slab."""

Signature = tuple[Any, ...]


class Signatures:
    """The signatures of one run's jobs.

    Parameters
    ----------
    shards : Shards
    routes : Routes
    form_of : callable
        The stacked form of an architecture, or None.
    one_by_one : mapping
        Subjects whose jobs run alone.
    """

    def __init__(
        self,
        shards: Shards,
        routes: Routes,
        form_of: Callable[[Architecture], Form | None],
        one_by_one: Mapping[str, str],
    ) -> None:
        self._shards, self._routes = shards, routes
        self._form_of, self._one_by_one = form_of, one_by_one

    def of(self, job: Job) -> Signature | None:
        """What jobs must share to run in one call; None for a job that runs alone."""
        work = job.work
        if isinstance(work, Mix):
            length = job.inputs[0].num_values
            rows = job.inputs if work.weights is not None else job.inputs[:-1]
            if length < LONG_VALUE or any([r.columns is not None for r in rows]):
                return None
            return (Mix, length)
        if isinstance(work, ReplaceColumns):
            return (ReplaceColumns, job.inputs[0].num_values, work.start, work.stop)
        if isinstance(work, Apply):
            return self._of_function(job, work)
        architecture = job.inputs[0].architecture
        assert architecture is not None
        if self._one_by_one and subject(job) in self._one_by_one:
            return None
        if isinstance(work, Train):
            return self._of_training(job, work, architecture)
        if not self._routes.stacks(architecture, "look"):
            return None
        if isinstance(work, Measure):
            size = len(self._shards.split_rows(work.node, work.split))
            shapes = tuple(r.shape for r in job.inputs)
            given = frozen(work.given)
            return (Measure, id(architecture), work.function, given, size, shapes)
        if self._form_of(architecture) is None:
            return None
        if isinstance(work, Outputs):
            if any(r.architecture is not architecture for r in job.inputs):
                return None
            return (Outputs, id(architecture), len(self._shards.batch_rows(work.batch)))
        split = "validation" if isinstance(work, Select) else work.split
        size = bucket(len(self._shards.split_rows(work.node, split)))
        return (type(work), id(architecture), size)

    def _of_function(self, job: Job, work: Apply) -> Signature | None:
        function = work.function
        marked = self._routes.functions and getattr(function, "is_batched", False)
        if not marked or subject(job) in self._one_by_one:
            return None
        return (Apply, function, frozen(work.args), tuple(r.shape for r in job.inputs))

    def _of_training(self, job: Job, work: Train, architecture: Architecture) -> Signature | None:
        smallest = min(self._shards.batch_size, self._shards.train_size(work.batches.node))
        if smallest == 1 and architecture.normalises_batches:
            return None  # it fails by its own name, or is an image, which has pixels enough
        anchored = work.anchor_strength is not None
        plan = (
            id(architecture),
            work.optimizer,
            work.anchor_strength,
            job.inputs[-2 if work.has_state else -1].num_values if anchored else 0,
            work.has_state,
        )
        if work.loss is None and not work.learn:
            if not self._routes.stacks(architecture, "train"):
                return None
            if self._form_of(architecture) is not None:
                return ("train", *plan)
        if architecture.is_random or not self._routes.stacks(architecture, "loss"):
            return None
        shapes = tuple(r.shape for r in job.inputs)
        return ("loss", *plan, work.loss, frozen(work.given), work.learn, shapes)


def subject(job: Job) -> str:
    """What a job is about, in words that are the same for all jobs that would fail alike."""
    work: Any = job.work
    function = getattr(work, "function", None) or getattr(work, "loss", None)
    what = f"jobs of the kind {type(work).__name__}"
    if function is not None:
        what = f"the function {function.__module__}.{function.__qualname__}"
    architecture = None if isinstance(work, Apply) else job.inputs[0].architecture
    return what if architecture is None else f"{what} with the model {architecture.name}"
