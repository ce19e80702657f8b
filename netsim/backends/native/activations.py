"""Activations that the kernel has, read from the first lines of `src/activations`.

`// torch.nn.LeakyReLU(negative_slope=real1)` says which module of PyTorch the file computes: a
setting with a value is one that the module must have, `real1` stands for a number that the kernel
is given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from netsim.backends.native.build import ACTIVATIONS


class Activation(NamedTuple):
    """An activation of the kernel.

    Attributes
    ----------
    number : int
        Number by which the kernel knows it.
    name : str
        Name of its file, and of PyTorch's functions.
    module : type
    settings : dict
        Settings that a module must have.
    real : str or None
        Setting that the kernel takes as a number.
    """

    number: int
    name: str
    module: type[nn.Module]
    settings: dict[str, Any]
    real: str | None

    def matches(self, layer: nn.Module) -> bool:
        """Return whether a module computes this activation."""
        has = (getattr(layer, name) == value for name, value in self.settings.items())
        return type(layer) is self.module and all(has)

    def functions(self, ending: str = "") -> tuple[Any, ...]:
        """Return PyTorch's functions, and the name of a tensor's method, that compute it.

        With the ending `_`, those that overwrite their argument.
        """
        name = self.name + ending
        return (name, *filter(None, (getattr(place, name, None) for place in (torch, F))))


def _read_activations() -> Iterator[Activation]:
    for number, path in enumerate(ACTIVATIONS):
        line = path.read_text().partition("\n")[0].removeprefix("//").strip()
        call: Any = ast.parse(line, mode="eval").body
        settings, real = {}, None
        for keyword in call.keywords:
            if isinstance(keyword.value, ast.Name):
                real = keyword.arg
            else:
                settings[keyword.arg] = ast.literal_eval(keyword.value)
        module = getattr(nn, call.func.attr)
        yield Activation(number, path.stem, module, settings, real)


RELU = Activation(-1, "relu", nn.ReLU, {}, None)
"""Apart from the others: the kernel merges it with its neighbours."""

KNOWN = (RELU, *_read_activations())
"""Every activation."""
