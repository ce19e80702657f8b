"""The learning verbs of a node: what an algorithm records, and when its numbers are due."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import simpy

from netsim.clock import FIRST, then
from netsim.compute import optimizers
from netsim.compute.functions import fill, frozen, inferred_shapes, require_module_level, to_slots
from netsim.compute.held import Held
from netsim.compute.jobs import Apply, BatchKey, Mix, Select, Train
from netsim.compute.measuring import Measuring
from netsim.compute.refs import Ref
from netsim.compute.select import pooled, state_length
from netsim.errors import ProtocolError
from netsim.units import to_ns

MAX_NUMBERS = 4096
"""How many numbers `node.value` hands out at most: it is for decisions, not for models."""


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


class Learner(Measuring):
    """The learning half of `netsim.node.Node`."""

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
            mean cross-entropy. `loss.uniforms = k` asks for k draws per sample in `batch`.
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
        ctx, learn = self._ctx, dict(learn or {})
        if self.train_size == 0:
            raise ProtocolError(f"node {self.id} has no training data")
        total = steps or ctx.shards.batches_per_epoch(self.id) * (epochs or 0)
        first = self._batches_drawn.get(stream, 0)
        self._batches_drawn[stream] = first + total
        constants = ctx.optimizer
        if learning_rate is not None:
            constants = replace(constants, learning_rate=learning_rate)
        architecture = self._architecture(theta)
        if loss is not None:
            require_module_level(loss)
        held_fixed: list[Ref] = []
        slotted = to_slots(tuple(given), held_fixed)
        work = Train(
            tuple(BatchKey(self.id, stream, b) for b in range(first, first + total)),
            constants,
            loss,
            slotted,
            len(held_fixed),
            tuple(learn),
            None if anchor is None else anchor[1],
            optimizer is not None,
        )
        extras = [r for r in (anchor[0] if anchor else None, optimizer) if r is not None]
        inputs = (theta, *held_fixed, *learn.values(), *extras)
        learned_values = sum(r.num_values for r in learn.values())
        size = optimizers.state_size(constants.kind, architecture.num_parameters + learned_values)
        if optimizer is not None and optimizer.shape != (size,):
            raise ProtocolError(
                f"train: the optimizer's state has shape {optimizer.shape}, {(size,)} is needed; "
                "it must come from a call with the same model and the same `learn`"
            )
        if anchor is not None and anchor[0].num_values < architecture.num_parameters:
            raise ProtocolError("train: the anchor must be a model like theta, or its parameters")
        shapes = [theta.shape, *(r.shape for r in learn.values()), (size,)]
        new, *learned, state = self._submit(work, inputs, shapes, [architecture])
        result = Trained(new, dict(zip(learn, learned, strict=True)), state)
        return self._occupy_processor(total, result)

    def _occupy_processor(self, steps: int, result: Trained) -> simpy.Event:
        ctx = self._ctx
        factor = ctx.speed_factor[self.id]
        duration_s = ctx.speed.train_s(steps, factor, ctx.streams, self.id, self._training_jobs)
        self._training_jobs += 1
        self.local_steps += steps
        ctx.recorder.job(ctx.env.now, self.id, steps)
        start_ns = max(ctx.env.now, self._processor_free_ns)
        self._processor_free_ns = start_ns + to_ns(duration_s)
        return ctx.env.due(self._processor_free_ns - ctx.env.now, FIRST, result)

    def free_processor(self) -> None:
        """Drop what the processor is at: it is free from now on."""
        self._processor_free_ns = self._ctx.env.now

    # -- values of models ------------------------------------------------------------------------

    def batch(self, stream: str = "probe") -> BatchKey:
        """The next minibatch of this node's training data from a stream of its own."""
        number = self._batches_drawn.get(stream, 0)
        self._batches_drawn[stream] = number + 1
        return BatchKey(self.id, stream, number)

    def mix(self, refs: Sequence[Ref], weights: Sequence[float] | Ref) -> Ref:
        """Weighted sum of like Refs; the weights may be lazy themselves.

        Raises
        ------
        ProtocolError
            If the numbers of Refs and weights or the shapes of the Refs differ.
        """
        num_weights = weights.num_values if isinstance(weights, Ref) else len(weights)
        if not refs or num_weights != len(refs):
            raise ProtocolError(f"mix: {len(refs)} Refs but {num_weights} weights")
        if len({r.shape for r in refs}) > 1:
            raise ProtocolError(f"mix: shapes differ: {sorted({r.shape for r in refs})}")
        if isinstance(weights, Ref):
            work, inputs = Mix(None), (*refs, weights)
        else:
            work, inputs = Mix(tuple(float(w) for w in weights)), tuple(refs)
        (out,) = self._submit(work, inputs, [refs[0].shape], [refs[0].architecture])
        return out

    def select(
        self,
        thetas: Sequence[Ref],
        sizes: Sequence[float],
        coins: Sequence[float],
        budget: int | None,
        state: Ref | None = None,
    ) -> tuple[Ref, Ref]:
        """Greedy selection by validation loss (`netsim.compute.select.greedy`); lazy.

        Parameters
        ----------
        thetas : sequence of Ref
            The node's own model, then the candidates, already shuffled.
        sizes, coins : sequence of float
            Training sizes, own first; one draw in [0, 1) per candidate.
        budget : int or None
            Largest number of models chosen, own included.
        state : Ref
            Where an earlier batch of candidates left off.

        Returns
        -------
        weights : Ref
            (1 + candidates,)
        state : Ref
        """
        if len(sizes) != len(thetas) or len(coins) != len(thetas) - 1:
            raise ProtocolError("select: one size a model and one coin a candidate are needed")
        self._require_split("validation")
        work = Select(self.id, tuple(sizes), tuple(coins), budget, state is not None)
        inputs = (*thetas, *([] if state is None else [state]))
        shapes = [(len(thetas),), (state_length(thetas[0].num_values),)]
        weights, after = self._submit(work, inputs, shapes)
        return weights, after

    def pool(self, thetas: Sequence[Ref], sizes: Sequence[float], state: Ref | None = None) -> Ref:
        """The state that `select` goes on from when candidates come in batches; lazy.

        A first pass over all batches counts every candidate in (`netsim.compute.select.pooled`);
        a second one offers them, batch by batch, with `select`.

        Parameters
        ----------
        thetas : sequence of Ref
            The node's own model, then the candidates of this batch.
        sizes : sequence of float
            Training sizes, own first.
        state : Ref
            Where an earlier batch left off.
        """
        if len(sizes) != len(thetas):
            raise ProtocolError("pool: one size a model is needed")
        length = (state_length(thetas[0].num_values),)
        return cast(Ref, self.compute(pooled, state, tuple(thetas), tuple(sizes), like=length))

    def compute(
        self, fn: Callable[..., Any], *args: Any, like: Any = None, duration_s: float = 0.0
    ) -> Any:
        """A pure function of this node's values; lazy Ref, or a tuple of them.

        Parameters
        ----------
        fn : callable
            Module-level; takes tensors where `args` holds Refs (also within tuples, lists and
            dicts) and returns a tensor or a tuple of tensors.
        like : Ref or tuple of int or tuple of either
            Shapes of the results, where they depend on values; what is like a whole model is one.
        duration_s : float
            Virtual time that the processor is busy with it.

        Raises
        ------
        ProtocolError
            If `fn` is a lambda, a closure or a bound method, or its shapes can't be inferred.
        """
        require_module_level(fn)
        inputs: list[Ref] = []
        slotted = to_slots(args, inputs)
        if like is None:
            shapes = inferred_shapes(fn, frozen(slotted), tuple(r.shape for r in inputs))
        elif isinstance(like, Ref):
            shapes = like.shape
        else:
            shapes = tuple(like)
        several = bool(shapes) and not isinstance(shapes[0], int)
        each = [s.shape if isinstance(s, Ref) else s for s in shapes] if several else [shapes]
        examples = shapes if several else [like]
        models = [s.architecture if isinstance(s, Ref) else None for s in examples]
        if duration_s:
            start_ns = max(self._ctx.env.now, self._processor_free_ns)
            self._processor_free_ns = start_ns + to_ns(duration_s)
        outputs = self._submit(Apply(fn, slotted), tuple(inputs), each, models)
        return tuple(outputs) if several else outputs[0]

    def value(self, x: Any, duration_s: float | None = None, default: Any = None) -> simpy.Event:
        """The numbers themselves, once the virtual time of computing them has passed.

        Parameters
        ----------
        x : Ref or tuple, list or dict of Refs
            At most 4,096 numbers.
        duration_s : float
            Virtual time until they are there; None: one local step.
        default : object
            What stands in under `--timing-only`.

        Returns
        -------
        simpy.Event
            float for a scalar Ref, numpy array otherwise, in the structure of `x`.

        Raises
        ------
        ProtocolError
            If there are too many numbers, or no default under `--timing-only`.
        """
        refs: list[Ref] = []
        slotted = to_slots(x, refs)
        for ref in refs:
            ref.require_owner(self.id)
        if sum(r.num_values for r in refs) > MAX_NUMBERS:
            raise ProtocolError(f"value: more than {MAX_NUMBERS} numbers; models stay lazy")
        ctx = self._ctx
        if ctx.timing_only and default is None:
            raise ProtocolError(
                "this algorithm needs values, which --timing-only has not; give value(default=)"
            )
        if duration_s is None:
            duration_s = ctx.speed.mean_step_s() / ctx.speed_factor[self.id]
        event = ctx.env.event()

        def due(_: simpy.Event) -> None:
            if ctx.timing_only:
                event.succeed(default)
                return
            ctx.scheduler.flush()
            numbers = [r.tensor().detach().cpu().double().numpy() for r in refs]
            event.succeed(fill(slotted, [float(n) if n.ndim == 0 else n for n in numbers]))

        then(ctx.env.timeout(to_ns(duration_s)), due)
        return event
