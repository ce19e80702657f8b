"""The device of a scenario's tensor work: what `[run] device` means on this machine."""

import torch

from netsim.errors import ScenarioError


def torch_device(name: str) -> torch.device:
    """The device that `[run] device` names; `auto` is a GPU where there is one.

    Raises
    ------
    ScenarioError
        If this machine does not have it.
    """
    problem = device_problem(name)
    if problem:
        raise ScenarioError(f'[run] device = "{name}": {problem}')
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(name)


def device_problem(name: str) -> str | None:
    """Why a device of `[run]` can't be used on this machine, or None."""
    if not name.startswith("cuda"):
        return None
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if count == 0:
        return 'this machine has no CUDA device that torch can use; try device = "auto" or "cpu"'
    number = int(name.partition(":")[2] or 0)
    if number >= count:
        last = f"cuda:{count - 1}"
        return f"this machine has {count} CUDA device{'s' * (count > 1)}, the last is {last}"
    return None
