"""A model as one flat row: parameters in module order, then buffers.

Rows are what is trained, mixed, sent and hashed. Floating-point buffers lie in a row as they are.
Whole numbers and truth values (a counter of batches, a mask) are in it only if forward passes
change them or nodes draw their own: then each entry is written as one to three numbers that a row
holds exactly. BatchNorm's counter of batches is left out where nothing reads it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from netsim.errors import ProtocolError, ScenarioError
from netsim.learning.columns import Columns, merge_ranges, number_of, put, take
from netsim.learning.structure import Structure, StructureError, require_real
from netsim.learning.whole_numbers import decode_whole, encode_whole, entries_of, whole_buffers

NORMALISATION = (
    nn.modules.batchnorm._NormBase,  # BatchNorm and InstanceNorm
    nn.GroupNorm,
    nn.LayerNorm,
    nn.LocalResponseNorm,
    nn.RMSNorm,
)
"""Layers of the part `normalisation`."""

DROPOUT = nn.modules.dropout._DropoutNd


@dataclass(frozen=True)
class Slice:
    """Place of one named tensor in the row."""

    name: str
    start: int
    stop: int
    shape: tuple[int, ...]


class Traits(NamedTuple):
    """Traits of a model that its tensors don't tell; `netsim.learning.model_probe` finds them.

    Attributes
    ----------
    draws_in_training, draws_in_evaluation : bool
        Whether a forward pass draws random numbers otherwise than by a dropout layer.
    writes_in_evaluation : bool
        Whether a forward pass in evaluation mode changes a buffer or a parameter.
    whole : tuple of str
        The buffers of whole numbers that are part of a row.
    look_seed : int
        Seed of what a look at the model draws: two looks at one model see the same.
    """

    draws_in_training: bool = False
    draws_in_evaluation: bool = False
    writes_in_evaluation: bool = False
    whole: tuple[str, ...] = ()
    look_seed: int = 0


NOTHING_ODD = Traits()

_GROUPS = ("trained", "frozen", "normalisation", "fully_connected", "backbone", "head")


class _Place(NamedTuple):
    """Place in a module that holds a buffer: forward passes may put another tensor there."""

    table: dict[str, Tensor | None]
    key: str
    tensor: Tensor


class Architecture:
    """The layout of one kind of model, and a module to run rows of that layout in.

    A tensor that a module has under several names is one range of columns. Parameters that don't
    require a gradient are frozen: no training changes their columns.

    Parameters
    ----------
    name : str
        Shown in errors and tables; equal names mean equal layouts.
    module : torch.nn.Module
        Its own parameter values are not used.
    device : torch.device
    dtype : torch.dtype
        Device and precision of rows.
    num_outputs : int
        Numbers that it gives for a sample, L: classes, or numbers of all positions together.
    traits : Traits
    head : str
        Dotted name of the submodule that is the part `head`.
    fresh : callable or None
        () -> a module like `module` at first, with the initial values, that nothing has touched.
    """

    def __init__(
        self,
        name: str,
        module: nn.Module,
        device: torch.device,
        dtype: torch.dtype,
        num_outputs: int,
        traits: Traits = NOTHING_ODD,
        head: str = "head",
        fresh: Callable[[], nn.Module] | None = None,
    ) -> None:
        self.name, self.traits, self.head, self.fresh = name, traits, head, fresh
        self.num_outputs = num_outputs
        self.module = move_module(module, device, dtype)
        # Set here, not at the first pass: layers that were put into another mode by hand would
        # keep it until the model is first looked at.
        self.module.train(False)
        self.device, self.dtype = device, dtype
        self.found_random = False
        self._slices: list[Slice] = []
        self._parameters = dict(self.module.named_parameters())
        self._buffers = {n: b for n, b in self.module.named_buffers() if b.is_floating_point()}
        position = 0
        for table in (self._parameters, self._buffers):
            for key, tensor in table.items():
                end = position + tensor.numel()
                self._slices.append(Slice(key, position, end, tuple(tensor.shape)))
                position = end
        self.frozen_names = tuple(n for n, p in self._parameters.items() if not p.requires_grad)
        self.num_parameters = sum(p.numel() for p in self._parameters.values())
        self._bound = list(self._parameters.values()) + list(self._buffers.values())
        self._whole: list[tuple[Slice, Tensor]] = []
        others = whole_buffers(self.module)
        for key in traits.whole:
            end = position + others[key].numel() * entries_of(others[key].dtype)
            self._whole.append((Slice(key, position, end, tuple(others[key].shape)), others[key]))
            position = end
        self.num_values = position
        constants = [(n, b) for n, b in others.items() if n not in traits.whole]
        self._structure = Structure(self.module, constants)
        self._places = [
            _Place(m._buffers, key, b)
            for m in self.module.modules()
            for key, b in m._buffers.items()
            if b is not None
        ]
        if not any(p.numel() for p in self._parameters.values()):
            raise ScenarioError(f"[model] {name}: the model has no parameters")
        if not any(p.requires_grad and p.numel() for p in self._parameters.values()):
            raise ScenarioError(
                f"[model] {name}: all its parameters are frozen (requires_grad is False), so there "
                "is nothing to train; leave some of them free"
            )

    def in_double(self) -> Architecture:
        """The same model in double precision, with a module of its own."""
        module = copy.deepcopy(self.module) if self.fresh is None else self.fresh()
        where, double = self.device, torch.float64
        return Architecture(
            self.name, module, where, double, self.num_outputs, self.traits, self.head
        )

    @property
    def is_random(self) -> bool:
        """Return whether the forward pass draws random numbers in training (dropout)."""
        return self._has_dropout or self.traits.draws_in_training or self.found_random

    @cached_property
    def _has_dropout(self) -> bool:
        return any(isinstance(m, DROPOUT) for m in self.module.modules())

    @cached_property
    def normalises_batches(self) -> bool:
        """Return whether a sample's output in training depends on others of its minibatch."""
        return any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in self.module.modules())

    @property
    def sequential_reason(self) -> str | None:
        """Why the nodes' models run one after another, whatever a route says; None: they need not.

        One call for many nodes has one generator, and averages no whole numbers.
        """
        t = self.traits
        if t.draws_in_training or t.draws_in_evaluation or self.found_random:
            return "its forward pass draws random numbers outside of dropout layers"
        if t.writes_in_evaluation:
            return "its forward pass changes its tensors in evaluation mode, too"
        if t.whole:
            return f"its forward pass changes or nodes draw the whole numbers of {t.whole[0]}"
        return None

    @property
    def slices(self) -> tuple[Slice, ...]:
        """The named tensors of real numbers in row order."""
        return tuple(self._slices)

    @cached_property
    def whole_columns(self) -> Columns:
        """The columns at the end of a row that hold whole numbers; they are never averaged."""
        return merge_ranges([(s.start, s.stop) for s, _ in self._whole])

    def parameters_in(self, rows: Tensor) -> dict[str, Tensor]:
        """Views (W, *shape) of the parameters in rows (W, num_parameters or more), by name."""
        return {
            s.name: rows[:, s.start : s.stop].view(len(rows), *s.shape)
            for s in self._slices[: len(self._parameters)]
        }

    # -- parts -----------------------------------------------------------------------------------

    def columns(self, name: str) -> Columns:
        """The columns of a named part.

        Parameters
        ----------
        name : str
            As in `netsim.learning.refs.Ref.part`.

        Raises
        ------
        ProtocolError
            If there is no such part.
        """
        if name not in self._parts:
            self._parts[name] = self._columns(name)
        return self._parts[name]

    @cached_property
    def _parts(self) -> dict[str, Columns]:
        return {
            "parameters": ((0, self.num_parameters),),
            "buffers": ((self.num_parameters, self.num_values),),
        }

    def _columns(self, name: str) -> Columns:
        inside = [s for s in self._slices[: len(self._parameters)] if self._is_in(s.name, name)]
        if not inside:
            raise ProtocolError(self._no_part(name))
        if name in self._modules:
            order = [id(p) for p in self._modules[name].parameters()]
            if [id(self._parameters[s.name]) for s in inside] != order:
                raise ProtocolError(
                    f"part {name!r} of model {self.name} shares parameters with another part, in "
                    "another order than the model has them; take it with the other part"
                )
        return merge_ranges([(s.start, s.stop) for s in inside])

    def _no_part(self, name: str) -> str:
        names = [s.name for s in self._slices[: len(self._parameters)]]
        there = [p for p in _GROUPS if any(self._is_in(n, p) for n in names)]
        known = sorted({n.split(".")[0] for n in names} - {"head"})
        parts = ["parameters", "buffers", *there, "'not' before one of these", *known]
        message = f"model {self.name} has no part {name!r}; it has {', '.join(parts)}"
        if not known:
            message += ". It is a head alone: give it layers before that"
        elif name.removeprefix("not ").partition(".")[0] in ("head", "backbone", "features"):
            message += (
                ". Say which of its submodules is the head: [model] head = "
                f'"{known[-1]}", for example'
            )
        return message

    @cached_property
    def _modules(self) -> dict[str, nn.Module]:
        """Submodules by name, those that have several under each."""
        return dict(self.module.named_modules(remove_duplicate=False))

    @cached_property
    def _aliases(self) -> dict[str, tuple[str, ...]]:
        """All names of each tensor, by the first of them."""
        first: dict[int, str] = {}
        found: dict[str, list[str]] = {}
        for tensors in (self.module.named_parameters, self.module.named_buffers):
            for name, tensor in tensors(remove_duplicate=False):
                found.setdefault(first.setdefault(id(tensor), name), []).append(name)
        return {name: tuple(names) for name, names in found.items()}

    def _is_in(self, name: str, part: str) -> bool:
        """Return whether a tensor belongs to a part, under one of its names.

        All tensors are part of `parameters`.
        """
        if part.startswith("not "):
            return not self._is_in(name, part.removeprefix("not "))
        if part in ("trained", "frozen"):
            return (name in self.frozen_names) == (part == "frozen")
        aliases = self._aliases[name]
        if part == "parameters":
            return True
        if part in ("normalisation", "fully_connected"):
            kinds = NORMALISATION if part == "normalisation" else (nn.Linear,)
            owners = [self._modules[alias.rpartition(".")[0]] for alias in aliases]
            return any(isinstance(owner, kinds) for owner in owners)
        if part == "backbone" and self.head != "head":
            return not self._is_in(name, "head")
        prefix = "features" if part == "backbone" else part
        if part == "head" or part.startswith("head."):
            prefix = self.head + part.removeprefix("head")
        return any(f"{alias}.".startswith(f"{prefix}.") for alias in aliases)

    @cached_property
    def num_features(self) -> int:
        """Numbers that the head takes for a sample.

        Raises
        ------
        ProtocolError
            If the model has no head.
        """
        for s in self._slices[: len(self._parameters)]:
            if self._is_in(s.name, "head") and len(s.shape) > 1:
                return s.shape[1]
        raise ProtocolError(self._no_part("head"))

    def trained_parameters(self, part: str | None = None) -> list[tuple[nn.Parameter, Slice]]:
        """The parameters that training changes, in row order.

        Parameters
        ----------
        part : str or None
            The only part that is trained; None: all of it.

        Raises
        ------
        ProtocolError
            If nothing in it learns.
        """
        key = part or "parameters"
        if key not in self._trained_by_part:
            if key == "buffers":
                raise ProtocolError("running statistics are not trained; name another part")
            inside = self.columns(key)
            found = [
                (p, s)
                for p, s in zip(self._parameters.values(), self._slices, strict=False)
                if p.requires_grad and any(a <= s.start and s.stop <= b for a, b in inside)
            ]
            if not found:
                raise ProtocolError(
                    f"part {key!r} of model {self.name} is frozen (requires_grad is False): there "
                    "is nothing to train"
                )
            self._trained_by_part[key] = found
        return self._trained_by_part[key]

    @cached_property
    def _trained_by_part(self) -> dict[str, list[tuple[nn.Parameter, Slice]]]:
        return {}

    def trained_columns(self, part: str | None = None) -> Columns:
        """The columns of these parameters."""
        return merge_ranges([(s.start, s.stop) for _, s in self.trained_parameters(part)])

    def num_trained(self, part: str | None = None) -> int:
        """Number of entries that training changes: the optimiser's state has one for each."""
        if part not in self._num_trained:
            self._num_trained[part] = number_of(self.trained_columns(part))
        return self._num_trained[part]

    @cached_property
    def _num_trained(self) -> dict[str | None, int]:
        return {}

    def trained_of(self, given: Tensor, part: str | None) -> Tensor:
        """The trained columns of a model, of its parameters, or of the part alone.

        Parameters
        ----------
        given : torch.Tensor
            (num_values,), (num_parameters,) or as many values as the part has.
        part : str or None

        Returns
        -------
        torch.Tensor
            (num_trained(part),)
        """
        columns, inside = self.trained_columns(part), self.columns(part or "parameters")
        if columns == inside and len(given) == number_of(inside):
            return given
        if len(given) == number_of(inside) < self.num_parameters:
            whole = given.new_zeros(self.num_parameters)
            put(whole, inside, given)
            given = whole
        return take(given, columns)

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
        for one in (*self._slices, *(s for s, _ in self._whole)):
            inside[one.start : one.stop] = self._is_in(one.name, part)
        return torch.where(inside, after, before)

    # -- rows ------------------------------------------------------------------------------------

    def row(self) -> Tensor:
        """The current values of the module's tensors, as a new row (num_values,)."""
        whole = [encode_whole(b, self.dtype) for _, b in self._whole]
        return torch.cat([*(t.detach().reshape(-1) for t in self._bound), *whole])

    def bind(
        self, row: Tensor, gradient: Tensor | None = None, training: bool = False
    ) -> nn.Module:
        """The module, with its tensors made views of `row`; nothing is copied.

        Parameters
        ----------
        row : torch.Tensor
            (num_values,); a forward pass in training mode updates its buffer columns in place,
            those that `collect_buffers` writes apart.
        gradient : torch.Tensor, optional
            (num_parameters,); `backward` adds to it, nothing in the columns of frozen parameters.
        training : bool
            Whether the module is in training mode.

        Returns
        -------
        torch.nn.Module
            The same object at every call: valid until the next call.
        """
        if self.module.training != training:  # walking a deep module costs as much as a step
            self.module.train(training)
        if self.traits.writes_in_evaluation and not training:
            row = row.clone()  # a look changes no model
        for table, key, tensor in self._places:
            if table[key] is not tensor:
                table[key] = tensor
        for tensor, s in zip(self._bound, self._slices, strict=True):
            tensor.data = row[s.start : s.stop].view(s.shape)
        for s, tensor in self._whole:
            tensor.copy_(decode_whole(row[s.start : s.stop], tensor))
        if gradient is not None:
            for tensor, s in zip(self._parameters.values(), self._slices, strict=False):
                if tensor.requires_grad:
                    tensor.grad = gradient[s.start : s.stop].view(s.shape)
        return self.module

    @torch.no_grad()
    def keep_in(self, row: Tensor) -> None:
        """Take the data that a forward pass has given to parameters into the row that is bound.

        Parameters
        ----------
        row : torch.Tensor
            (num_values,), what `bind` was given.

        Raises
        ------
        StructureError
            If the pass has frozen or freed a parameter.
        """
        begin, size, frozen = row.data_ptr(), row.element_size(), self.frozen_names
        for tensor, s in zip(self._parameters.values(), self._slices, strict=False):
            if tensor.data_ptr() != begin + s.start * size and s.start < s.stop:
                tensor.data = row[s.start : s.stop].view(s.shape).copy_(tensor)
            if tensor.requires_grad == (s.name in frozen):
                raise StructureError(
                    f"a run has one module for all nodes, and a forward pass sets requires_grad of "
                    f"{s.name}: what shall learn at some steps only, a factor of 0 or detach() "
                    "can hold still"
                )

    @torch.no_grad()
    def collect_buffers(self, row: Tensor) -> None:
        """Write to the row that is bound what forward passes have left elsewhere.

        That is a buffer that a module has set anew, and whole numbers.

        Parameters
        ----------
        row : torch.Tensor
            (num_values,), what `bind` was given.

        Raises
        ------
        StructureError
            If a buffer has another shape, or a pass changed what all nodes have in common.
        """
        for table, key, tensor in self._places:
            now = table[key]
            if now is tensor:
                continue
            if now is None or now.shape != tensor.shape:
                raise StructureError(f"a forward pass gives the buffer {key} another shape")
            tensor.copy_(now)
            table[key] = tensor
        for s, tensor in self._whole:
            row[s.start : s.stop] = encode_whole(tensor, self.dtype)
        self._structure.require_same()


