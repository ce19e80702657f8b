"""Values and layers of a forward pass, written down as it is followed."""

from __future__ import annotations

import math
from typing import Any

from netsim.backends.native.graph import Layer, Slice, UnsupportedError, Value
from netsim.backends.native.records import Kind


class Samples:
    """The input, before it is known whether it is read as a map or as dense values."""


class Stacked(tuple[Value, ...]):
    """Maps side by side in a dimension behind the channels, (B, C, n, H, W)."""


class Builder:
    """Values and layers of a forward pass, as they come.

    Parameters
    ----------
    slices : dict of str to Slice
        The module's tensors.
    input_shape : tuple of int
        Of one sample.
    training : bool
    """

    def __init__(
        self, slices: dict[str, Slice], input_shape: tuple[int, ...], training: bool
    ) -> None:
        self.slices, self.input_shape, self.training = slices, input_shape, training
        self.samples = Samples()
        self.values: list[Value] = []
        self.layers: list[Layer] = []
        self.masks: list[tuple[tuple[int, ...], float]] = []
        self._inputs: dict[bool, Value] = {}
        self._taken: set[str] = set()
        self._memory: dict[int, int] = {}
        self._overwritten: set[int] = set()

    def value(self, shape: tuple[int, ...], learns: bool) -> Value:
        """A new value."""
        self.values.append(Value(len(self.values), shape, learns))
        return self.values[-1]

    def read(self, x: Any, name: str, is_flat: bool = False) -> Value:
        """Return the input value of a layer; the input becomes a value when it first is read.

        Parameters
        ----------
        x : Value or Samples
            An argument in the forward pass.
        name : str
            Of the layer, for errors.
        is_flat : bool
            Whether the layer wants the input as (K,) whatever its shape.

        Raises
        ------
        UnsupportedError
            If it is neither, or was overwritten.
        """
        if self._memory_number(x) in self._overwritten:
            raise UnsupportedError(f"a value that {name} reads after it is overwritten in place")
        if isinstance(x, Value):
            return x
        if not isinstance(x, Samples):
            raise UnsupportedError(f"the argument of {name}")
        dense = is_flat or len(self.input_shape) == 1
        if not dense and len(self.input_shape) != 3:
            raise UnsupportedError(f"{name} on inputs of shape {self.input_shape}")
        if dense not in self._inputs:
            size = math.prod(self.input_shape)
            made = self.value((size,) if dense else self.input_shape, False)
            kind = Kind.INPUT_DENSE if dense else Kind.INPUT_MAP
            self.layers.append(Layer(kind, (), made.number, {}, {}, "input"))
            self._inputs[dense] = made
            self._memory[made.number] = -1
        return self._inputs[dense]

    def _memory_number(self, x: Any) -> int | None:
        """Number of the value in whose memory another lies in PyTorch; -1 for the input."""
        if isinstance(x, Value):
            return self._memory.get(x.number, x.number)
        return -1 if isinstance(x, Samples) else None

    def mark_overwritten(self, x: Value | Samples) -> None:
        """Refuse later reads of an argument, or of what shares its memory."""
        place = self._memory_number(x)
        if place is not None:
            self._overwritten.add(place)

    def dense(self, x: Any, name: str) -> Value:
        """A value (B, K)."""
        value = self.read(x, name)
        if len(value.shape) != 1:
            raise UnsupportedError(f"{name} on values of shape {value.shape}")
        return value

    def map(self, x: Any, name: str) -> Value:
        """A value (B, C, H, W)."""
        value = self.read(x, name)
        if value.is_dense:
            raise UnsupportedError(f"{name} on values of shape {value.shape}")
        return value

    def layer(
        self,
        kind: Kind,
        sources: tuple[Value, ...],
        shape: tuple[int, ...],
        settings: dict[str, Any],
        tensors: dict[str, Slice],
        name: str,
    ) -> Value:
        """Add a layer; gives the value that it writes.

        Parameters
        ----------
        kind : Kind
        sources : tuple of Value
            What it reads.
        shape : tuple of int
            Of what it writes, for one sample.
        settings : dict
            Fields of its record that depend on neither samples nor vectors.
        tensors : dict of str to Slice
            Its parameters and buffers by role.
        name : str
            For errors.
        """
        learns = bool(tensors) or any(s.learns for s in sources)
        out = self.value(shape, learns)
        numbers = tuple(s.number for s in sources)
        self.layers.append(Layer(kind, numbers, out.number, settings, tensors, name))
        return out

    def tensors(self, name: str, **roles: str) -> dict[str, Slice]:
        """A layer's own tensors by role; those that it does not have are left out."""
        found = {}
        for role, attribute in roles.items():
            full = f"{name}.{attribute}" if name else attribute
            if full in self.slices:
                found[role] = self.slices[full]
        for part in found.values():
            if part.name in self._taken:
                raise UnsupportedError(f"a layer that runs twice ({name})")
            self._taken.add(part.name)
        return found

    def add(self, a: Any, b: Any) -> Value:
        """The sum of two values of one shape."""
        a, b = self.read(a, "a sum"), self.read(b, "a sum")
        if a.shape != b.shape:
            raise UnsupportedError(f"a sum of values of shapes {a.shape} and {b.shape}")
        return self.layer(Kind.ADD, (a, b), a.shape, {}, {}, "add")

    def flatten(self, x: Any, start: int, end: int) -> Value:
        """Dense values of a map, or maps in turn of stacked ones.

        Parameters
        ----------
        x : Value or Samples
        start, end : int
            The first and the last dimension that become one, as PyTorch counts them.

        Raises
        ------
        UnsupportedError
        """
        if isinstance(x, Stacked):
            if (start, end) != (1, 2):
                raise UnsupportedError("flattening that mixes channels with pixels")
            return self.interleave(x)
        if start != 1 or end != -1:
            raise UnsupportedError(f"flattening of dimensions {start} to {end}")
        value = self.read(x, "flatten", is_flat=True)
        if value.is_dense:
            if len(value.shape) == 1:
                return value
            flat = Value(value.number, (value.size,), value.learns)
            self.values[value.number] = flat
            return flat
        return self._view(value, (value.size,), Kind.FLATTEN, {}, "flatten")

    def stack(self, parts: Any, dim: int) -> Stacked:
        """Maps of one shape side by side, to be flattened into channels."""
        maps = [self.map(p, "stack") for p in parts]
        if dim != 2 or len({m.shape for m in maps}) != 1:
            raise UnsupportedError(f"stack in dimension {dim}")
        return Stacked(maps)

    def interleave(self, parts: Stacked) -> Value:
        """One channel of each map in turn."""
        channels, *image = parts[0].shape
        return self._join_channels(
            list(parts),
            (channels * len(parts), *image),
            [(k, len(parts)) for k in range(len(parts))],
        )

    def concatenate(self, parts: Any, dim: int) -> Value:
        """Channels one behind the other."""
        values = [self.read(p, "cat") for p in parts]
        if dim not in (1, 1 - 1 - len(values[0].shape)) or len({v.shape[1:] for v in values}) != 1:
            raise UnsupportedError(f"cat in dimension {dim}")
        starts, at = [], 0
        for value in values:
            starts.append((at, 1))
            at += value.shape[0]
        return self._join_channels(values, (at, *values[0].shape[1:]), starts)

    def _join_channels(
        self, parts: list[Value], shape: tuple[int, ...], places: list[tuple[int, int]]
    ) -> Value:
        out = self.value(shape, any(p.learns for p in parts))
        for part, (start, step) in zip(parts, places, strict=True):
            settings = {"count": part.shape[0], "first": 0, "second": start, "step": step}
            numbers = (part.number,)
            self.layers.append(Layer(Kind.COPY_CHANNELS, numbers, out.number, settings, {}, "cat"))
        return out

    def chunk(self, x: Any, chunks: int, dim: int) -> tuple[Value, ...]:
        """Channels in parts of one size.

        Parameters
        ----------
        x : Value or Samples
        chunks : int
            How many parts.
        dim : int
            Must be that of the channels, 1.

        Raises
        ------
        UnsupportedError
        """
        value = self.read(x, "chunk")
        channels, *image = value.shape
        if dim != 1 or chunks < 1 or channels % chunks:
            raise UnsupportedError(f"chunk in dimension {dim}, {channels} channels in {chunks}")
        size = channels // chunks
        settings = {"count": size, "second": 0, "step": 1}
        return tuple(
            self._view(
                value, (size, *image), Kind.COPY_CHANNELS, settings | {"first": k * size}, "chunk"
            )
            for k in range(chunks)
        )

    def _view(
        self,
        value: Value,
        shape: tuple[int, ...],
        kind: Kind,
        settings: dict[str, Any],
        name: str,
    ) -> Value:
        """Add a layer whose result lies in its source's memory in PyTorch."""
        out = self.layer(kind, (value,), shape, settings, {}, name)
        place = self._memory_number(value)
        if place is not None:
            self._memory[out.number] = place
        return out
