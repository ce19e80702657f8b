"""The learning verbs of a node: what an algorithm records, and when its numbers are due."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import simpy

from netsim.backends.job_types.train import Train
from netsim.clock import FIRST
from netsim.errors import ProtocolError
from netsim.learning import optimizers
from netsim.learning.functions import require_module_level, to_slots
from netsim.learning.jobs import Batches, BatchKey
from netsim.learning.refs import Ref
from netsim.node.live_model import Held
from netsim.node.value_verbs import Combining
from netsim.units import to_ns


class Trained(NamedTuple):
    """What local training gives.

    Attributes
    ----------
    theta : Ref
    learned : dict of str to Ref
        What was trained jointly, under the names given.
    optimizer : Ref
        The optimiser's state, for the next call.
    """

    theta: Ref
    learned: dict[str, Ref]
    optimizer: Ref


class Learner(Combining):
    """The learning half of `netsim.node.node.Node`."""

    def _init_learner(self) -> None:
        self._processor_free_ns = 0
        self._training_jobs = 0
        self._batches_drawn: dict[str, int] = {}
        self._init_showing()
        self.local_steps = 0

    # -- models ----------------------------------------------------------------------------------

    @property
    def train_size(self) -> int:
        """How many training samples this node has."""
        return self._ctx.shards.train_size(self.id)

    @property
    def learning_rate(self) -> float:
        """The scenario's learning rate, for algorithms that let it decay."""
        return self._ctx.optimizer.learning_rate

    def initial(self) -> Ref:
        """The initial model: common to all nodes or the node's own, as the scenario says."""
        return Ref(self.id, self._ctx.initial[self.id])

    def hold(self, theta: Ref) -> Held:
        """Keep `theta` as the model that several processes of this node train and replace."""
        return Held(self, theta, self._ctx)

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
    ) -> simpy.Event:
        """Local training; event `Trained` once its virtual compute time has passed.

        Parameters
        ----------
        theta : Ref
            The model to start from.
        steps, epochs : int
            One of the two: minibatch steps, or passes over the node's training samples.
        loss : callable
            `loss(model, batch, learned, *given) -> scalar`, a module-level function; None is the
            mean cross-entropy. `@loss(uniforms=k)` above it asks for k draws per sample in `batch`.
        given : sequence of Ref or number
            Held fixed, handed to the loss; Params and tuples too, as in `compute`.
        learn : mapping of str to Ref
            Trained jointly with the model.
        anchor : (Ref, float)
            Adds strength / 2 * ||theta - anchor||^2 to the loss (FedProx, Ditto).
        optimizer : Ref
            State from an earlier `Trained`; None starts afresh.
        learning_rate : float
            Overrides the scenario's.
        stream : str
            Names the counter of minibatches, for a node that trains two models.

        Raises
        ------
        ProtocolError
            If not exactly one of `steps` and `epochs` is given, a Ref is foreign, or `anchor` or
            `optimizer` do not fit the model.
        """
        if (steps is None) == (epochs is None) or (steps or epochs or 0) < 1:
            raise ProtocolError("train: give steps or epochs, one of them, at least 1")
        ctx = self._ctx
        if self.train_size == 0:
            is_server = ctx.roles[self.id] == "server"
            remedy = "; this algorithm works between peers: leave out nodes of role server"
            raise ProtocolError(
                f"node {self.id} has no training data" + (remedy if is_server else "")
            )
        total = steps or ctx.shards.batches_per_epoch(self.id) * (epochs or 0)
        first = self._batches_drawn.get(stream, 0)
        self._batches_drawn[stream] = first + total
        constants = ctx.optimizer
        architecture = self._architecture(theta)
        if loss is not None:
            require_module_level(loss)
        held_fixed: list[Ref] = []
        slotted = to_slots(tuple(given), held_fixed) if len(given) else ()
        learned_too = dict(learn) if learn else {}
        work = Train(
            Batches(self.id, stream, first, total),
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
        new, *learned, state = self._submit(work, inputs, shapes, [architecture])
        result = Trained(new, dict(zip(learned_too, learned, strict=True)), state)
        return self._occupy_processor(total, result)

    def _occupy_processor(self, steps: int, result: Trained) -> simpy.Event:
        ctx = self._ctx
        factor = ctx.speed_factor[self.id]
        duration_s = ctx.speed.train_s(steps, factor, ctx.streams, self.id, self._training_jobs)
        self._training_jobs += 1
        self.local_steps += steps
        ctx.recorder.job(ctx.env.now, self.id, steps)
        start_ns = max(ctx.env.now, self._processor_free_ns)
        self._processor_free_ns = ctx.power.work_ends(self.id, start_ns, to_ns(duration_s))
        ctx.meter.computed(self.id, steps, start_ns, self._processor_free_ns)
        return ctx.env.due(self._processor_free_ns - ctx.env.now, FIRST, result)

    def free_processor(self) -> None:
        """Drop what the processor is at: it is free from now on."""
        self._processor_free_ns = self._ctx.env.now

    def batch(self, stream: str = "probe") -> BatchKey:
        """The next minibatch of this node's training data from a stream of its own."""
        number = self._batches_drawn.get(stream, 0)
        self._batches_drawn[stream] = number + 1
        return BatchKey(self.id, stream, number)
