"""Number of values that the forward pass of a model keeps for the backward pass."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from netsim.learning.architecture import Architecture

_KNOWN: WeakKeyDictionary[Architecture, dict[tuple[Any, ...], int]] = WeakKeyDictionary()


def _activations(architecture: Architecture, shape: tuple[int, ...], kind: torch.dtype) -> int:
    counted = 0

    def count(module: nn.Module, inputs: tuple[Tensor, ...], output: Any) -> None:
        nonlocal counted
        counted += _values_in(output)
        if isinstance(module, nn.Conv2d):  # a stacked one keeps the patches of its input, too
            counted += output[:, 0].numel() * module.weight[0].numel()

    leaves = [m for m in architecture.module.modules() if not list(m.children())]
    handles = [m.register_forward_hook(count) for m in leaves]
    model = architecture.bind(architecture.row())
    sample = torch.zeros(shape, device=architecture.device, dtype=kind)
    try:
        try:
            model(sample)
        except ValueError:  # a normalisation that takes the statistics of its samples at all times
            counted = 0
            model(torch.cat([sample, sample]))
            counted //= 2
    finally:
        for handle in handles:
            handle.remove()
    return counted


def _values_in(output: Any) -> int:
    """Entries of a layer's output, which may be several tensors."""
    if isinstance(output, Tensor):
        return output.numel()
    several = output if isinstance(output, tuple | list) else ()
    return sum(_values_in(one) for one in several)


def activations_per_sample(architecture: Architecture, sample: Tensor) -> int:
    """Values that the forward pass of one sample (1, ...) keeps for the backward pass."""
    known = _KNOWN.setdefault(architecture, {})
    form = tuple(sample.shape), sample.dtype
    if form not in known:
        with torch.no_grad():
            known[form] = _activations(architecture, *form)
    return known[form]
