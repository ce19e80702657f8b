"""Lanes: many nodes' models of one architecture, run side by side in one call.

A pass over W lanes (one node's model each) takes W x B samples as one batch, lane after lane, so
layers without parameters (activations, pooling, reshaping) run unchanged. Layers with parameters
take theirs from the rows of one tensor (W, D), laid out as in `Architecture`.

A backward pass adds each parameter's gradient to its `sink`, a tensor (W, *shape), in place. A sink
may be a velocity of SGD: the first addition of a step scales what it held by `decay`, so momentum
needs no pass over the memory of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor

LEAST_LANES = 2
"""Lanes of any pass: the matrix product of a single lane may take another path, with other bits."""


class Layer(Protocol):
    """Interface of a layer for lanes, as `netsim.backends.stacked.layers.StackedLayer` has it."""

    def bind(self, rows: Tensor, sinks: Mapping[str, Tensor] | None, training: bool) -> None:
        """Make the layer's parameters views of rows.

        Parameters
        ----------
        rows : torch.Tensor
            (W, D) parameters, then buffers.
        sinks : dict of str to torch.Tensor or None
            (W, *shape) for the gradient of each parameter; None for forward passes only.
        training : bool
            Whether random layers draw, and statistics are those of the samples.
        """

    def decay_sinks(self) -> None:
        """Scale the layer's sinks by the decay, for a step without a gradient."""


class Lanes:
    """State that the stacked layers of one model share during a pass.

    Attributes
    ----------
    width : int
        W.
    mask : torch.Tensor or None
        (W, B), 1 for samples and 0 for padding; None if there is no padding.
    counts : torch.Tensor or None
        (W,) samples in each lane; None if there is no padding.
    sizes : sequence of int
        The same as Python numbers, for random layers; empty if there is no padding.
    decay : float
        Factor of what the sinks held before a step.
    generators : sequence of torch.Generator
        One per lane, for the masks of random layers.
    token : torch.Tensor
        (), an input of every layer that requires a gradient, so that autograd records the layers
        though their rows require none.
    """

    def __init__(self, device: torch.device, dtype: torch.dtype) -> None:
        self.width = 0
        self.mask: Tensor | None = None
        self.counts: Tensor | None = None
        self.sizes: Sequence[int] = ()
        self.decay = 0.0
        self.generators: Sequence[torch.Generator] = ()
        self.layers: list[Layer] = []
        self.untouched: set[Layer] = set()
        """Layers whose sinks hold what they held before the step."""
        self.token = torch.zeros((), device=device, dtype=dtype, requires_grad=True)

    def bind(self, rows: Tensor, sinks: Mapping[str, Tensor] | None, training: bool) -> None:
        """Make the layers' parameters views of rows.

        Parameters
        ----------
        rows : torch.Tensor
            (W, D) parameters, then buffers.
        sinks : dict of str to torch.Tensor or None
            (W, *shape) for the gradient of each parameter; None for forward passes only.
        training : bool
            Whether layers are in training mode.
        """
        self.width = len(rows)
        for layer in self.layers:
            layer.bind(rows, sinks, training)

    def begin_step(self) -> None:
        """Start a step: the next addition to each sink scales it by `decay` first."""
        self.untouched.update(self.layers)

    def end_step(self) -> None:
        """End a step: sinks of layers without a gradient in it are scaled by `decay`, too."""
        while self.untouched:
            self.untouched.pop().decay_sinks()
