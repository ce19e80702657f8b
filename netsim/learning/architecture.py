"""A model as one flat row: parameters in module order, then floating-point buffers.

Rows are what is trained, mixed, sent and hashed. Integer buffers (BatchNorm's batch counter) are
not part of a row: no shipped model's output depends on them.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from netsim.errors import ProtocolError, ScenarioError


@dataclass(frozen=True)
class Slice:
    """Where one named tensor lies in the row."""

    name: str
    start: int
    stop: int
    shape: tuple[int, ...]


class Architecture:
    """The layout of one kind of model, and a module to run rows of that layout in.

    Parameters
    ----------
    name : str
        Shown in errors and tables; equal names mean equal layouts.
    module : torch.nn.Module
        With submodules `features` and `head`; its own parameter values are not used.
    device : torch.device
    dtype : torch.dtype
        Device and precision of rows.
    num_outputs : int
        Numbers that it gives for a sample, L: classes, or numbers of all positions together.
    """

    def __init__(
        self,
        name: str,
        module: nn.Module,
        device: torch.device,
        dtype: torch.dtype,
        num_outputs: int,
    ) -> None:
        self.name = name
        self.num_outputs = num_outputs
        self.module = module.to(device=device, dtype=dtype)
        self.device, self.dtype = device, dtype
        self._slices: list[Slice] = []
        self._parameters = dict(self.module.named_parameters())
        self._buffers = {n: b for n, b in self.module.named_buffers() if b.is_floating_point()}
        position = 0
        for table in (self._parameters, self._buffers):
            for key, tensor in table.items():
                end = position + tensor.numel()
                self._slices.append(Slice(key, position, end, tuple(tensor.shape)))
                position = end
        self.num_values = position
        self.num_parameters = sum(p.numel() for p in self._parameters.values())
        self._bound = list(self._parameters.values()) + list(self._buffers.values())
        if self.num_parameters == 0:
            raise ScenarioError(f"[model] {name}: the model has no parameters")

    @cached_property
    def is_random(self) -> bool:
        """Whether the forward pass draws random numbers in training (dropout)."""
        return any(isinstance(m, nn.modules.dropout._DropoutNd) for m in self.module.modules())

    @cached_property
    def normalises_batches(self) -> bool:
        """Whether a sample's output in training depends on the other samples of its minibatch."""
        return any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in self.module.modules())

    @property
    def slices(self) -> tuple[Slice, ...]:
        """The named tensors in row order."""
        return tuple(self._slices)

    def parameters_in(self, rows: Tensor) -> dict[str, Tensor]:
        """Views (W, *shape) of the parameters in rows (W, num_parameters or more), by name."""
        return {
            s.name: rows[:, s.start : s.stop].view(len(rows), *s.shape)
            for s in self._slices
            if s.stop <= self.num_parameters
        }

    def columns(self, name: str) -> tuple[int, int]:
        """The column range [start, stop) of a named part.

        Parameters
        ----------
        name : str
            As in `netsim.learning.refs.Ref.part`.

        Raises
        ------
        ProtocolError
            If there is no such part, or its tensors are not adjacent in the row.
        """
        if name == "parameters":
            return 0, self.num_parameters
        if name == "buffers":
            return self.num_parameters, self.num_values
        inside = [s for s in self._slices if s.stop <= self.num_parameters and self._is_in(s, name)]
        if not inside:
            known = sorted({s.name.split(".")[0] for s in self._slices})
            raise ProtocolError(
                f"model {self.name} has no part {name!r}; "
                "it has parameters, buffers, backbone, fully_connected, "
                f"{', '.join(known)}"
            )
        start, stop = inside[0].start, inside[-1].stop
        if sum(s.stop - s.start for s in inside) != stop - start:
            raise ProtocolError(f"part {name!r} of model {self.name} is not one range of columns")
        return start, stop

    def _is_in(self, one: Slice, part: str) -> bool:
        """Whether a tensor belongs to a part: `parameters` is every layer."""
        if part == "parameters":
            return True
        prefixes = ["features" if part == "backbone" else part]
        if part == "fully_connected":
            prefixes = [n for n, m in self.module.named_modules() if isinstance(m, nn.Linear)]
        return (one.name + ".").startswith(tuple(f"{p}." for p in prefixes))

    def only_part(self, part: str, before: Tensor, after: Tensor) -> Tensor:
        """Rows in which training has changed one part, running statistics of its layers included.

        Parameters
        ----------
        part : str
            As in `columns`.
        before, after : torch.Tensor
            (..., num_values)

        Returns
        -------
        torch.Tensor
            (..., num_values): `after` in the columns of the part, `before` in all others.
        """
        inside = torch.zeros(self.num_values, dtype=torch.bool, device=before.device)
        for one in self._slices:
            inside[one.start : one.stop] = self._is_in(one, part)
        return torch.where(inside, after, before)

    def row(self) -> Tensor:
        """The current values of the module's tensors, as a new row (num_values,)."""
        return torch.cat([t.detach().reshape(-1) for t in self._bound])

    def bind(
        self, row: Tensor, gradient: Tensor | None = None, training: bool = False
    ) -> nn.Module:
        """The module, with its tensors made views of `row`; nothing is copied.

        Parameters
        ----------
        row : torch.Tensor
            (num_values,); a forward pass in training mode updates its buffer columns in place.
        gradient : torch.Tensor, optional
            (num_parameters,); `backward` adds to it.
        training : bool
            Whether the module is in training mode.

        Returns
        -------
        torch.nn.Module
            The same object at every call: valid until the next call.
        """
        if self.module.training != training:  # walking a deep module costs as much as a step
            self.module.train(training)
        for tensor, s in zip(self._bound, self._slices, strict=True):
            tensor.data = row[s.start : s.stop].view(s.shape)
        if gradient is not None:
            for tensor, s in zip(self._parameters.values(), self._slices, strict=False):
                tensor.grad = gradient[s.start : s.stop].view(s.shape)
        return self.module


def build_architecture(
    name: str, module: nn.Module, device: torch.device, dtype: torch.dtype, num_outputs: int
) -> Architecture:
    """Lay out `module`, refusing one that cannot be simulated.

    Parameters
    ----------
    name, module, device, dtype, num_outputs
        As for `Architecture`.

    Raises
    ------
    ScenarioError
        If the module lacks `features` or `head`.
    """
    for part in ("features", "head"):
        if not hasattr(module, part):
            raise ScenarioError(f"[model] {name}: a model needs submodules `features` and `head`")
    return Architecture(name, module, device, dtype, num_outputs)
