"""Local training: what an algorithm records, and when it is done in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol

import simpy

from netsim.backends.job_types.private_train import PrivateTrain
from netsim.backends.job_types.train import Train
from netsim.clock import Clock
from netsim.errors import ProtocolError
from netsim.learning import optimizers
from netsim.learning.architecture import Architecture
from netsim.learning.calling_line import calling_line, verb_place
from netsim.learning.columns import number_of
from netsim.learning.functions import require_module_level, to_slots, uniforms_of
from netsim.learning.jobs import Batches, BatchKey, Optimizer
from netsim.learning.privacy import Privacy
from netsim.learning.refs import Cell, Ref
from netsim.learning.scheduler import Scheduler
from netsim.learning.shards import Shards
from netsim.node.arguments import require_count, require_real
from netsim.node.checks import MixingCheck, TaskGuard, architecture_of
from netsim.node.processor import Processor
from netsim.units import to_s

_train, _batches = partial(tuple.__new__, Train), partial(tuple.__new__, Batches)
"""`Train` and `Batches` of a tuple of all their fields, in half the time: each job has one."""


class Trained(NamedTuple):
    """Result of local training.

    Attributes
    ----------
    theta : Ref
        The trained model.
    learned : dict of str to Ref
        Values that were trained jointly, under the names given.
    optimizer : Ref
        The optimiser's state, for the next call.
    """

    theta: Ref
    learned: dict[str, Ref]
    optimizer: Ref


class RateSchedule(Protocol):
    """A course of the learning rate, as `netsim.protocols.learning_rates` has them.

    Attributes
    ----------
    is_constant : bool
        Whether its factor is always 1.
    """

    is_constant: ClassVar[bool]

    def factor_at(self, local_steps: int, now_s: Callable[[], float]) -> float:
        """Factor on learning rates after a number of local steps, or at a time."""


class TrainingVerbs:
    """The verbs of one node that train; `Node` documents them.

    Parameters
    ----------
    node_id : int
    role : str
    initial : Cell
        The node's initial model.
    scheduler : Scheduler
    processor : Processor
    shards : Shards
    optimizer : Optimizer
        The constants of the local optimiser; may be set anew.
    schedule : RateSchedule
        Of its learning rate; may be set anew.
    clock : Clock
    mixing : MixingCheck
        Is told of every model that training starts from.
    guard : TaskGuard
        Is asked about losses of the algorithm's own.

    Attributes
    ----------
    single_steps : bool or None
        Whether each training was one local step of an optimizer that starts anew; None: there was
        none.
    """

    def __init__(
        self,
        node_id: int,
        role: str,
        initial: Cell,
        scheduler: Scheduler,
        processor: Processor,
        shards: Shards,
        optimizer: Optimizer,
        schedule: RateSchedule,
        clock: Clock,
        mixing: MixingCheck,
        guard: TaskGuard,
    ) -> None:
        self._mixing, self._guard = mixing, guard
        self._id, self._role, self._initial = node_id, role, initial
        self._scheduler, self._processor = scheduler, processor
        self._shards, self.optimizer = shards, optimizer
        self.schedule, self._clock = schedule, clock
        self.single_steps: bool | None = None
        self._batches_drawn: dict[tuple[int, str], int] = {}
        self._state_sizes: dict[tuple[Architecture, str | None, str], int] = {}

    def initial(self) -> Ref:
        """See `Node.initial`."""
        return Ref(self._id, self._initial)

    def rate_factor(self) -> float:
        """See `Node.rate_factor`."""
        steps = self._processor.local_steps
        return self.schedule.factor_at(steps, lambda: to_s(self._clock.now))

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
        batch: BatchKey | None = None,
        part: str | None = None,
        privacy: Privacy | None = None,
    ) -> simpy.Event:
        """See `Node.train`."""
        if (steps is None) == (epochs is None):
            raise ProtocolError("train: give steps or epochs, one of them, at least 1")
        if steps is None:
            require_count("train", "epochs", epochs, least=1)
        elif type(steps) is not int or steps < 1:
            require_count("train", "steps", steps, least=1)
        if learning_rate is not None:
            learning_rate = require_real("train", "learning_rate", learning_rate)
        if anchor is not None:
            anchor = anchor[0], require_real("train", "the anchor's strength", anchor[1])
        if loss is None and (learn or len(given)):
            raise ProtocolError(
                f"train: {'learn' if learn else 'given'} is read by a loss of the algorithm's own, "
                f"and there is none: give loss=, or leave it out{calling_line()}"
            )
        if steps is None and (same_batch or batch is not None):
            given_key = "same_batch" if same_batch else "batch"
            raise ProtocolError(f"train: {given_key} is for steps")
        shard = self._shards.held[self._id]
        if len(self._shards.rows[shard].train) == 0:
            remedy = "; this algorithm works between peers: leave out nodes of role server"
            raise ProtocolError(
                f"node {self._id} has no training data" + (remedy if self._role == "server" else "")
            )
        total = steps or self._shards.batches_per_epoch(shard) * (epochs or 0)
        if self.single_steps is not False:
            self.single_steps = total == 1 and optimizer is None
        constants = self.optimizer
        if not self.schedule.is_constant and (factor := self.rate_factor()) != 1.0:
            base = constants.learning_rate if learning_rate is None else learning_rate
            learning_rate = base * factor
        if self._mixing.is_needed:
            self._mixing.warn_of_use(theta, "trained further")
        architecture = theta.architecture or architecture_of(theta)
        if batch is None:
            first = self._draw_minibatches(shard, stream, 1 if same_batch else total)
            batches = _batches((shard, stream, first, total, same_batch))
        elif self._shards.holders[batch.shard] == self._id:
            batches = Batches(*batch, total, True)
        else:
            holder = self._shards.holders[batch.shard]
            raise ProtocolError(f"train: the minibatch is one of node {holder}")
        if loss is not None:
            require_module_level(loss)
            self._guard.require("a loss of its own")
        held_fixed: list[Ref] = []
        slotted = to_slots(tuple(given), held_fixed) if len(given) else ()
        learned_too = dict(learn) if learn else {}
        if privacy is not None:
            self._require_private(architecture, loss, learned_too or anchor or batch or part)
            private = PrivateTrain(
                *(batches, constants, loss, slotted, len(held_fixed), optimizer is not None),
                learning_rate,
                privacy,
            )
        work = _train((
            batches, constants, loss, slotted, len(held_fixed), tuple(learned_too),
            None if anchor is None else anchor[1], optimizer is not None, learning_rate, part,
        ))  # fmt: skip
        inputs = (theta, *held_fixed, *learned_too.values())
        if anchor is not None:
            inputs += (anchor[0],)
        if optimizer is not None:
            inputs += (optimizer,)
        size = self._state_size(architecture, part, learned_too)
        if optimizer is not None:
            _require_state(optimizer, size)
        if anchor is not None:
            given_values = anchor[0].num_values
            of_part = number_of(architecture.columns(part or "parameters"))
            if given_values < architecture.num_parameters and given_values != of_part:
                raise ProtocolError(
                    "train: the anchor must be a model like theta, its parameters, or the `part` "
                    f"that is trained; it has shape {anchor[0].shape}{calling_line()}"
                )
        shapes = [theta.shape, (size,)]
        if learned_too:
            shapes[1:1] = [r.shape for r in learned_too.values()]
        place = None if loss is None else verb_place()
        what = work if privacy is None else private
        new, *learned, state = self._scheduler.results(
            what, self._id, inputs, shapes, (architecture,), place
        )
        result = Trained(new, dict(zip(learned_too, learned, strict=True)), state)
        return self._processor.train(total, result)

    def _state_size(
        self, architecture: Architecture, part: str | None, learned: Mapping[str, Ref]
    ) -> int:
        """Entries of the optimiser's state for a part of a model, and what is learned with it."""
        key = architecture, part, self.optimizer.kind
        size = None if learned else self._state_sizes.get(key)
        if size is None:
            trained = architecture.num_trained(part) + sum(r.num_values for r in learned.values())
            size = optimizers.state_size(self.optimizer.kind, trained)
            if not learned:
                self._state_sizes[key] = size
        return size

    @staticmethod
    def _require_private(
        architecture: Architecture, loss: Callable[..., Any] | None, others: object
    ) -> None:
        """Refuse what has no gradient of a single sample, or is not there for private training."""
        problem = None
        if architecture.normalises_batches or architecture.is_random:
            problem = f"model {architecture.name} normalises batches or drops units at random"
        elif architecture.sequential_reason:
            problem = f"of model {architecture.name}, {architecture.sequential_reason}"
        elif uniforms_of(loss):
            problem = "the loss asks for draws"
        elif others:
            problem = "learn, anchor, batch and part are not for it"
        if problem is not None:
            raise ProtocolError(f"train: private training takes gradients of samples: {problem}")

    def batch(self, stream: str) -> BatchKey:
        """See `Node.batch`."""
        shard = self._shards.held[self._id]
        return BatchKey(shard, stream, self._draw_minibatches(shard, stream, 1))

    def _draw_minibatches(self, shard: int, stream: str, count: int) -> int:
        """Draw minibatches of a shard from a stream; returns the number of the first."""
        drawn, key = self._batches_drawn, (shard, stream)
        first = drawn.get(key, 0)
        drawn[key] = first + count
        return first


def _require_state(optimizer: Ref, size: int) -> None:
    """Refuse a value that is not the state of an optimiser with so many entries."""
    if optimizer.cell.architecture is not None:
        raise ProtocolError(
            "train: optimizer is a model or a part of one; give Trained.optimizer of an "
            f"earlier call{calling_line()}"
        )
    if optimizer.shape != (size,):
        raise ProtocolError(
            f"train: the optimizer's state has shape {optimizer.shape}, {(size,)} is needed; "
            "it must come from a call with the same model and the same `learn` and `part`"
            f"{calling_line()}"
        )
