"""The verbs that make values of values: mixtures, selections, pure functions, and the numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import simpy

from netsim.backends.job_types.apply import Apply
from netsim.backends.job_types.mix import Mix
from netsim.backends.job_types.select import Select
from netsim.clock import then
from netsim.errors import ProtocolError
from netsim.learning.candidate_sets import state_length
from netsim.learning.functions import fill, frozen, inferred_shapes, require_module_level, to_slots
from netsim.learning.refs import Ref
from netsim.learning.select import pooled
from netsim.node.evaluation_verbs import Measuring
from netsim.units import to_ns

MAX_NUMBERS = 4096
"""How many numbers `node.value` hands out at most: it is for decisions, not for models."""


class Combining(Measuring):
    """The part of `netsim.node.training_verbs.Learner` that records work on values."""

    _processor_free_ns: int

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
        shape = refs[0].shape
        for ref in refs:
            if ref.shape != shape:
                raise ProtocolError(f"mix: shapes differ: {sorted({r.shape for r in refs})}")
        if isinstance(weights, Ref):
            work, inputs = Mix(None), (*refs, weights)
        else:
            work, inputs = Mix(tuple(map(float, weights))), tuple(refs)
        (out,) = self._submit(work, inputs, [shape], [refs[0].architecture])
        return out

    def select(
        self,
        thetas: Sequence[Ref],
        sizes: Sequence[float],
        coins: Sequence[float],
        budget: int | None,
        state: Ref | None = None,
    ) -> tuple[Ref, Ref]:
        """Greedy selection by validation loss (`netsim.learning.select.greedy`); lazy.

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

        A first pass over all batches counts every candidate in (`netsim.learning.select.pooled`);
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
            ends = self._ctx.power.work_ends
            self._processor_free_ns = ends(self.id, start_ns, to_ns(duration_s))
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

        now = ctx.env.now
        then(ctx.env.timeout(ctx.power.work_ends(self.id, now, to_ns(duration_s)) - now), due)
        return event
