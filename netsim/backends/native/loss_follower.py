"""Answers for the parts of a model that a loss calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.loss_layout import Call, Layout
from netsim.backends.native.loss_operation import Base, Memory, Operand, row_major
from netsim.backends.native.loss_passes import (
    Parts,
    Pass,
    differentiable,
    in_transform,
    is_transformed,
    unwrap_transforms,
)
from netsim.backends.native.loss_recorder import TAINTED, Key, Outside, Recorder, key_of


class Follower:
    """Answers for the parts of a model, which are layers of the kernel.

    Calls with the job's own parameters and all samples become one table of layers, each other one
    a pass of its own.

    Parameters
    ----------
    recorder : Recorder
    blank : torch.nn.Module
        The model without data, which knows the shapes.
    names : mapping of Key to str
        Of parameters, by what they are.
    buffers : set of Key
        The model's own running statistics.
    whole : torch.Tensor
        Samples of the minibatch.
    parts : Parts
    layout : Layout or None
        Of the exports, if it is known.

    Attributes
    ----------
    root : torch.Tensor or None
        The samples of which the layers are.
    calls : list of Call
    results : list of torch.Tensor
        Of each of them.
    passes : list of Pass
    """

    def __init__(
        self,
        recorder: Recorder,
        blank: nn.Module,
        names: Mapping[Key, str],
        buffers: set[Key],
        whole: Tensor,
        parts: Parts,
        layout: Layout | None,
    ) -> None:
        self._recorder, self._blank, self._names = recorder, blank, names
        self._buffers, self._whole, self._parts = buffers, whole, parts
        self._layout = layout
        self.root: Tensor | None = None
        self.calls: list[Call] = []
        self.results: list[Tensor] = []
        self.operands: list[Operand] = []
        self.exported = Memory(Base.WORK, 0)
        self.passes: list[Pass] = []
        self._changed_since = False

    def replace_call(
        self, name: str, part: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...]
    ) -> Any:
        """Result of the right shape in place of a part's own, or that itself.

        Parameters
        ----------
        name : str
            Of the part.
        part : torch.nn.Module
        forward : callable
            What the part does.
        args : tuple
            What it is called with.

        Raises
        ------
        UnsupportedError
            If the kernel can't do what the loss does with it.
        """
        recorder = self._recorder
        if len(args) != 1 or not isinstance(args[0], Tensor):
            return forward(*args)
        x, source = unwrap_transforms(args[0]), -1
        recorded = recorder.lookup(x)
        is_own = (
            torch.is_grad_enabled()
            and not in_transform()
            and all(
                p.requires_grad
                and self._names.get(key_of(p)) == f"model.{name}{'.' * bool(name)}{inner}"
                for inner, p in part.named_parameters()
            )
        )
        if isinstance(recorded, Outside):
            if recorded is TAINTED or x.requires_grad or is_transformed(args[0]):
                raise UnsupportedError("a loss that learns what the model takes")
            first = self._first_of(x)
            if not part.training:
                raise UnsupportedError("a loss that calls the model in evaluation mode")
            assert self.root is not None
            if not is_own or len(x) < len(self.root):
                return self._run_pass(name, part, x, first)
        else:
            if self.root is None:
                raise UnsupportedError("a loss that calls the model with no samples first")
            earlier = [k for k, r in enumerate(self.results) if key_of(r) == key_of(x)]
            if not (earlier and is_own and x.requires_grad):
                return forward(*args)  # among the loss's own operations
            source = earlier[0]
            if not part.training:
                raise UnsupportedError("a loss that calls the model in evaluation mode")
        if not self.calls:
            recorder.program.layers()
        elif self._changed_since and any(True for _ in part.buffers()):
            raise UnsupportedError("a loss that changes running statistics by turns")
        with recorder.paused(), torch._C.DisableTorchFunction():
            shape = self._shape(name, x)
            found = torch.ones(shape, dtype=recorder.program.dtype).requires_grad_()
        self.calls.append(Call(name, source))
        self.results.append(found)
        operand = Operand(Memory(Base.WORK, found.numel()), 0, shape, row_major(shape))
        if self._layout is not None and len(self.results) - 1 in self._layout.calls:
            operand = self._layout.results_operand(self.exported, len(self.results) - 1, len(x))
        self.operands.append(operand)
        recorder.bind(found, operand)
        return found

    def _first_of(self, x: Tensor) -> int:
        """Place of samples among those of which the layers are; the first ones decide on these."""
        if self.root is None:
            self.root = next(
                (
                    each
                    for each in (self._whole, *self._recorder.tensors_in_memory_of(x))
                    if lies_in(x, each) >= 0
                ),
                x,
            )
        first = lies_in(x, self.root)
        if first < 0:
            raise UnsupportedError("a loss that calls the model with samples of several kinds")
        return first

    def _run_pass(self, name: str, part: nn.Module, x: Tensor, first: int) -> Tensor:
        """Results of a part with other parameters than the job's own, or for some samples."""
        recorder, program = self._recorder, self._recorder.program
        with recorder.paused():
            plans = self._parts.plans(name)
        own = dict(part.named_parameters(remove_duplicate=False))
        statistics = {n: b for n, b in part.named_buffers() if b.is_floating_point()}
        are_own = {key_of(unwrap_transforms(b)) in self._buffers for b in statistics.values()}
        if len(are_own) > 1:
            raise UnsupportedError("a loss that replaces some running statistics")
        updates, number = are_own == {True}, len(self.passes)
        shape = len(x), plans.graph.export_width
        self.passes.append(Pass(name, first, len(x), updates))
        self._changed_since = self._changed_since or (updates and bool(self.calls))
        spans = [s for s in plans.graph.slices if s.stop <= plans.graph.num_parameters]
        packed: list[Operand] = []

        def forward(*parameters: Tensor) -> Tensor:
            with recorder.paused(), torch._C.DisableTorchFunction():
                row = program.row([recorder.operand(p) for p in parameters])
                length = plans.packing.num_values
                out, weights = program.forward(number, row, shape, length, updates)
                packed.append(weights)
                return self._stand_in(shape, out)

        def backward(gradient: Tensor) -> tuple[Tensor, ...]:
            with recorder.paused(), torch._C.DisableTorchFunction():
                if len(packed) != 1:
                    raise UnsupportedError("a loss that goes back twice from one call of the model")
                by_results = program.row([recorder.operand(gradient)])
                row = program.backward(number, by_results, packed.pop(), spans[-1].stop)
                return tuple(
                    self._stand_in(
                        s.shape, Operand(row.memory, s.start, s.shape, row_major(s.shape))
                    )
                    for s in spans
                )

        return differentiable(forward, backward, [own[s.name] for s in spans])

    def _stand_in(self, shape: tuple[int, ...], operand: Operand) -> Tensor:
        """A tensor that stands for an operand."""
        found = torch.ones(shape, dtype=self._recorder.program.dtype)
        self._recorder.bind(found, operand)
        return found

    def _shape(self, name: str, x: Tensor) -> tuple[int, int]:
        part = self._blank.get_submodule(name)
        shape = tuple(part(torch.empty(x.shape, dtype=x.dtype, device="meta")).shape)
        if len(shape) != 2 or shape[0] != len(x):
            raise UnsupportedError(f"a part of the model whose results have shape {shape}")
        return shape


def lies_in(x: Tensor, whole: Tensor) -> int:
    """Place of samples among others, if they are a run of these in the same memory; -1: not."""
    if x.untyped_storage().data_ptr() != whole.untyped_storage().data_ptr():
        return -1
    if x.dtype != whole.dtype or x.shape[1:] != whole.shape[1:] or not whole.is_contiguous():
        return -1
    each = max(1, whole[0].numel()) * whole.element_size() if len(whole) else 1
    first, rest = divmod(x.data_ptr() - whole.data_ptr(), each)
    fits = x.is_contiguous() and not rest and 0 <= first <= len(whole) - len(x)
    return first if fits else -1
