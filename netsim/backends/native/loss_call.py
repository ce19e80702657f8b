"""Programs of losses as arguments of a call of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True)
class LossCall:
    """Arguments of a call of the kernel that trains by programs.

    Attributes
    ----------
    records : (programs, fields) int64
        The programs.
    operations : sequence
        What the programs point to; held while the call runs.
    constants : torch.Tensor
    size : int
        Scalars of the largest workspace.
    of_step : (steps of all jobs,) int64
        Which program each step takes.
    inputs : torch.Tensor
        (n, values that the loss of a job is given)
    """

    records: NDArray[np.int64]
    operations: Sequence[Any]
    constants: Tensor
    size: int
    of_step: NDArray[np.int64]
    inputs: Tensor
