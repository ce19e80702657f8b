"""Copying numbers of the host to the compute device."""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor


def to_device(values: NDArray[Any], device: torch.device) -> Tensor:
    """A tensor on the device with the values of an array.

    To a GPU the copy waits for no kernel before it: the values are taken before the call returns,
    so the array may change afterwards. On a CPU the tensor shares the array's memory.
    """
    return torch.from_numpy(values).to(device, non_blocking=True)
