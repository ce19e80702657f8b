"""Room for the lanes that train side by side, and one step of theirs."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from netsim.backends.memory_pool import room
from netsim.backends.parameter_store import padded
from netsim.backends.stacked.cuda_graphs import replayed
from netsim.backends.stacked.optimizer_state import accumulators_for
from netsim.backends.stacked.stacked_module import Form
from netsim.learning.architecture import Architecture
from netsim.learning.jobs import Optimizer, Train
from netsim.learning.shards import Shards


class Plan:
    """What the training jobs of one signature have in common.

    Attributes
    ----------
    optimizer : Optimizer
    anchor_strength : float or None
    has_state : bool
        Whether they go on with an optimiser's state.
    """

    def __init__(self, work: Train) -> None:
        self.optimizer: Optimizer = work.optimizer
        self.anchor_strength = work.anchor_strength
        self.has_state = work.has_state


class Workspace:
    """Room for up to `capacity` lanes that train by one plan.

    Every tensor stays where it is, so that a captured graph can be replayed on it.
    """

    def __init__(self, form: Form, plan: Plan, shards: Shards, capacity: int) -> None:
        self.form, self.plan, self.shards = form, plan, shards
        a, c = form.architecture, plan.optimizer
        device, dtype = a.device, a.dtype
        columns = shards.minibatches.columns

        def zeros(*shape: int, kind: torch.dtype = dtype) -> Tensor:
            return room(shape, device, kind).zero_()

        self.rows = zeros(capacity, padded(a.num_values))
        self.accumulators = accumulators_for(c, a, capacity)
        anchored = plan.anchor_strength is not None
        self.anchor = zeros(capacity, padded(a.num_values)) if anchored else None
        self.learning_rate = zeros(capacity, 1)
        self.index = zeros(capacity, columns, kind=torch.int64)
        self.weight = zeros(capacity, columns)
        self.mask = zeros(capacity, columns)
        self.counts = zeros(capacity)
        self._lanes: dict[int, tuple[Tensor, dict[str, Tensor]]] = {}
        self._steps: dict[tuple[int, bool, float], Callable[[], None]] = {}

    def step(self, width: int, is_ragged: bool, afresh: bool = False) -> None:
        """One local step of the first `width` lanes, on the minibatches that `index` names.

        `afresh`: the optimiser remembers nothing; what the sinks hold is of no account.
        """
        decay = 0.0 if afresh else self.accumulators.decay
        key, a = (width, is_ragged, decay), self.form.architecture
        if key not in self._steps:
            step = self._make(*key)
            if is_captured(a):
                step = replayed(step, [self.rows[:width], *self.accumulators.states(width)])
            self._steps[key] = step
        self._steps[key]()

    def _make(self, width: int, is_ragged: bool, decay: float) -> Callable[[], None]:
        """The step of one width as a function of nothing."""
        form = self.form
        a, lanes = form.architecture, form.lanes
        if width not in self._lanes:
            lying = self.rows[:width, : a.num_values]
            self._lanes[width] = lying, self.accumulators.sinks(width)
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
        x, y = self.shards.x, self.shards.y

        def step() -> None:
            form.bind(rows, sinks, training=True)
            lanes.mask, lanes.counts, lanes.decay = mask, counts, decay
            labels = y.index_select(0, index).unsqueeze(1)
            form.differentiate(
                x.index_select(0, index), lambda z: cross_entropy_gradient(z, labels, weight)
            )
            update.step()

        return step


def cross_entropy_gradient(logits: Tensor, labels: Tensor, weight: Tensor) -> Tensor:
    """Gradient of weighted cross-entropy by the logits: softmax less one at the label.

    Parameters
    ----------
    logits : torch.Tensor
        (n, L)
    labels : torch.Tensor
        (n, 1)
    weight : torch.Tensor
        (n, 1) of each sample.
    """
    # torch.softmax takes five times as long for few classes.
    powers = (logits - logits.amax(dim=1, keepdim=True)).exp_()
    powers.div_(powers.sum(dim=1, keepdim=True))
    ones = powers.new_full((1, 1), -1.0).expand_as(labels)
    return powers.scatter_add_(1, labels, ones).mul_(weight)


def is_captured(architecture: Architecture) -> bool:
    """Whether a step is launched as one graph: on a GPU, unless random layers draw anew in it."""
    return architecture.device.type == "cuda" and not architecture.is_random
