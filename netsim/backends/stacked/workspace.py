"""Memory for the lanes that train together, and one training step of theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from netsim.backends.memory_pool import allocate
from netsim.backends.parameter_store import padded_length
from netsim.backends.stacked.optimizer_state import accumulators_for
from netsim.backends.stacked.stacked_module import StackedModule
from netsim.learning.jobs import Batches, Optimizer
from netsim.learning.shards import Shards


class LocalSteps(Protocol):
    """Work of stacked training, `netsim.backends.job_types.train.Train`."""

    @property
    def batches(self) -> Batches: ...

    @property
    def optimizer(self) -> Optimizer: ...

    @property
    def rate(self) -> float: ...

    @property
    def anchor_strength(self) -> float | None: ...

    @property
    def has_state(self) -> bool: ...

    def describe(self) -> str:
        """The work in a few words."""


class Plan(NamedTuple):
    """Plan that the training jobs of one signature share.

    Attributes
    ----------
    optimizer : Optimizer
    anchor_strength : float or None
        Factor of the pull towards an anchor; None: there is no anchor.
    has_state : bool
        Whether they go on with an optimiser's state.
    """

    optimizer: Optimizer
    anchor_strength: float | None
    has_state: bool


class Workspace:
    """Memory for up to `capacity` lanes that train by one plan.

    Every tensor stays where it is, so that a captured graph can be replayed on it.

    Parameters
    ----------
    module : StackedModule
    plan : Plan
    shards : Shards
        The samples of all nodes.
    capacity : int
        Most lanes.

    Attributes
    ----------
    rows : torch.Tensor
        (capacity, padded D) the models.
    accumulators : Accumulators
        Sinks of gradients, and states of the optimiser.
    anchor : torch.Tensor or None
        (capacity, padded D)
    learning_rate : torch.Tensor
        (capacity, 1)
    index : torch.Tensor
        (capacity, B) row numbers of the minibatches' samples.
    weight : torch.Tensor
        (capacity, B) share of each sample in the mean over its minibatch; 0 for padding.
    mask : torch.Tensor
        (capacity, B), 1 for samples and 0 for padding.
    counts : torch.Tensor
        (capacity,) samples in each minibatch.
    """

    def __init__(self, module: StackedModule, plan: Plan, shards: Shards, capacity: int) -> None:
        self.module, self.plan, self.shards = module, plan, shards
        a, c = module.architecture, plan.optimizer
        device, dtype = a.device, a.dtype
        columns = shards.minibatches.columns

        def zeros(*shape: int, kind: torch.dtype = dtype) -> Tensor:
            return allocate(shape, device, kind).zero_()

        self.rows = zeros(capacity, padded_length(a.num_values))
        self.accumulators = accumulators_for(c, a, capacity)
        anchored = plan.anchor_strength is not None
        self.anchor = zeros(capacity, padded_length(a.num_values)) if anchored else None
        self.learning_rate = zeros(capacity, 1)
        self.index = zeros(capacity, columns, kind=torch.int64)
        self.weight = zeros(capacity, columns)
        self.mask = zeros(capacity, columns)
        self.counts = zeros(capacity)
        self._lanes: dict[int, tuple[Tensor, dict[str, Tensor]]] = {}
        self._steps: dict[tuple[int, bool, float], Callable[[], None]] = {}

    def step(self, width: int, is_ragged: bool, is_first: bool = False) -> None:
        """One local step of the first lanes, on the minibatches in `index`.

        Parameters
        ----------
        width : int
            How many lanes.
        is_ragged : bool
            Whether some minibatches are smaller, and padded.
        is_first : bool
            Whether the optimiser starts anew: what the sinks hold is overwritten.
        """
        decay = 0.0 if is_first else self.accumulators.decay
        key = (width, is_ragged, decay)
        if key not in self._steps:
            self._steps[key] = self._make(*key)
        self._steps[key]()

    def _make(self, width: int, is_ragged: bool, decay: float) -> Callable[[], None]:
        """The step of `width` lanes, as a function without arguments.

        Parameters
        ----------
        width : int
        is_ragged : bool
        decay : float
            Factor of what the sinks held before the step.
        """
        module = self.module
        a, lanes = module.architecture, module.lanes
        if width not in self._lanes:
            models = self.rows[:width, : a.num_values]
            self._lanes[width] = models, self.accumulators.sinks(width)
        rows, sinks = self._lanes[width]
        size, anchor = a.num_parameters, self.anchor
        update = self.accumulators.update(
            rows[:, :size],
            self.learning_rate[:width],
            None if anchor is None else anchor[:width, :size],
            self.plan.anchor_strength or 0.0,
        )
        index, weight = self.index[:width].view(-1), self.weight[:width].view(-1, 1)
        mask, counts = (self.mask[:width], self.counts[:width]) if is_ragged else (None, None)
        x, y, task = self.shards.x, self.shards.y, self.shards.task

        def step() -> None:
            module.bind(rows, sinks, training=True)
            lanes.mask, lanes.counts, lanes.decay = mask, counts, decay
            targets = y.index_select(0, index)
            module.differentiate(
                x.index_select(0, index), lambda z: task.gradient(z, targets, weight)
            )
            update.step()

        return step
