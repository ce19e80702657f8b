"""Local training: what an algorithm records, and when it is done in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import simpy

from netsim.backends.job_types.train import Train
from netsim.errors import ProtocolError
from netsim.learning import optimizers
from netsim.learning.functions import require_module_level, to_slots
from netsim.learning.jobs import Batches, BatchKey, Optimizer
from netsim.learning.refs import Cell, Ref
from netsim.learning.shards import Shards
from netsim.node.mixing_check import MixingCheck
from netsim.node.processor import Processor
from netsim.node.submission import Submission, architecture_of
from netsim.node.task_guard import TaskGuard


class Trained(NamedTuple):
    """What local training gives.

    Attributes
    ----------
    theta : Ref
        The trained model.
    learned : dict of str to Ref
        What was trained jointly, under the names given.
    optimizer : Ref
        The optimiser's state, for the next call.
    """

    theta: Ref
    learned: dict[str, Ref]
    optimizer: Ref


class TrainingVerbs:
    """The verbs of one node that train; `Node` documents them.

    Parameters
    ----------
    node_id : int
    role : str
    initial : Cell
        The node's initial model.
    submission : Submission
    processor : Processor
    shards : Shards
    optimizer : Optimizer
        The constants of the local optimiser; may be set anew.
    mixing : MixingCheck
        Is told of every model that training starts from.
    guard : TaskGuard
        Is asked about losses of the algorithm's own.
    """

    def __init__(
        self,
        node_id: int,
        role: str,
        initial: Cell,
        submission: Submission,
        processor: Processor,
        shards: Shards,
        optimizer: Optimizer,
        mixing: MixingCheck,
        guard: TaskGuard,
    ) -> None:
        self._mixing, self._guard = mixing, guard
        self._id, self._role, self._initial = node_id, role, initial
        self._submission, self._processor = submission, processor
        self._shards, self.optimizer = shards, optimizer
        self._train_size = shards.train_size(node_id)
        self._batches_drawn: dict[str, int] = {}

    def initial(self) -> Ref:
        """See `Node.initial`."""
        return Ref(self._id, self._initial)

    def train(
        self,
        theta: Ref,
        steps: int | None = None,
        epochs: int | None = None,
        loss: Callable[..., Any] | None = None,
        given: Sequence[Any] = (),
        learn: Mapping[str, Ref] | None = None,
        anchor: tuple[Ref, float] | None = None,
        optimizer: Ref | None = None,
        learning_rate: float | None = None,
        stream: str = "train",
        same_batch: bool = False,
    ) -> simpy.Event:
        """See `Node.train`."""
        if (steps is None) == (epochs is None) or (steps or epochs or 0) < 1:
            raise ProtocolError("train: give steps or epochs, one of them, at least 1")
        if same_batch and steps is None:
            raise ProtocolError("train: same_batch is for steps")
        if self._train_size == 0:
            remedy = "; this algorithm works between peers: leave out nodes of role server"
            raise ProtocolError(
                f"node {self._id} has no training data" + (remedy if self._role == "server" else "")
            )
        total = steps or self._shards.batches_per_epoch(self._id) * (epochs or 0)
        constants = self.optimizer
        architecture = architecture_of(theta)
        self._mixing.used(theta, "trained further")
        first = self._drawn(stream, 1 if same_batch else total)
        if loss is not None:
            require_module_level(loss)
            self._guard.require("a loss of its own")
        held_fixed: list[Ref] = []
        slotted = to_slots(tuple(given), held_fixed) if len(given) else ()
        learned_too = dict(learn) if learn else {}
        work = Train(
            Batches(self._id, stream, first, total, same_batch),
            constants,
            loss,
            slotted,
            len(held_fixed),
            tuple(learned_too),
            None if anchor is None else anchor[1],
            optimizer is not None,
            learning_rate,
        )
        inputs = (theta, *held_fixed, *learned_too.values())
        if anchor is not None:
            inputs += (anchor[0],)
        if optimizer is not None:
            inputs += (optimizer,)
        trained = architecture.num_parameters + sum(r.num_values for r in learned_too.values())
        size = optimizers.state_size(constants.kind, trained)
        if optimizer is not None and optimizer.shape != (size,):
            raise ProtocolError(
                f"train: the optimizer's state has shape {optimizer.shape}, {(size,)} is needed; "
                "it must come from a call with the same model and the same `learn`"
            )
        if anchor is not None and anchor[0].num_values < architecture.num_parameters:
            raise ProtocolError("train: the anchor must be a model like theta, or its parameters")
        shapes = [theta.shape, *(r.shape for r in learned_too.values()), (size,)]
        new, *learned, state = self._submission.submit(work, inputs, shapes, [architecture])
        result = Trained(new, dict(zip(learned_too, learned, strict=True)), state)
        return self._processor.train(total, result)

    def batch(self, stream: str) -> BatchKey:
        """See `Node.batch`."""
        return BatchKey(self._id, stream, self._drawn(stream, 1))

    def _drawn(self, stream: str, count: int) -> int:
        """Draw so many minibatches from a stream; the number of the first."""
        first = self._batches_drawn.get(stream, 0)
        self._batches_drawn[stream] = first + count
        return first
