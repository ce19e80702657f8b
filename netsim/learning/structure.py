"""The structure of a module: it has to be of real numbers, and passes must leave it as it is.

A run has one module for all its nodes. Values of parameters and buffers are each node's own; a
submodule that a pass puts in, a parameter that it freezes or replaces, and a buffer of constants
that it writes would be those of all nodes.
"""

from typing import Any

import torch
from torch import Tensor, nn

from netsim.errors import ScenarioError


class StructureError(RuntimeError):
    """A forward pass has changed what all nodes have in common."""


class Structure:
    """The submodules, parameters and constants of a module, as they are when this is made.

    Parameters
    ----------
    module : torch.nn.Module
    constants : list of (str, torch.Tensor)
        Buffers that no pass may change, and their names.
    """

    def __init__(self, module: nn.Module, constants: list[tuple[str, Tensor]]) -> None:
        self._constants = [(n, b, b.clone(), b._version) for n, b in constants]
        self._tables: list[tuple[str, dict[str, Any], list[tuple[str, Any]]]] = [
            (f"{name}." if name else "", table, list(table.items()))
            for name, part in module.named_modules()
            for table in (part._modules, part._parameters, part._buffers)
        ]

    def require_same(self) -> None:
        """Refuse a pass that has changed it.

        Raises
        ------
        StructureError
        """
        change = self._changed()
        if change is not None:
            raise StructureError(f"a run has one module for all nodes, and {change}")

    def _changed(self) -> str | None:
        for before, table, items in self._tables:
            if len(table) != len(items):
                new = [key for key in table if key not in dict(items)]
                return (
                    f"a forward pass adds {before}{new[0]} to it"
                    if new
                    else (f"a forward pass takes a part of {before.rstrip('.') or 'it'} away")
                )
            for key, thing in items:
                if table.get(key) is not thing:
                    return f"a forward pass puts another object in place of {before}{key}"
        for name, tensor, first, version in self._constants:
            if tensor._version != version and not torch.equal(tensor, first):
                tensor.copy_(first)
                return (
                    f"its buffer {name} changed, which its first passes had not done; register it "
                    "as real numbers"
                )
        return None


def require_real(where: str, module: nn.Module, dtype: torch.dtype) -> None:
    """Refuse a module with a tensor that can't lie in a row of real numbers, and scripts.

    Parameters
    ----------
    where : str
        What the message begins with.
    module : torch.nn.Module
    dtype : torch.dtype
        Of rows.

    Raises
    ------
    ScenarioError
    """
    for name, part in module.named_modules():
        if isinstance(part, torch.jit.ScriptModule):
            raise ScenarioError(
                f"{where}: {name or 'it'} is a script (TorchScript), whose tensors can't be lent "
                "values; bring the Python module that it was made of"
            )
    for key, tensor in (*module.named_parameters(), *module.named_buffers()):
        problem = _problem(tensor, dtype)
        if isinstance(tensor, nn.Parameter) and not problem and not tensor.is_floating_point():
            problem = (
                f"is a parameter of {str(tensor.dtype).removeprefix('torch.')}, and parameters are "
                "real numbers here; hold it by register_buffer"
            )
        if problem is not None:
            raise ScenarioError(f"{where}: {key} {problem}")


def _problem(tensor: Tensor, dtype: torch.dtype) -> str | None:
    """Why a tensor can't be part of a model; None if it can."""
    if nn.parameter.is_lazy(tensor):
        return "has no size yet (a lazy layer); state its sizes, such as in_features"
    if tensor.layout is not torch.strided or tensor.is_quantized:
        return f"is {tensor.layout}, quantised or sparse; models are made of plain tensors"
    if tensor.is_complex():
        return (
            f"holds complex numbers ({tensor.dtype}), and a model is a row of real ones; register "
            "torch.view_as_real of it, and take torch.view_as_complex of that in forward"
        )
    if (
        tensor.is_floating_point()
        and torch.finfo(tensor.dtype).bits != 32
        and tensor.dtype != dtype
    ):
        wanted = str(dtype).removeprefix("torch.")
        return (
            f'is {str(tensor.dtype).removeprefix("torch.")}, and [training] dtype = "{wanted}": '
            "netsim computes in float32 or float64; make the model of that, by model.float() or "
            "model.double()"
        )
    return None