def move_module(module: nn.Module, device: torch.device, dtype: torch.dtype) -> nn.Module:
    """A module on a device and in a precision; buffers that are one tensor stay one.

    Parameters
    ----------
    module : torch.nn.Module
        Changed in place.
    device : torch.device
    dtype : torch.dtype

    Returns
    -------
    torch.nn.Module
        The same.
    """
    places: dict[int, list[tuple[dict[str, Tensor | None], str]]] = {}
    for part in module.modules():
        for key, buffer in part._buffers.items():
            if buffer is not None:
                places.setdefault(id(buffer), []).append((part._buffers, key))
    module = module.to(device=device, dtype=dtype)
    for (table, key), *others in places.values():
        for other, name in others:
            other[name] = table[key]
    return module


def build_architecture(
    name: str,
    module: nn.Module,
    device: torch.device,
    dtype: torch.dtype,
    num_outputs: int,
    **more: Any,
) -> Architecture:
    """Lay out `module`, refusing one that cannot be simulated.

    Parameters
    ----------
    name, module, device, dtype, num_outputs, **more
        As for `Architecture`.

    Raises
    ------
    ScenarioError
        If a tensor of it can't lie in a row of real numbers.
    """
    require_real(f"[model] {name}", module, dtype)
    return Architecture(name, module, device, dtype, num_outputs, **more)
