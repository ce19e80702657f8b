"""Local optimisers on the rows of many lanes, equal to `netsim.compute.optimizers` lane by lane.

With plain momentum the sinks of the backward pass are the velocities: `Lanes.decay` is the
momentum and the gradient is never a tensor of its own. Clipping and Adam need it, so their sinks
hold the gradient of one step.
"""

from __future__ import annotations

import torch
from torch import Tensor

from netsim.compute.jobs import Optimizer
from netsim.compute.optimizers import ADAM_EPSILON, CLIP_EPSILON


class Update:
    """One optimiser over W lanes.

    Parameters
    ----------
    constants : Optimizer
        Its learning rate is not used: that is data.
    parameters : torch.Tensor
        (W, P), changed in place.
    learning_rate : torch.Tensor
        (W, 1)
    state : torch.Tensor
        (W, S) as `netsim.compute.optimizers.state_size` says, changed in place.
    gradient : torch.Tensor or None
        (W, P) room for gradients; None where the velocities are the sinks.
    anchor : torch.Tensor or None
        (W, A), towards which the first A parameters are drawn.
    strength : float
        How strongly.
    """

    def __init__(
        self,
        constants: Optimizer,
        parameters: Tensor,
        learning_rate: Tensor,
        state: Tensor,
        gradient: Tensor | None,
        anchor: Tensor | None,
        strength: float | None,
    ) -> None:
        self.constants = constants
        self._parameters, self._learning_rate, self._state = parameters, learning_rate, state
        self._anchor, self._strength = anchor, strength
        self.sinks = state if gradient is None else gradient
        self.decay = constants.momentum if gradient is None else 0.0

    @staticmethod
    def needs_gradient(constants: Optimizer) -> bool:
        """Whether the gradient of a step must be there on its own."""
        return constants.kind == "adam" or constants.clip_norm is not None

    @torch.no_grad()
    def step(self) -> None:
        """One step, once the backward pass has filled the sinks."""
        c, sinks, parameters = self.constants, self.sinks, self._parameters
        if self._anchor is not None:
            assert self._strength is not None
            drawn = slice(0, self._anchor.shape[1])
            difference = parameters[:, drawn] - self._anchor
            sinks[:, drawn].add_(difference, alpha=self._strength)
        if c.clip_norm is not None:
            norm = torch.linalg.vector_norm(sinks, dim=1, keepdim=True)
            sinks.mul_((c.clip_norm / (norm + CLIP_EPSILON)).clamp(max=1.0))
        if c.weight_decay:
            sinks.add_(parameters, alpha=c.weight_decay)
        if c.kind == "adam":
            self._adam(sinks)
        else:
            if c.momentum and sinks is not self._state:
                sinks = self._state.mul_(c.momentum).add_(sinks)
            parameters.addcmul_(sinks, self._learning_rate, value=-1.0)

    def _adam(self, gradient: Tensor) -> None:
        c = self.constants
        count, first, second = torch.split(self._state, [1, *[gradient.shape[1]] * 2], dim=1)
        count.add_(1.0)
        first.lerp_(gradient, 1 - c.beta1)
        second.mul_(c.beta2).addcmul_(gradient, gradient, value=1 - c.beta2)
        root = torch.sqrt(second).div_((1 - c.beta2**count).sqrt_()).add_(ADAM_EPSILON)
        size = self._learning_rate / (1 - c.beta1**count)
        self._parameters.addcmul_(first.div(root), size, value=-1.0)
