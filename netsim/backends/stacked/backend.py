"""The stacked backend: many nodes in one call, with the numbers of one node after another.

Jobs of one level are sorted by signature: what must be equal for jobs to share a call. Numbers
that differ from node to node (learning rates, sizes, batches, numbers of steps) are data. What
can't share a call runs alone, by the sequential backend, on the same cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from netsim.backends.dispatch import Routes
from netsim.backends.parameter_store import Memory
from netsim.backends.sequential import Sequential
from netsim.backends.stacked import functional, mixing
from netsim.backends.stacked.activations import activations_per_sample
from netsim.backends.stacked.equivalence_check import build
from netsim.backends.stacked.inference import Looking, bucket
from netsim.backends.stacked.signatures import LONG_VALUE, Signature, Signatures, subject
from netsim.backends.stacked.stacked_module import Form, UnstackableError
from netsim.backends.stacked.training import Training
from netsim.learning.architecture import Architecture
from netsim.learning.jobs import (
    Apply,
    Gradient,
    Job,
    JobFailedError,
    Loss,
    Measure,
    Mix,
    Outputs,
    ReplaceColumns,
    Select,
    Train,
)
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Ref
from netsim.learning.shards import Shards
from netsim.rng import Streams


class Stacked:
    """Runs jobs of one signature in one call.

    Parameters
    ----------
    shards : Shards
    streams : Streams
    routes : Routes
        What of which model is worth stacking on this device.
    device, dtype
        Of every value.
    """

    name = "stacked"

    def __init__(
        self,
        shards: Shards,
        streams: Streams,
        routes: Routes,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        self._shards, self._streams = shards, streams
        self.memory = Memory(device, dtype, len(shards.rows))
        self._alone = Sequential(shards, streams)
        self.divergences = self._alone.divergences
        self.routes = routes
        self._forms: dict[int, Form | None] = {}
        self._trainings: dict[int, Training] = {}
        self._lookings: dict[int, Looking] = {}
        self.one_by_one: dict[str, str] = {}
        """What could not be stacked, and why."""
        self._signatures = Signatures(shards, routes, self._form, self.one_by_one)
        self._widest: dict[Signature, int] = {}
        self.splits = 0
        """How often a call ran out of memory and was halved."""

    def predictions(self, asked: Sequence[tuple[Ref, Rows]]) -> list[Tensor]:
        """Outputs of models in evaluation mode; see `netsim.learning.scheduler.Backend`."""
        self.memory.settle([ref.cell for ref, _ in asked if ref.cell.recipe is not None])
        groups: dict[Signature, list[int]] = {}
        for i, (ref, rows) in enumerate(asked):
            architecture = ref.architecture
            assert architecture is not None
            together = self.routes.stacks(architecture, "look") and self._form(architecture)
            key = (id(architecture), bucket(len(rows))) if together else ()
            groups.setdefault(key, []).append(i)
        found: dict[int, Tensor] = {}
        for key, places in groups.items():
            some = [asked[i] for i in places]
            if key:
                form = self._forms[key[0]]
                assert form is not None
                results = self._looking(form).predictions(some)
            else:
                results = self._alone.predictions(some)
            found.update(zip(places, results, strict=True))
        return [found[i] for i in range(len(asked))]

    # -- jobs by signature -------------------------------------------------------------------------

    def execute(self, jobs: Sequence[Job]) -> int:
        """Run jobs of one level; see `netsim.learning.scheduler.Backend`."""
        groups: dict[Signature, list[Job]] = {}
        alone: list[Job] = []
        for job in jobs:
            signature = self._signatures.of(job)
            try:
                group = alone if signature is None else groups.setdefault(signature, [])
            except TypeError:  # what its function is given can't be compared with other jobs'
                group = alone
            group.append(job)
        calls = self._run_alone(alone)
        for signature, group in groups.items():
            calls += self._run_together(signature, group)
        return calls

    def _run_alone(self, jobs: Sequence[Job]) -> int:
        return self._alone.execute(jobs)

    def _run_together(self, signature: Signature, jobs: Sequence[Job]) -> int:
        """Run a group in chunks; whatever goes wrong is narrowed down to one job."""
        run, most = self._call(signature, jobs)
        width, calls = self._width(signature, most), 0
        for start in range(0, len(jobs), width):
            calls += self._attempt(run, signature, jobs[start : start + width])
        return calls

    def _width(self, signature: Signature, most: int) -> int:
        """How many jobs a call takes, of at most so many."""
        return min(most, self._widest.get(signature, most))

    def _attempt(
        self, run: Callable[[Sequence[Job]], None], signature: Signature, jobs: Sequence[Job]
    ) -> int:
        width, half = self._width(signature, len(jobs)), len(jobs) // 2
        if width < len(jobs):  # others have found out meanwhile that there is no room for more
            parts = [jobs[i : i + width] for i in range(0, len(jobs), width)]
            return sum(self._attempt(run, signature, part) for part in parts)
        try:
            run(jobs)
            return 1
        except torch.OutOfMemoryError as error:
            if half == 0 and self._widest.get(signature) == 1:
                raise JobFailedError(jobs[0]) from error
            self._widest[signature] = max(1, half)
            self.splits += 1
        except Exception as error:
            # Alone, the job that is to blame fails by its own name. If none does, it was the call.
            calls = self._run_alone(jobs)
            reason = " ".join([f"{type(error).__name__}:", *str(error).splitlines()[:1]])
            self.one_by_one.setdefault(subject(jobs[0]), reason)
            return calls
        return self._attempt(run, signature, jobs)

    # -- calls -------------------------------------------------------------------------------------

    def _form(self, architecture: Architecture) -> Form | None:
        key = id(architecture)
        if key not in self._forms:
            try:
                self._forms[key] = build(architecture, self._shards.x[:8])
            except UnstackableError as reason:
                self._forms[key] = None
                self.one_by_one.setdefault(f"the model {architecture.name}", str(reason))
        return self._forms[key]

    def _call(
        self, signature: Signature, jobs: Sequence[Job]
    ) -> tuple[Callable[[Sequence[Job]], None], int]:
        """What runs jobs of a signature, and how many at once at most."""
        work, everything = jobs[0].work, len(jobs)
        if isinstance(work, Mix):
            return (lambda some: mixing.mix(self.memory, some)), everything
        if isinstance(work, ReplaceColumns):
            start, stop = work.start, work.stop
            return (lambda some: mixing.replace_columns(self.memory, some, start, stop)), everything
        if isinstance(work, Apply):
            return (lambda some: self._keep(some, _applied(some))), everything
        architecture = jobs[0].inputs[0].architecture
        assert architecture is not None
        if isinstance(work, Train):
            form = self._form(architecture) if signature[0] == "train" else None
            columns = self._shards.minibatches.columns
            activations = columns * activations_per_sample(architecture, self._shards.x[:1])
            width = self.routes.lanes(architecture, activations)
            if form is not None:
                training = self._training(form)
                return (
                    lambda some: training.run(some, signature, self._width(signature, width))
                ), width
            trainer = functional.LossTraining(
                architecture, self._shards, self.memory, self.divergences
            )
            return (lambda some: self._keep(some, trainer.run(some))), width
        if isinstance(work, Measure):
            return (lambda some: self._keep(some, self._measured(architecture, some))), everything
        form = self._form(architecture)
        assert form is not None
        look = self._looking(form)
        run = {
            Outputs: look.outputs,
            Loss: look.losses,
            Gradient: look.gradients,
            Select: look.selections,
        }[type(work)]
        return (lambda some: self._keep(some, run(some))), everything

    def _training(self, form: Form) -> Training:
        key = id(form)
        if key not in self._trainings:
            self._trainings[key] = Training(
                form, self._shards, self._streams, self.memory, self.divergences
            )
        return self._trainings[key]

    def _looking(self, form: Form) -> Looking:
        key = id(form)
        if key not in self._lookings:
            self._lookings[key] = Looking(form, self._shards, self.memory)
        return self._lookings[key]

    def _measured(self, architecture: Architecture, jobs: Sequence[Job]) -> list[list[Tensor]]:
        return [[value] for value in functional.measure(architecture, self._shards, jobs)]

    def _keep(self, jobs: Sequence[Job], results: Sequence[Sequence[Tensor]]) -> None:
        """Fill the cells that are still held, long rows into their slab."""
        for job, values in zip(jobs, results, strict=True):
            for value, shape in zip(values, job.shapes, strict=True):
                if tuple(value.shape) != shape:
                    raise ValueError(f"gave shape {tuple(value.shape)}, announced was {shape}")
        for job, values in zip(jobs, results, strict=True):
            for cell, value in zip(job.outputs, values, strict=True):
                if cell is None:
                    continue
                # A row of a batch would keep the whole batch alive.
                cell.value = value.detach().clone()
                if len(cell.shape) == 1 and cell.shape[0] >= LONG_VALUE:
                    self.memory.adopt(cell)


def _applied(jobs: Sequence[Job]) -> list[list[Tensor]]:
    work = jobs[0].work
    assert isinstance(work, Apply)
    count = len(jobs[0].inputs)
    inputs = [torch.stack([j.inputs[i].tensor() for j in jobs]) for i in range(count)]
    results = functional.vmapped(work.function, work.args, inputs)
    return functional.unstacked(results, len(jobs))
