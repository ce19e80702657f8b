"""Calls that a loss makes of a model's layers, and where their results and its parameters lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import nn

from netsim.backends.native.loss_operation import Memory, Operand


class Call(NamedTuple):
    """One call of a part of the model.

    Attributes
    ----------
    part : str
        Its name; empty: the model itself.
    source : int
        The call whose result it takes; -1: the samples.
    """

    part: str
    source: int


class Calls:
    """The calls of a model's parts by a loss, as the entry of a kernel.

    Parameters
    ----------
    calls : sequence of Call
    exports : sequence of int
        The calls whose results the loss reads.
    """

    def __init__(self, calls: Sequence[Call], exports: Sequence[int]) -> None:
        self.calls, self.exports = tuple(calls), tuple(exports)

    def __call__(self, together: nn.Module, x: Any) -> Any:
        """The results that are exported, by a module that has the model as `model`."""
        found: list[Any] = []
        for call in self.calls:
            part = together.get_submodule(f"model.{call.part}" if call.part else "model")
            found.append(part(x if call.source < 0 else found[call.source]))
        return tuple(found[k] for k in self.exports)


class Place(NamedTuple):
    """Place of a tensor in a packed row: its begin, and the distance of rows; 0: in one piece."""

    at: int
    pitch: int


class Layout(NamedTuple):
    """Calls whose results the layers export side by side, and the widths of these."""

    calls: tuple[int, ...]
    widths: tuple[int, ...]

    def results_operand(self, memory: Memory, call: int, samples: int) -> Operand:
        """The results of a call in the memory of all exports.

        Parameters
        ----------
        memory : Memory
            Of all exports; it gets its size.
        call : int
        samples : int

        Returns
        -------
        Operand
            (samples, width)
        """
        at, whole = self.calls.index(call), sum(self.widths)
        memory.size = samples * whole
        shape = samples, self.widths[at]
        return Operand(memory, sum(self.widths[:at]), shape, (whole, 1))
