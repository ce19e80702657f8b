"""The encoder of meta-L2C: a small network for each layer of a model, shared by its filters.

A filter is a row of a layer's weights (what one output sees); all filters of a layer go through
the layer's own two fully connected layers, and an embedding is what comes out for all of them. All
values of an encoder are one row phi: per layer W1 (10, d), b1 (10,), W2 (5, 10), b2 (5,).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from netsim.api import Ref, UnsuitableError, saved_arrays

HIDDEN, EMBEDDED = 10, 5
"""Outputs of the two layers that encode a filter."""


class Layer(NamedTuple):
    """Place of a layer's weights in a model's row, and the length of its filters."""

    start: int
    stop: int
    filter_size: int


@dataclass(frozen=True)
class Form:
    """Shapes on which an embedding depends beside phi."""

    layers: tuple[Layer, ...]
    activation: str
    normalise: bool


def layers_of(theta: Ref) -> tuple[Layer, ...]:
    """The layers whose filters are encoded: tensors of two dimensions or more."""
    assert theta.architecture is not None
    slices = theta.architecture.slices
    return tuple(
        Layer(s.start, s.stop, (s.stop - s.start) // s.shape[0]) for s in slices if len(s.shape) > 1
    )


def encoder_size(layers: Sequence[Layer]) -> int:
    """Parameters of an encoder: per layer (d + 1) 10 + (10 + 1) 5."""
    return sum((layer.filter_size + 1) * HIDDEN + (HIDDEN + 1) * EMBEDDED for layer in layers)


def drawn_encoder(theta: Tensor, form: Form, seed: int) -> Tensor:
    """The values with which torch.nn.Linear starts: uniform in +- 1 / sqrt(inputs)."""
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for inputs, outputs in ((n, m) for layer in form.layers for n, m in shapes_of(layer)):
        u = torch.rand((inputs + 1) * outputs, generator=generator, dtype=torch.float64)
        parts.append((2 * u - 1) / inputs**0.5)
    return torch.cat(parts).to(theta)


def saved_mean(file: str) -> npt.NDArray[np.floating[Any]]:
    """Mean over nodes of the encoders that a run has kept: (size,)."""
    rows = list(saved_arrays(file).values())
    if not rows or any(row.shape != rows[0].shape or row.ndim != 1 for row in rows):
        raise UnsuitableError(f"[algorithm] encoder = {file!r}: must hold a row a node, all alike")
    found: npt.NDArray[np.floating[Any]] = np.mean(rows, axis=0)
    return found


def saved_encoder(theta: Tensor, file: str) -> Tensor:
    """The same where and in the precision in which models are."""
    return torch.from_numpy(saved_mean(file)).to(theta)


def shapes_of(layer: Layer) -> tuple[tuple[int, int], tuple[int, int]]:
    """(inputs, outputs) of the two layers that encode a layer's filters."""
    return (layer.filter_size, HIDDEN), (HIDDEN, EMBEDDED)


def embed(phi: Tensor, change: Tensor, form: Form) -> Tensor:
    """E(Delta^) of one node: (5 x number of filters,).

    Parameters
    ----------
    phi : torch.Tensor
        Per layer of the model W1 (10, d), b1 (10,), W2 (5, 10), b2 (5,), one after the other.
    change : torch.Tensor
        (P,) Delta^.
    form : Form
    """
    codes, position = [], 0
    for layer in form.layers:
        code = change[layer.start : layer.stop].view(-1, layer.filter_size)
        for which, (inputs, outputs) in enumerate(shapes_of(layer)):
            weight = phi[position : position + inputs * outputs].view(outputs, inputs)
            position += inputs * outputs
            bias = phi[position : position + outputs]
            position += outputs
            code = code @ weight.T + bias
            if which == 0 and form.activation == "relu":
                code = code.relu()
        codes.append(code.reshape(-1))
    e = torch.cat(codes)
    return e / e.norm().clamp(min=torch.finfo(e.dtype).tiny) if form.normalise else e


def embed_all(phi: Tensor, changes: Sequence[Tensor], form: Form) -> Tensor:
    """Those of all nodes heard, the node itself first: (K, E)."""
    return torch.stack([embed(phi, change, form) for change in changes])
