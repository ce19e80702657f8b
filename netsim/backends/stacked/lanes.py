"""Lanes: many nodes' models of one architecture, run side by side.

A pass over W lanes takes W x B samples as one batch, so that whatever treats samples alike
(activations, pooling, reshaping, shortcuts) runs as it is. Layers with parameters find the lane
of a sample by its place: theirs are the rows of one tensor, laid out as in `Architecture`.

Backward passes add to `sinks`, one a parameter, at once and without tensors of their own. A sink
may be a velocity: `decay` times what it held is what the first addition of a step adds to, so
momentum costs no pass over the memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from netsim.backends.stacked.layers import StackedLayer

LEAST_LANES = 2
"""A matrix product of one lane may take another path, with other bits, than that of several."""


class Lanes:
    """What the stacked layers of one model share during a pass.

    Attributes
    ----------
    width : int
        W.
    rows : torch.Tensor
        (W, D): parameters, then buffers.
    mask : torch.Tensor or None
        (W, B), 1 for samples and 0 for padding; None where nothing is padded.
    counts : torch.Tensor or None
        (W,) samples of each lane; None where nothing is padded.
    sizes : sequence of int
        The same as numbers, for random layers; empty where nothing is padded.
    decay : float
        Factor of what the sinks held before a step.
    generators : sequence of torch.Generator
        One a lane, for the masks of random layers.
    """

    def __init__(self, device: torch.device, dtype: torch.dtype) -> None:
        self.width = 0
        self.mask: Tensor | None = None
        self.counts: Tensor | None = None
        self.sizes: Sequence[int] = ()
        self.decay = 0.0
        self.generators: Sequence[torch.Generator] = ()
        self.layers: list[StackedLayer] = []
        self.untouched: set[StackedLayer] = set()
        """Layers whose sinks still hold what they held before the step."""
        self.token = torch.zeros((), device=device, dtype=dtype, requires_grad=True)
        """Input of every layer, so that a graph is recorded though rows need no gradient."""

    def bind(self, rows: Tensor, sinks: Mapping[str, Tensor] | None, training: bool) -> None:
        """Lay the layers over rows (W, D) and, for gradients, a sink (W, *shape) a parameter."""
        self.width = len(rows)
        for layer in self.layers:
            layer.bind(rows, sinks, training)

    def begin_step(self) -> None:
        """The next additions to the sinks are those of a new step."""
        self.untouched.update(self.layers)

    def end_step(self) -> None:
        """Sinks of layers that took no part in the step decay, too."""
        while self.untouched:
            self.untouched.pop().sink_nothing()
