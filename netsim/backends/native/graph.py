"""A network as the kernel sees it: layers that read and write numbered values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from netsim.backends.native.records import Kind

LOOKED_AT_ONCE = 64
"""Samples of one pass: more would leave the cache."""

VALUES_AT_ONCE = 1 << 21
"""Of one layer in one pass."""


class UnsupportedError(Exception):
    """The kernel does not know something that a module holds; names it."""


@dataclass(frozen=True)
class Slice:
    """Place of one named tensor in a model's row."""

    name: str
    start: int
    stop: int
    shape: tuple[int, ...]


def slices_of(module: nn.Module) -> tuple[tuple[Slice, ...], int]:
    """A module's tensors in row order: parameters, floating-point buffers; how many parameters."""
    found, position, num_parameters = [], 0, 0
    buffers = [(n, b) for n, b in module.named_buffers() if b.is_floating_point()]
    for name, tensor in [*module.named_parameters(), *buffers]:
        stop = position + tensor.numel()
        found.append(Slice(name, position, stop, tuple(tensor.shape)))
        position = stop
        num_parameters += tensor.numel() if isinstance(tensor, nn.Parameter) else 0
    return tuple(found), num_parameters


@dataclass
class Value:
    """Value that flows between layers: a map (C, H, W), or dense values (K,) or (T, E).

    Attributes
    ----------
    learns : bool
        Whether a parameter lies before it.
    """

    number: int
    shape: tuple[int, ...]
    learns: bool

    @property
    def is_dense(self) -> bool:
        return len(self.shape) < 3

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass
class Layer:
    """One row of the kernel's table.

    Attributes
    ----------
    sources : tuple of int
        Values that it reads.
    out : int
        The value that it writes; -1 for none.
    settings : dict
        Fields of its record that depend on neither samples nor vectors.
    tensors : dict
        Its parameters and buffers by role.
    """

    kind: Kind
    sources: tuple[int, ...]
    out: int
    settings: dict[str, Any] = field(default_factory=dict)
    tensors: Mapping[str, Slice] = field(default_factory=dict)
    name: str = ""


@dataclass
class Graph:
    """A forward pass.

    Attributes
    ----------
    exports : tuple of int
        Values that leave it, in order; all of them dense.
    mask_values : int
        Values of dropout's masks a sample.
    masks : tuple of ((...), float)
        Shape of a sample's mask and probability, for each dropout in the order of their drawing.
    """

    values: list[Value]
    layers: list[Layer]
    exports: tuple[int, ...]
    slices: tuple[Slice, ...]
    num_parameters: int
    masks: tuple[tuple[tuple[int, ...], float], ...]

    @property
    def num_values(self) -> int:
        return self.slices[-1].stop if self.slices else 0

    @property
    def reads_numbers(self) -> bool:
        """Return whether samples are numbers of words, int64."""
        return any(layer.kind is Kind.EMBEDDING for layer in self.layers)

    @property
    def mask_values(self) -> int:
        return sum(math.prod(shape) for shape, _ in self.masks)

    @property
    def export_width(self) -> int:
        return sum(self.values[v].size for v in self.exports)

    def samples_at_once(self, samples: int) -> int:
        """Return the number of `samples` that go through at a time in inference.

        A function of the graph and of their number alone, so that the bits of a result are, too.
        """
        most = max((v.size for v in self.values), default=1)
        return max(1, min(samples, LOOKED_AT_ONCE, VALUES_AT_ONCE // most))
