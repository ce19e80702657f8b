"""Memory for the gradients of many lanes and for the states of their optimisers.

Plain SGD needs no gradient of its own: the sinks of the backward pass are its velocities. Clipping
and Adam do, and have rows for it beside those of their state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from netsim.backends.memory_pool import allocate
from netsim.backends.parameter_store import padded_length
from netsim.backends.stacked.optimizer_step import GradientStep, VelocityStep
from netsim.learning import optimizers
from netsim.learning.architecture import Architecture
from netsim.learning.jobs import Optimizer


class Accumulators(ABC):
    """Sinks of gradients, and states of an optimiser, for the lanes that train together.

    Attributes
    ----------
    decay : float
        Factor of what the sinks held before a step.
    has_state : bool
        Whether `states` holds the optimiser's state; SGD without momentum has none.
    """

    decay: float
    has_state = True

    @abstractmethod
    def sinks(self, lanes: int) -> dict[str, Tensor]:
        """Sinks of the first `lanes` lanes, (W, *shape) by parameter."""

    @abstractmethod
    def states(self, lanes: int) -> list[Tensor]:
        """The tensors that hold the optimiser's states of the first `lanes` lanes, (W, ...)."""

    @abstractmethod
    def reset(self, lanes: int) -> None:
        """Reset the states of the first `lanes` lanes."""

    @abstractmethod
    def load(self, rows: Tensor) -> None:
        """Set the states of the first lanes from rows (W, padded length)."""

    @abstractmethod
    def rows(self, start: int, stop: int) -> Tensor:
        """The states of lanes [start, stop) as rows (W, padded length)."""

    @abstractmethod
    def update(
        self, parameters: Tensor, learning_rate: Tensor, anchor: Tensor | None, strength: float
    ) -> VelocityStep | GradientStep:
        """The step of the first W lanes.

        Parameters
        ----------
        parameters : torch.Tensor
            (W, P)
        learning_rate : torch.Tensor
            (W, 1)
        anchor : torch.Tensor or None
            (W, P), towards which the parameters are pulled.
        strength : float
            Factor of that pull.
        """


class Velocities(Accumulators):
    """Velocities of SGD: one tensor (W, *shape) per parameter.

    One batched product is then added for all lanes; into rows of all parameters a CPU would add
    the product of one lane at a time.
    """

    def __init__(self, constants: Optimizer, architecture: Architecture, capacity: int) -> None:
        self.decay, self.has_state = constants.momentum, constants.momentum > 0
        self._constants, self._architecture = constants, architecture
        device, dtype = architecture.device, architecture.dtype
        row = torch.zeros(1, architecture.num_parameters, device=device, dtype=dtype)
        self._parts = {
            name: allocate((capacity, *part.shape[1:]), device, dtype).zero_()
            for name, part in architecture.parameters_in(row).items()
        }

    def sinks(self, lanes: int) -> dict[str, Tensor]:
        return {name: part[:lanes] for name, part in self._parts.items()}

    def states(self, lanes: int) -> list[Tensor]:
        return [part[:lanes] for part in self._parts.values()]

    def reset(self, lanes: int) -> None:
        """Do nothing: the first step overwrites the velocities."""

    def load(self, rows: Tensor) -> None:
        for name, part in self._architecture.parameters_in(rows).items():
            self._parts[name][: len(rows)] = part

    def rows(self, start: int, stop: int) -> Tensor:
        parts = [part[start:stop].flatten(1) for part in self._parts.values()]
        size = self._architecture.num_parameters
        padding = parts[0].new_zeros(stop - start, padded_length(size) - size)
        return torch.cat([*parts, padding], dim=1)

    def update(
        self, parameters: Tensor, learning_rate: Tensor, anchor: Tensor | None, strength: float
    ) -> VelocityStep:
        named = self._architecture.parameters_in
        return VelocityStep(
            self._constants,
            named(parameters),
            self.sinks(len(parameters)),
            learning_rate,
            None if anchor is None else named(anchor),
            strength,
        )


class Gradients(Accumulators):
    """A gradient and an optimiser's state per lane, as rows."""

    decay = 0.0

    def __init__(self, constants: Optimizer, architecture: Architecture, capacity: int) -> None:
        self._constants, self._architecture = constants, architecture
        size = architecture.num_parameters
        self._length = optimizers.state_size(constants.kind, size)
        device, dtype = architecture.device, architecture.dtype
        self._gradient = allocate((capacity, padded_length(size)), device, dtype).zero_()
        self._state = allocate((capacity, padded_length(self._length)), device, dtype).zero_()

    def sinks(self, lanes: int) -> dict[str, Tensor]:
        return self._architecture.parameters_in(self._gradient[:lanes])

    def states(self, lanes: int) -> list[Tensor]:
        return [self._state[:lanes]]

    def reset(self, lanes: int) -> None:
        self._state[:lanes].zero_()

    def load(self, rows: Tensor) -> None:
        self._state[: len(rows)] = rows

    def rows(self, start: int, stop: int) -> Tensor:
        return self._state[start:stop]

    def update(
        self, parameters: Tensor, learning_rate: Tensor, anchor: Tensor | None, strength: float
    ) -> GradientStep:
        lanes, size = parameters.shape
        return GradientStep(
            self._constants,
            parameters,
            self._gradient[:lanes, :size],
            self._state[:lanes, : self._length],
            learning_rate,
            anchor,
            strength,
        )


def accumulators_for(
    constants: Optimizer, architecture: Architecture, capacity: int
) -> Accumulators:
    """The memory that an optimiser needs.

    Parameters
    ----------
    constants : Optimizer
    architecture : Architecture
    capacity : int
        Most lanes that train together.
    """
    needs_gradient = constants.kind == "adam" or constants.clip_norm is not None
    return (Gradients if needs_gradient else Velocities)(constants, architecture, capacity)
