"""Calling a module with other tensors than its own, those that it has under several names too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn
from torch.func import functional_call

_NAMES: WeakKeyDictionary[nn.Module, dict[str, list[str]]] = WeakKeyDictionary()


def call_with(module: nn.Module, tensors: Mapping[str, Tensor], args: tuple[Any, ...]) -> Any:
    """Call a module with other tensors in place of its parameters and buffers.

    `torch.func.functional_call` leaves such a tensor in a layer that has two names itself.

    Parameters
    ----------
    module : torch.nn.Module
    tensors : mapping of str to torch.Tensor
        By the first name of what they stand for, as `named_parameters` gives it.
    args : tuple
    """
    names = _NAMES.get(module)
    if names is None:
        names = _NAMES[module] = _names(module)
    placed = {name: t for first, t in tensors.items() for name in names.get(first, (first,))}
    return functional_call(module, placed, args, tie_weights=False)


def _names(module: nn.Module) -> dict[str, list[str]]:
    """Names of each tensor in every layer that holds it, by the first of these."""
    first: dict[int, str] = {}
    found: dict[str, list[str]] = {}
    for name, layer in module.named_modules():
        for key, tensor in (*layer._parameters.items(), *layer._buffers.items()):
            if tensor is not None:
                full = f"{name}.{key}" if name else key
                found.setdefault(first.setdefault(id(tensor), full), []).append(full)
    return found
