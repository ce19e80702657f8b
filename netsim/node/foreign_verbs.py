"""Verbs of a node for code that brings its own learning: time, objects, seeds, models, agents."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeVar

import numpy as np
import simpy
import torch
from numpy.typing import ArrayLike

from netsim.clock import Clock
from netsim.errors import ProtocolError
from netsim.learning.calling_line import calling_line
from netsim.learning.global_draws import all_seeded
from netsim.learning.refs import Cell, Ref
from netsim.learning.state_dicts import is_in_order, row_of
from netsim.node.decisions import Decisions
from netsim.node.draws import Draws
from netsim.node.processor import Processor
from netsim.node.run_objects import RunObjects

T = TypeVar("T")


class ForeignVerbs:
    """The verbs of one node for foreign code; `Node` documents them.

    Parameters
    ----------
    node_id : int
    processor : Processor
    draws : Draws
    initial : Cell
        The node's initial model: models from outside are like it.
    batch_size : int
        Samples of a local step.
    objects : RunObjects
        The run's.
    decisions : Decisions
        Whom it asks.
    clock : Clock
    """

    def __init__(
        self,
        node_id: int,
        processor: Processor,
        draws: Draws,
        initial: Cell,
        batch_size: int,
        objects: RunObjects,
        decisions: Decisions,
        clock: Clock,
    ) -> None:
        self._decisions, self._clock = decisions, clock
        self._id, self._processor, self._draws = node_id, processor, draws
        self._initial, self._batch_size, self._objects = initial, batch_size, objects

    def work(self, steps: int | None, examples: int | None, seconds: float | None) -> simpy.Event:
        """See `Node.work`."""
        given = {"steps": steps, "examples": examples, "seconds": seconds}
        named = {key: value for key, value in given.items() if value is not None}
        if len(named) != 1:
            raise ProtocolError(f"work: give one of steps, examples and seconds{calling_line()}")
        ((key, value),) = named.items()
        is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        is_real = is_whole or isinstance(value, float | np.floating)
        fits = is_real if key == "seconds" else is_whole
        if not fits or not math.isfinite(value) or value < 0:
            kind = "a number" if key == "seconds" else "a whole number"
            raise ProtocolError(
                f"work: {key} = {value!r}: must be {kind}, 0 or more{calling_line()}"
            )
        if key == "seconds":
            return self._processor.work(float(value))
        count = int(value) if key == "steps" else -(-int(value) // self._batch_size)
        return self._processor.train(count, None)

    def once(self, make: Callable[..., T], *arguments: Any) -> T:
        """See `Node.once`."""
        return self._objects.once(make, *arguments)

    def seeded(self, purpose: str) -> AbstractContextManager[int]:
        """See `Node.seeded`."""
        return all_seeded(self._draws.seed(purpose))

    def decide(self, observation: Mapping[str, ArrayLike]) -> simpy.Event:
        """See `Node.decide`."""
        draw = partial(self._draws.uniform, "decision")
        return self._clock.triggered_event(self._decisions.ask(self._id, observation, draw))

    def model(self, values: ArrayLike | Mapping[str, ArrayLike]) -> Ref:
        """See `Node.model`."""
        like = self._initial
        architecture = like.architecture
        assert architecture is not None
        if isinstance(values, Mapping):
            try:
                row = row_of(architecture, values, like.materialise())
            except ProtocolError as error:
                raise ProtocolError(f"model: {error}{calling_line()}") from None
            return Ref(self._id, Cell(like.scheduler, like.shape, architecture, row))
        given = np.asarray(values)
        if given.shape != like.shape:
            raise ProtocolError(
                f"model: has shape {given.shape}, and model {architecture.name} of node {self._id} "
                f"is {like.shape}{calling_line()}"
            )
        if not is_in_order(architecture):
            raise ProtocolError(
                f"model: model {architecture.name} has buffers between its parameters, so an array "
                "may be in the order of its state_dict() or of a row; give a mapping, such as "
                f"model.state_dict(){calling_line()}"
            )
        if not np.isfinite(given).all():
            raise ProtocolError(f"model: has numbers that are not finite{calling_line()}")
        row = torch.tensor(given, dtype=architecture.dtype).to(like.materialise().device)
        return Ref(self._id, Cell(like.scheduler, like.shape, architecture, row))
