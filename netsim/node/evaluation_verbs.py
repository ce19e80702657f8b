"""The verbs by which a node looks at models with its own data: outputs, losses, gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from netsim.backends.job_types.gradient import Gradient
from netsim.backends.job_types.loss import Loss
from netsim.backends.job_types.measure import Measure
from netsim.backends.job_types.outputs import Outputs
from netsim.errors import ProtocolError
from netsim.learning.functions import require_module_level, to_slots
from netsim.learning.jobs import BatchKey
from netsim.learning.refs import Cell, Ref
from netsim.node.publishing_verbs import Showing


class Measuring(Showing):
    """The measuring part of `netsim.node.training_verbs.Learner`."""

    @property
    def classes(self) -> tuple[int, ...]:
        """The labels that this node's training samples have, ascending."""
        return self._ctx.shards.classes(self.id)

    def outputs(self, refs: Sequence[Ref], batch: BatchKey) -> Ref:
        """Outputs (m, n, L) of m models on one minibatch, in evaluation mode; lazy."""
        shards = self._ctx.shards
        n = len(shards.batch_rows(batch))
        classes = self._architecture(refs[0]).num_outputs
        (out,) = self._submit(Outputs(batch), tuple(refs), [(len(refs), n, classes)])
        return out

    def loss(self, ref: Ref, split: str = "validation") -> Ref:
        """Mean cross-entropy of a model over one of the node's splits; a lazy scalar."""
        self._require_split(split)
        (out,) = self._submit(Loss(self.id, split), (ref,), [()])
        return out

    def gradient(self, ref: Ref, split: str = "validation") -> Ref:
        """Gradient of `loss` as a row like the model's, zero in the buffer columns; lazy."""
        self._require_split(split)
        (out,) = self._submit(Gradient(self.id, split), (ref,), [ref.shape])
        return out

    def measure(
        self,
        fn: Callable[..., Any],
        theta: Ref,
        split: str = "train",
        given: Sequence[Any] = (),
        like: tuple[int, ...] = (),
    ) -> Ref:
        """What `fn(model, batch, *given)` says of a model on all of one split; lazy.

        Parameters
        ----------
        fn : callable
            Module-level; gets `model(x)`, `model.features(x)` in evaluation mode and without
            gradients, and returns a tensor of shape `like`.
        split : str
            `train` or `validation`: the node's own samples.
        given : sequence of Ref or number
            Handed to `fn`; Params and tuples too, as in `compute`.
        like : tuple of int
            Shape of the result; () is a scalar.
        """
        require_module_level(fn)
        self._architecture(theta)
        self._require_split(split)
        inputs: list[Ref] = []
        work = Measure(fn, self.id, split, to_slots(tuple(given), inputs))
        (out,) = self._submit(work, (theta, *inputs), [like])
        return out

    # -- helpers ---------------------------------------------------------------------------------

    def _submit(
        self, work: Any, inputs: tuple[Ref, ...], shapes: Sequence[Any], models: Sequence[Any] = ()
    ) -> list[Ref]:
        me, scheduler = self.id, self._ctx.scheduler
        for ref in inputs:
            if ref.owner != me:
                ref.require_owner(me)
        cells = [
            Cell(scheduler, tuple(shape), architecture)
            for shape, architecture in zip_longest(shapes, models)
        ]
        scheduler.submit(work, me, inputs, cells)
        return [Ref(me, cell) for cell in cells]

    def _architecture(self, ref: Ref) -> Any:
        if ref.architecture is None:
            raise ProtocolError("a whole model is needed here, not a part or another value")
        return ref.architecture

    def _require_split(self, name: str) -> None:
        if len(getattr(self._ctx.shards.rows[self.id], name, ())) == 0:
            raise ProtocolError(
                f"node {self.id} has no {name} samples; set [data] validation to cut some"
            )
