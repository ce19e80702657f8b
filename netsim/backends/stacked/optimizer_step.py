"""Steps of local optimisers for many lanes, equal to `netsim.learning.optimizers` lane by lane.

For plain SGD the sinks of the backward pass are the velocities (`Lanes.decay` is the momentum), and
the gradient is never a tensor of its own. Clipping and Adam need the gradient of a step, so their
sinks hold that.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from netsim.learning.jobs import Optimizer
from netsim.learning.optimizers import ADAM_EPSILON, CLIP_EPSILON


class VelocityStep:
    """SGD without clipping, whose velocities the backward pass has updated.

    Parameters
    ----------
    constants : Optimizer
        Its learning rate is not used.
    parameters, velocities : dict of str to torch.Tensor
        (W, *shape), changed in place.
    learning_rate : torch.Tensor
        (W, 1)
    anchor : dict of str to torch.Tensor or None
        (W, *shape), towards which the parameters are pulled.
    strength : float
        Factor of that pull.
    """

    def __init__(
        self,
        constants: Optimizer,
        parameters: Mapping[str, Tensor],
        velocities: Mapping[str, Tensor],
        learning_rate: Tensor,
        anchor: Mapping[str, Tensor] | None,
        strength: float,
    ) -> None:
        self._weight_decay, self._strength = constants.weight_decay, strength
        self._each = [
            (
                parameter,
                velocities[name],
                learning_rate.view(-1, *[1] * (parameter.dim() - 1)),
                None if anchor is None else anchor[name],
            )
            for name, parameter in parameters.items()
        ]

    @torch.inference_mode()
    def step(self) -> None:
        """One step, after the backward pass."""
        for parameter, velocity, learning_rate, anchor in self._each:
            if anchor is not None:
                velocity.add_(parameter - anchor, alpha=self._strength)
            if self._weight_decay:
                velocity.add_(parameter, alpha=self._weight_decay)
            parameter.addcmul_(velocity, learning_rate, value=-1.0)


class GradientStep:
    """SGD with clipping, and Adam: steps by a gradient of its own.

    Parameters
    ----------
    constants : Optimizer
        Its learning rate is not used.
    parameters, gradient : torch.Tensor
        (W, P), changed in place.
    state : torch.Tensor
        (W, S) as `netsim.learning.optimizers.state_size` says, changed in place.
    learning_rate : torch.Tensor
        (W, 1)
    anchor : torch.Tensor or None
        (W, A), towards which the first A parameters are pulled.
    strength : float
        Factor of that pull.
    """

    def __init__(
        self,
        constants: Optimizer,
        parameters: Tensor,
        gradient: Tensor,
        state: Tensor,
        learning_rate: Tensor,
        anchor: Tensor | None,
        strength: float,
    ) -> None:
        self._constants, self._gradient, self._state = constants, gradient, state
        self._parameters, self._learning_rate = parameters, learning_rate
        self._anchor, self._strength = anchor, strength

    @torch.inference_mode()
    def step(self) -> None:
        """One step, after the gradient has been computed."""
        c, gradient, parameters = self._constants, self._gradient, self._parameters
        if self._anchor is not None:
            anchored = slice(0, self._anchor.shape[1])
            difference = parameters[:, anchored] - self._anchor
            gradient[:, anchored].add_(difference, alpha=self._strength)
        if c.clip_norm is not None:
            norm = torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
            gradient.mul_((c.clip_norm / (norm + CLIP_EPSILON)).clamp(max=1.0))
        if c.weight_decay:
            gradient.add_(parameters, alpha=c.weight_decay)
        if c.kind == "adam":
            self._adam(gradient)
            return
        if c.momentum:
            gradient = self._state.mul_(c.momentum).add_(gradient)
        parameters.addcmul_(gradient, self._learning_rate, value=-1.0)

    def _adam(self, gradient: Tensor) -> None:
        c = self._constants
        count, first, second = torch.split(self._state, [1, *[gradient.shape[1]] * 2], dim=1)
        count.add_(1.0)
        first.lerp_(gradient, 1 - c.beta1)
        second.mul_(c.beta2).addcmul_(gradient, gradient, value=1 - c.beta2)
        root = torch.sqrt(second).div_((1 - c.beta2**count).sqrt_()).add_(ADAM_EPSILON)
        size = self._learning_rate / (1 - c.beta1**count)
        self._parameters.addcmul_(first.div(root), size, value=-1.0)
