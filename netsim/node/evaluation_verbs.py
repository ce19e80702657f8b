"""Looking at models with a node's own data: outputs, losses, gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from netsim.backends.job_types.batch_gradient import BatchGradient
from netsim.backends.job_types.gradient import Gradient
from netsim.backends.job_types.loss import Loss
from netsim.backends.job_types.measure import Measure
from netsim.backends.job_types.outputs import Outputs
from netsim.learning.calling_line import calling_line, verb_place
from netsim.learning.functions import require_module_level, to_slots
from netsim.learning.jobs import BatchKey
from netsim.learning.refs import Ref
from netsim.learning.scheduler import Scheduler
from netsim.learning.shards import Shards
from netsim.node.checks import TaskGuard, architecture_of, require_samples
from netsim.recording.run_warnings import RunWarnings


class EvaluationVerbs:
    """The verbs of one node that only look at models; `Node` documents them.

    Parameters
    ----------
    node_id : int
    scheduler : Scheduler
    shards : Shards
    guard : TaskGuard
        Is asked where an algorithm looks at outputs or at samples itself.
    warnings : RunWarnings
        Is told of an algorithm that looks at test samples.
    """

    def __init__(
        self,
        node_id: int,
        scheduler: Scheduler,
        shards: Shards,
        guard: TaskGuard,
        warnings: RunWarnings,
    ) -> None:
        self._id, self._scheduler, self._shards = node_id, scheduler, shards
        self._guard, self._warnings = guard, warnings
        self._told = False  # that it looks at test samples

    def outputs(self, refs: Sequence[Ref], batch: BatchKey) -> Ref:
        """See `Node.outputs`."""
        self._guard.require("outputs of models")
        n = len(self._shards.batch_rows(batch))
        classes = architecture_of(refs[0]).num_outputs
        shape = (len(refs), n, classes)
        (out,) = self._scheduler.results(Outputs(batch), self._id, tuple(refs), [shape])
        return out

    def loss(self, ref: Ref, split: str) -> Ref:
        """See `Node.loss`."""
        if ref.cell.architecture is None or ref.ranges is not None:
            architecture_of(ref)  # which refuses it
        shard = self._looked_at(split)
        (out,) = self._scheduler.results(Loss(shard, split), self._id, (ref,), [()])
        return out

    def gradient(self, ref: Ref, split: str | BatchKey) -> Ref:
        """See `Node.gradient`."""
        architecture_of(ref)
        work: Gradient | BatchGradient
        if isinstance(split, BatchKey):
            work = BatchGradient(split)
        else:
            work = Gradient(self._looked_at(split), split)
        (out,) = self._scheduler.results(work, self._id, (ref,), [ref.shape])
        return out

    def measure(
        self,
        fn: Callable[..., Any],
        theta: Ref,
        split: str,
        given: Sequence[Any],
        like: tuple[int, ...],
    ) -> Ref:
        """See `Node.measure`."""
        require_module_level(fn)
        self._guard.require("measurements of its own")
        architecture_of(theta)
        shard = self._looked_at(split)
        inputs: list[Ref] = []
        work = Measure(fn, shard, split, to_slots(tuple(given), inputs))
        (out,) = self._scheduler.results(work, self._id, (theta, *inputs), [like], (), verb_place())
        return out

    def _looked_at(self, split: str) -> int:
        """Return the shard whose samples of a split are looked at, once there are some."""
        if split == "test" and not self._told:
            self._told = True
            self._warnings.once(
                "test samples",
                f"the algorithm looks at test samples{calling_line()}: of what it decides by them, "
                "accuracies are no longer those on samples that nobody has seen; "
                'split = "validation" is for decisions',
            )
        return require_samples(self._shards, self._id, split)
