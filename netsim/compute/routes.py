"""Which backend runs what: from a table, never from the clock."""

from __future__ import annotations

from typing import Literal

import torch

from netsim.compute.architecture import Architecture
from netsim.compute.slab import Memory

Purpose = Literal["train", "loss", "look"]


class Routes:
    """All stacked, for now."""

    def stacks(self, architecture: Architecture, purpose: Purpose) -> bool:
        return True

    def lanes(self, architecture: Architecture, memory: Memory) -> int:
        size = torch.empty((), dtype=memory.dtype).element_size()
        return int(min(128, max(2, (8 << 20) // (2 * size * architecture.num_values))))
