"""Copies of a module that compute as it does: they must not reach what it has for its own.

A function that a module holds (a hook, a `forward` of its own) is not copied with it: one that
captured a layer goes on with the layer of the first module. A copy of a parameter has memory of its
own, so one that is a view of another loses what made it one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import torch
from torch import Tensor, nn
from torch.nn.utils.spectral_norm import SpectralNorm

from netsim.learning.hidden_state import aliases_of, reached_parts


def left_behind(module: nn.Module, copied: nn.Module) -> str | None:
    """Describe what a copy has in common with the module that it was made of; None: nothing.

    Parameters
    ----------
    module : torch.nn.Module
    copied : torch.nn.Module
        A copy of it.
    """
    layers = {id(layer): name or "the module itself" for name, layer in module.named_modules()}
    places = {_place(t): name for name, t in _named_tensors(module) if t.numel()}
    for name, tensor in _named_tensors(copied):
        if tensor.numel() and _place(tensor) in places:
            return f"the {name} of a copy is that of the module"
    for name, value in reached_parts(copied):
        if isinstance(value, nn.Module) and id(value) in layers:
            return f"{name} is {layers[id(value)]}, and would be in copies of the module, too"
        if isinstance(value, Tensor) and _place(value) in places:
            return f"{name} is {places[_place(value)]}, and would be in copies of the module, too"
    return None


def shared_memory(module: nn.Module) -> str | None:
    """Describe parameters that have memory in common with other tensors; None if none has.

    A tensor under several names is one, and parameters that lie beside each other share nothing.

    Parameters
    ----------
    module : torch.nn.Module
    """
    own = [(name, t) for name, t in _named_tensors(module) if _is_plain(t)]
    for name, tensor in own:
        if isinstance(tensor, nn.Parameter) and tensor.requires_grad and _repeats(tensor):
            return f"entries of {name} are one place in memory (expand); give it .clone() of that"
    of_place: dict[int, list[tuple[str, Tensor]]] = {}
    anew = _normalised(module)
    beside = [(name, t) for name, t in aliases_of(module).items() if name not in anew]
    for name, tensor in (*own, *beside):
        of_place.setdefault(_place(tensor), []).append((name, tensor))
    for found in of_place.values():
        for (one, a), (other, b) in combinations(found, 2):
            learns = any(isinstance(t, nn.Parameter) and t.requires_grad for t in (a, b))
            if learns and _overlap(a, b):
                return (
                    f"{one} and {other} have their memory in common, which no model has that is a "
                    "row of numbers; give the parameter to both layers as itself, or take a view "
                    "of it in forward"
                )
    return None


def _normalised(module: nn.Module) -> set[str]:
    """Names of the weights that torch's `spectral_norm` works out anew before each pass."""
    return {
        f"{path}.{hook.name}" if path else hook.name
        for path, layer in module.named_modules()
        for hook in layer._forward_pre_hooks.values()
        if isinstance(hook, SpectralNorm)
    }


def _named_tensors(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    yield from module.named_parameters()
    yield from module.named_buffers()


def _is_plain(tensor: Tensor) -> bool:
    """Return whether a tensor has memory that can be looked at."""
    return (
        not nn.parameter.is_lazy(tensor)
        and tensor.layout is torch.strided
        and not tensor.is_quantized
        and tensor.device.type != "meta"
        and tensor.numel() > 0
    )


def _place(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr() if _is_plain(tensor) else 0


def _repeats(tensor: Tensor) -> bool:
    """Return whether several entries are one place in memory."""
    return any(n > 1 and not s for n, s in zip(tensor.shape, tensor.stride(), strict=True))


def _overlap(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors of one storage have an entry in common."""
    spans = [
        (first, first + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True)))
        for t in (a, b)
        for first in (t.storage_offset(),)
    ]
    if spans[0][1] < spans[1][0] or spans[1][1] < spans[0][0]:
        return False
    places = [
        torch.arange(int(last) + 1).as_strided(t.shape, t.stride(), first).reshape(-1)
        for t, (first, last) in zip((a, b), spans, strict=True)
    ]
    return bool(torch.isin(*places).any())
