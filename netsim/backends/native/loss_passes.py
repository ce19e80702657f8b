"""Passes of a loss through a part of the model with other parameters than the job's own.

A loss that calls the model at a mixture, a step ahead or at values that it is given has passes of
the kernel's own among the operations of its program: forward at a row, and back to a row of
gradients. In PyTorch each is a differentiable function of the parameters, whatever they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netsim.backends.native.calls import Plans
from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.packing import Packing, round_up
from netsim.backends.native.records import Kind
from netsim.backends.native.trace import trace

TWICE = "a loss that differentiates a gradient"
"""Reason for which the kernel does no part of a loss."""


class Pass(NamedTuple):
    """One pass through a part of the model.

    Attributes
    ----------
    part : str
        Its name; empty: the model itself.
    first, samples : int
        Which of the samples that the model is called with it takes.
    updates : bool
        Whether it changes the job's running statistics.
    """

    part: str
    first: int
    samples: int
    updates: bool


class Parts:
    """Parts of a model in the kernel's form, each made when a loss first passes through it.

    Parameters
    ----------
    module : torch.nn.Module
        With the model's shapes and parameters of its own.
    input_shape : tuple of int
        Of one sample.
    lanes : int
        Scalars of a vector.
    """

    def __init__(self, module: nn.Module, input_shape: tuple[int, ...], lanes: int) -> None:
        self._module, self._input_shape, self._lanes = module, input_shape, lanes
        self._plans: dict[str, Plans] = {}

    def plans(self, part: str) -> Plans:
        """Tables of a part.

        Raises
        ------
        UnsupportedError
            If the kernel does not know what it holds.
        """
        if part not in self._plans:
            module = self._module.get_submodule(part)
            graph = trace(module, self._input_shape, True)
            if graph.masks:
                raise UnsupportedError("a loss that calls random layers with other parameters")
            self._plans[part] = Plans(graph, self._lanes, True, False)
        return self._plans[part]

    @property
    def read_numbers(self) -> bool:
        """Return whether samples are numbers of words, int64."""
        return any(plans.graph.reads_numbers for plans in self._plans.values())

    @property
    def take_maps(self) -> bool:
        """Return whether no part takes images as dense values."""
        layers = [layer for plans in self._plans.values() for layer in plans.graph.layers]
        return Kind.INPUT_DENSE not in {layer.kind for layer in layers}

    def place_values(
        self, passes: Sequence[Pass], spans: Mapping[int, tuple[int, int]]
    ) -> tuple[dict[int, int], int]:
        """Places of the passes' values, and how many scalars these take together.

        Passes of one form share a place if one has gone back before the other begins; what other
        forms leave behind rows would not be zero.

        Parameters
        ----------
        passes : sequence of Pass
        spans : mapping of int to (int, int)
            First and last operation of those that a program has.
        """
        at, places = 0, {}
        taken: dict[tuple[str, int], list[tuple[int, int]]] = {}  # (last operation, place)
        for number, (first, last) in sorted(spans.items(), key=lambda item: item[1]):
            form = passes[number].part, passes[number].samples
            held = taken.setdefault(form, [])
            free = next((each for each in held if each[0] < first), None)
            if free is None:
                places[number], at = at, at + round_up(self._values(passes[number]), 16)
            else:
                held.remove(free)
                places[number] = free[1]
            held.append((last, places[number]))
        return places, at

    def _values(self, taken: Pass) -> int:
        return self.plans(taken.part).table(taken.samples).num_values

    def records(
        self, passes: Sequence[Pass], places: Mapping[int, int], packing: Packing
    ) -> tuple[NDArray[np.int64], list[Any]]:
        """Passes as the kernel reads them, and what they point to.

        Parameters
        ----------
        passes : sequence of Pass
        places : mapping of int to int
            Where in the workspace's values those of a program's passes begin.
        packing : Packing
            Of the job's own row.
        """
        numbers = {
            n: int(self.plans(p.part).table_numbers(np.array([p.samples]))[0])
            for n, p in enumerate(passes)
        }  # all tables are there before one is pointed to
        rows, held = [], []
        for n, each in enumerate(passes):
            plans = self.plans(each.part)
            shared = np.array(
                self._statistics_places(each.part, packing) if each.updates else [], dtype=np.int64
            ).reshape(-1, 3)
            held += [plans.records, plans.offsets, shared]
            rows.append(
                (
                    plans.record_address(numbers[n]),
                    plans.packing.segments.ctypes.data,
                    plans.offsets.ctypes.data,
                    shared.ctypes.data,
                    len(plans.packing.segments),
                    plans.graph.num_parameters,
                    plans.graph.export_width,
                    each.first,
                    places.get(n, 0),
                    len(shared),
                )
            )
        return np.array(rows, dtype=np.int64).reshape(-1, 10), held

    def _statistics_places(self, part: str, packing: Packing) -> list[tuple[int, int, int]]:
        """Places of a part's running statistics in the job's row and its own, and their numbers."""
        plans = self.plans(part)
        prefix = f"model.{part}." if part else "model."
        return [
            (packing.places[prefix + s.name][0], plans.packing.places[s.name][0], s.stop - s.start)
            for s in plans.graph.slices
            if s.start >= plans.graph.num_parameters
        ]


class _Forward(torch.autograd.Function):
    """Results of a part by its parameters; what it does is written down."""

    @staticmethod
    def forward(
        forward: Callable[..., Tensor], backward: Callable[..., Any], *parameters: Tensor
    ) -> Tensor:
        return forward(*parameters)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.go_back = inputs[1]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return None, None, *_Backward.apply(ctx.go_back, gradient)  # type: ignore[no-untyped-call]


class _Backward(torch.autograd.Function):
    """Gradients by a part's parameters; they can't be differentiated again."""

    @staticmethod
    def forward(backward: Callable[[Tensor], tuple[Tensor, ...]], gradient: Tensor) -> Any:
        return backward(gradient)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep nothing: the function has no backward pass."""

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        raise UnsupportedError(TWICE)


def differentiable(
    forward: Callable[..., Tensor],
    backward: Callable[[Tensor], tuple[Tensor, ...]],
    parameters: Sequence[Tensor],
) -> Tensor:
    """Results of a pass, whose gradient by the parameters is the pass back.

    Parameters
    ----------
    forward : callable
        From the parameters to the results.
    backward : callable
        From the gradient by the results to those by each parameter.
    parameters : sequence of torch.Tensor
    """
    found: Tensor = _Forward.apply(forward, backward, *parameters)  # type: ignore[no-untyped-call]
    return found


def is_transformed(t: Tensor) -> bool:
    """Return whether a tensor belongs to a transform of `torch.func` that is under way."""
    found: bool = torch._C._functorch.is_functorch_wrapped_tensor(t)
    return found


def in_transform() -> bool:
    """Return whether a transform of `torch.func` is under way."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def unwrap_transforms(t: Tensor) -> Tensor:
    """A tensor without the transforms around it."""
    while is_transformed(t):
        t = torch._C._functorch.get_unwrapped(t)
    return t
