"""Where the gradients of many lanes gather, and what their optimisers remember.

Plain SGD needs no gradient as such: the sinks of the backward pass are its velocities. Clipping and
Adam do, and have rows for it beside those of their state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from netsim.backends.memory_pool import room
from netsim.backends.parameter_store import padded
from netsim.backends.stacked.optimizer_step import ByGradient, Descent
from netsim.learning import optimizers
from netsim.learning.architecture import Architecture
from netsim.learning.jobs import Optimizer


class Accumulators(ABC):
    """Room for lanes that one optimiser trains.

    Attributes
    ----------
    decay : float
        Factor of what the sinks held before a step.
    remember : bool
        Whether an optimiser's state is what is in `states`; without momentum there is none.
    """

    decay: float
    remember = True

    @abstractmethod
    def sinks(self, lanes: int) -> dict[str, Tensor]:
        """Where the gradients of the first lanes go, (W, *shape) by parameter."""

    @abstractmethod
    def states(self, lanes: int) -> list[Tensor]:
        """The optimiser's states of the first lanes, in as many tensors as there are."""

    @abstractmethod
    def forget(self, lanes: int) -> None:
        """The first lanes start afresh."""

    @abstractmethod
    def load(self, rows: Tensor) -> None:
        """States of the first lanes from rows (W, padded length)."""

    @abstractmethod
    def rows(self, start: int, stop: int) -> Tensor:
        """The states of lanes [start, stop) as rows (W, padded length)."""

    @abstractmethod
    def update(
        self, parameters: Tensor, learning_rate: Tensor, anchor: Tensor | None, strength: float
    ) -> Descent | ByGradient:
        """The optimiser of the first lanes; see there."""


class Velocities(Accumulators):
    """What momentum remembers; a tensor a parameter, the lanes one after another.

    Like this a product of all lanes is added at once; in rows that lie side by side a CPU would
    take the lanes one by one.
    """

    def __init__(self, constants: Optimizer, architecture: Architecture, capacity: int) -> None:
        self.decay, self.remember = constants.momentum, constants.momentum > 0
        self._constants, self._architecture = constants, architecture
        device, dtype = architecture.device, architecture.dtype
        row = torch.zeros(1, architecture.num_parameters, device=device, dtype=dtype)
        self._parts = {
            name: room((capacity, *part.shape[1:]), device, dtype).zero_()
            for name, part in architecture.parameters_in(row).items()
        }

    def sinks(self, lanes: int) -> dict[str, Tensor]:
        return {name: part[:lanes] for name, part in self._parts.items()}

    def states(self, lanes: int) -> list[Tensor]:
        return [part[:lanes] for part in self._parts.values()]

    def forget(self, lanes: int) -> None:
        """Nothing to do: the first step writes over them."""

    def load(self, rows: Tensor) -> None:
        for name, part in self._architecture.parameters_in(rows).items():
            self._parts[name][: len(rows)] = part

    def rows(self, start: int, stop: int) -> Tensor:
        parts = [part[start:stop].flatten(1) for part in self._parts.values()]
        size = self._architecture.num_parameters
        padding = parts[0].new_zeros(stop - start, padded(size) - size)
        return torch.cat([*parts, padding], dim=1)

    def update(
        self, parameters: Tensor, learning_rate: Tensor, anchor: Tensor | None, strength: float
    ) -> Descent:
        named = self._architecture.parameters_in
        return Descent(
            self._constants,
            named(parameters),
            self.sinks(len(parameters)),
            learning_rate,
            None if anchor is None else named(anchor),
            strength,
        )


class Gradients(Accumulators):
    """A gradient and an optimiser's state of each lane, as rows."""

    decay = 0.0

    def __init__(self, constants: Optimizer, architecture: Architecture, capacity: int) -> None:
        self._constants, self._architecture = constants, architecture
        size = architecture.num_parameters
        self._length = optimizers.state_size(constants.kind, size)
        device, dtype = architecture.device, architecture.dtype
        self._gradient = room((capacity, padded(size)), device, dtype).zero_()
        self._state = room((capacity, padded(self._length)), device, dtype).zero_()

    def sinks(self, lanes: int) -> dict[str, Tensor]:
        return self._architecture.parameters_in(self._gradient[:lanes])

    def states(self, lanes: int) -> list[Tensor]:
        return [self._state[:lanes]]

    def forget(self, lanes: int) -> None:
        self._state[:lanes].zero_()

    def load(self, rows: Tensor) -> None:
        self._state[: len(rows)] = rows

    def rows(self, start: int, stop: int) -> Tensor:
        return self._state[start:stop]

    def update(
        self, parameters: Tensor, learning_rate: Tensor, anchor: Tensor | None, strength: float
    ) -> ByGradient:
        lanes, size = parameters.shape
        return ByGradient(
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
    """What an optimiser needs, with room for `capacity` lanes."""
    needs_gradient = constants.kind == "adam" or constants.clip_norm is not None
    return (Gradients if needs_gradient else Velocities)(constants, architecture, capacity)
