"""Values of a model by name, as `state_dict()` has them, put into the order of a row.

A row has all parameters before all buffers; a `state_dict()` has them layer by layer. Numbers
without names in the one order look like those in the other.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from netsim.errors import ProtocolError
from netsim.learning.architecture import Architecture


def is_in_order(architecture: Architecture) -> bool:
    """Return whether rows have the tensors in the order of the model's `state_dict()`."""
    in_row = [*(s.name for s in architecture.slices), *architecture.traits.whole]
    places = {name: place for place, name in enumerate(in_row)}
    there = [places[name] for name in architecture.module.state_dict() if name in places]
    return there == sorted(there)


@torch.no_grad()
def row_of(architecture: Architecture, values: Mapping[str, Any], initial: Tensor) -> Tensor:
    """The row of a model whose values are given by name.

    Parameters
    ----------
    architecture : Architecture
    values : mapping of str to array_like
        As the model's `state_dict()`, in any order.
    initial : torch.Tensor
        (D,) a row, for what no `state_dict()` holds.

    Returns
    -------
    torch.Tensor
        (D,)

    Raises
    ------
    ProtocolError
        If names or shapes are others, numbers are not finite, or two names of one tensor have
        different values.
    """
    row = initial.clone()
    known: dict[str, Tensor] = architecture.bind(row).state_dict(keep_vars=True)
    where = f"model {architecture.name}"
    if values.keys() != known.keys():
        missing, unknown = (
            sorted(some) for some in (known.keys() - values.keys(), values.keys() - known.keys())
        )
        problems = [f"lacks {', '.join(missing)}"] * bool(missing)
        problems += [f"has no {', '.join(map(str, unknown))}"] * bool(unknown)
        raise ProtocolError(f"{where}: what is given {'; the model '.join(problems)}")
    given = {name: torch.as_tensor(value).to(known[name]) for name, value in values.items()}
    for name, value in given.items():
        tensor = known[name]
        if value.shape != tensor.shape:
            raise ProtocolError(
                f"{where}: {name} has shape {tuple(value.shape)}, and is {tuple(tensor.shape)}"
            )
        if not value.isfinite().all():
            raise ProtocolError(f"{where}: {name} has numbers that are not finite")
        tensor.copy_(value)
    for name, value in given.items():
        if not torch.equal(known[name], value):
            raise ProtocolError(
                f"{where}: {name} is a tensor that has several names, and another one of them is "
                "given other values"
            )
    try:
        architecture.collect_buffers(row)
    except RuntimeError as error:  # a buffer that is the same for all nodes
        raise ProtocolError(f"{where}: {error}") from error
    return row
