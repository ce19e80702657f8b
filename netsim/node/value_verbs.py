"""Values made of values: mixtures, selections, pure functions, and the numbers themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import simpy

from netsim.backends.job_types.apply import Apply
from netsim.backends.job_types.mix import Mix
from netsim.backends.job_types.select import Select
from netsim.clock import Clock, add_callback
from netsim.errors import ProtocolError
from netsim.learning.calling_line import calling_line, verb_place
from netsim.learning.candidate_sets import state_length
from netsim.learning.functions import (
    fill_slots,
    freeze_arguments,
    inferred_shapes,
    require_module_level,
    to_slots,
)
from netsim.learning.refs import Ref
from netsim.learning.scheduler import Scheduler
from netsim.learning.select import pooled
from netsim.learning.shards import Shards
from netsim.node.checks import MixingCheck, require_samples
from netsim.node.processor import Processor

MAX_NUMBERS = 4096
"""Greatest number of values from `node.value`: it is for decisions, not for models."""


class ValueVerbs:
    """The verbs of one node that make values of values; `Node` documents them.

    Parameters
    ----------
    node_id : int
    clock : Clock
    scheduler : Scheduler
        Records jobs, and computes what `value` asks for; without a backend (`--timing-only`) there
        are no values.
    processor : Processor
    shards : Shards
    mixing : MixingCheck
        Is told of every mixture with weights that are known.
    """

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        scheduler: Scheduler,
        processor: Processor,
        shards: Shards,
        mixing: MixingCheck,
    ) -> None:
        self._id, self._clock = node_id, clock
        self._scheduler = scheduler
        self._processor, self._shards, self._mixing = processor, shards, mixing
        self._timing_only = scheduler.backend is None

    def mix(self, refs: Sequence[Ref], weights: Sequence[float] | Ref) -> Ref:
        """See `Node.mix`."""
        num_weights = weights.num_values if isinstance(weights, Ref) else len(weights)
        if not refs or num_weights != len(refs):
            raise ProtocolError(f"mix: {len(refs)} Refs but {num_weights} weights{calling_line()}")
        shape = refs[0].shape
        for ref in refs:
            if ref.shape != shape:
                shapes = sorted({r.shape for r in refs})
                raise ProtocolError(f"mix: shapes differ: {shapes}{calling_line()}")
        if isinstance(weights, Ref):
            work, inputs = Mix(None), (*refs, weights)
        else:
            work, inputs = Mix(tuple(map(float, weights))), tuple(refs)
        (out,) = self._scheduler.results(work, self._id, inputs, [shape], [refs[0].architecture])
        if work.weights is not None:
            self._mixing.note_mixture(out, refs, work.weights, self._clock.now)
        return out

    def select(
        self,
        thetas: Sequence[Ref],
        sizes: Sequence[float],
        coins: Sequence[float],
        budget: int | None,
        state: Ref | None,
    ) -> tuple[Ref, Ref]:
        """See `Node.select`."""
        if len(sizes) != len(thetas) or len(coins) != len(thetas) - 1:
            raise ProtocolError("select: one size a model and one coin a candidate are needed")
        shard = require_samples(self._shards, self._id, "validation")
        work = Select(shard, tuple(sizes), tuple(coins), budget, state is not None)
        inputs = (*thetas, *([] if state is None else [state]))
        shapes = [(len(thetas),), (state_length(thetas[0].num_values),)]
        weights, after = self._scheduler.results(work, self._id, inputs, shapes)
        return weights, after

    def pool(self, thetas: Sequence[Ref], sizes: Sequence[float], state: Ref | None) -> Ref:
        """See `Node.pool`."""
        if len(sizes) != len(thetas):
            raise ProtocolError("pool: one size a model is needed")
        length = (state_length(thetas[0].num_values),)
        args = (state, tuple(thetas), tuple(sizes))
        return cast(Ref, self.compute(pooled, *args, like=length))

    def compute(
        self, fn: Callable[..., Any], *args: Any, like: Any = None, duration_s: float = 0.0
    ) -> Any:
        """See `Node.compute`."""
        require_module_level(fn)
        inputs: list[Ref] = []
        slotted = to_slots(args, inputs)
        if like is None:
            shapes = inferred_shapes(fn, freeze_arguments(slotted), tuple(r.shape for r in inputs))
        elif isinstance(like, Ref):
            shapes = like.shape
        else:
            shapes = tuple(like)
        several = bool(shapes) and not isinstance(shapes[0], int)
        each = [s.shape if isinstance(s, Ref) else s for s in shapes] if several else [shapes]
        examples = shapes if several else [like]
        models = [s.architecture if isinstance(s, Ref) else None for s in examples]
        if duration_s:
            self._processor.occupy(duration_s)
        work, place = Apply(fn, slotted), verb_place()
        outputs = self._scheduler.results(work, self._id, tuple(inputs), each, models, place)
        return tuple(outputs) if several else outputs[0]

    def value(self, x: Any, duration_s: float | None, default: Any) -> simpy.Event:
        """See `Node.value`."""
        refs: list[Ref] = []
        slotted = to_slots(x, refs)
        for ref in refs:
            ref.require_owner(self._id)
            if ref.bringer is not None:
                ref.bringer.uses.read(self._id, (ref,), self._clock.now, "value")
        if sum(r.num_values for r in refs) > MAX_NUMBERS:
            raise ProtocolError(f"value: more than {MAX_NUMBERS} numbers; models stay lazy")
        if self._timing_only and default is None:
            raise ProtocolError(
                "this algorithm needs values, which --timing-only has not; give value(default=)"
            )
        event = self._clock.new_event("the numbers of a value")

        def due(_: simpy.Event) -> None:
            if self._timing_only:
                event.succeed(default)
                return
            numbers = self._scheduler.read_values(refs)
            event.succeed(fill_slots(slotted, [float(n) if n.ndim == 0 else n for n in numbers]))

        add_callback(self._processor.concurrent_work(duration_s), due)
        return event
