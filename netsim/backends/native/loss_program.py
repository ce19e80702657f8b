"""Programs of small tensor operations, by which the kernel computes a loss of a method's own.

A program reads what the layers export, labels, parameters and values that a job is given, and ends
with gradients. Its operands are strided views, so that what PyTorch does by views costs nothing;
which operations there are is said in `src/loss_program.h`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.packing import up

RANK = 4
"""Dimensions of an operation, when those that lie as one are merged."""

PANEL_ROWS, PANEL_VECTORS = 4, 3
"""Of a product of matrices, as the kernel has them."""


class Base(IntEnum):
    """Memories that operands are views of."""

    WORK = 0
    WEIGHTS = 1
    GRADIENT = 2
    CONSTANTS = 3
    INPUTS = 4


class Kind(IntEnum):
    """Sorts of operations."""

    MAP = 0
    REDUCE = 1
    MULTIPLY = 2
    ROWS = 3
    LABELS = 4
    TARGETS = 5
    CHECK = 6
    LAYERS = 7
    FORWARD = 8
    BACKWARD = 9


class Function(IntEnum):
    """Functions of single values."""

    COPY = 0
    PLUS = 1
    MINUS = 2
    TIMES = 3
    OVER = 4
    PLUS_TIMES = 5
    SCALED = 6
    LESS = 7
    LESS_EQUAL = 8
    EQUAL = 9
    UNEQUAL = 10
    WHERE = 11
    MAXIMUM = 12
    MINIMUM = 13
    EXP = 14
    LOG = 15
    SQRT = 16
    TANH = 17
    ABS = 18
    SIGN = 19
    POWER = 20


@dataclass(eq=False)
class Memory:
    """Values in one place: of a program's workspace, or of a memory that is there before.

    Attributes
    ----------
    base : Base
    size : int
    at : int
        Where it begins; in the workspace that is known when the program is finished.
    """

    base: Base
    size: int
    at: int = 0


@dataclass(frozen=True, eq=False)
class Operand:
    """Strided view of a memory."""

    memory: Memory
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def is_contiguous(self) -> bool:
        return self.strides == row_major(self.shape) or math.prod(self.shape) <= 1

    def expanded(self, shape: Sequence[int]) -> Operand:
        """The same values, repeated to a larger shape as PyTorch broadcasts."""
        more = len(shape) - len(self.shape)
        strides = [0] * more
        for size, stride, wanted in zip(self.shape, self.strides, shape[more:], strict=True):
            if size not in (1, wanted):
                raise UnsupportedError("shapes that do not broadcast")
            strides.append(stride if size == wanted and size > 1 else 0)
        return Operand(self.memory, self.offset, tuple(shape), tuple(strides))


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of contiguous values."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


@dataclass(eq=False)
class _Operation:
    kind: Kind
    function: int
    dims: tuple[int, ...]
    out: Operand | None
    inputs: tuple[Operand, ...]
    strides: tuple[tuple[int, ...], ...]
    real: float = 0.0
    scratch: Memory | None = None
    stays: bool = False
    """Whether it is needed even if nobody reads what it writes."""

    @property
    def written(self) -> Memory | None:
        return None if self.out is None else self.out.memory


@dataclass
class Program:
    """A program in the making, for minibatches of one size.

    Parameters
    ----------
    dtype : torch.dtype
        Of constants.
    vector : int
        Scalars of a vector.

    Attributes
    ----------
    size : int
        Scalars of its workspace, once it is finished.
    before : int
        Operations that come before the layers' way back, once it is finished.
    spans : dict of int to (int, int)
        Of each pass through a part of the model the first and the last operation, once it is
        finished; without those passes that lead nowhere.
    """

    dtype: torch.dtype
    vector: int
    size: int = 0
    before: int = 0
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    _operations: list[_Operation] = field(default_factory=list)
    _after: list[_Operation] = field(default_factory=list)
    _constants: list[Tensor] = field(default_factory=list)
    _length: int = 0
    _scalars: dict[bytes, Operand] = field(default_factory=dict)

    def new(self, shape: Sequence[int]) -> Operand:
        """Room in the workspace."""
        size = math.prod(shape)
        if size == 0:
            raise UnsupportedError("an empty tensor")
        return Operand(Memory(Base.WORK, size), 0, tuple(shape), row_major(shape))

    def scalar(self, value: float) -> Operand:
        """A number."""
        key = np.float64(value).tobytes()  # -0 is another number than 0, and NaN no number
        if key not in self._scalars:
            self._scalars[key] = self.constant(torch.tensor(value, dtype=self.dtype))
        return self._scalars[key]

    def constant(self, value: Tensor) -> Operand:
        """Values that are the same for every job and step."""
        for dim, stride in enumerate(value.stride()):
            if stride == 0 and value.shape[dim] > 1:
                smaller = self.constant(value.narrow(dim, 0, 1))
                return smaller.expanded(tuple(value.shape))
        found = value.detach().to(self.dtype, copy=True).reshape(-1)
        memory = Memory(Base.CONSTANTS, value.numel(), self._length)
        self._constants.append(found)
        self._length += up(value.numel(), self.vector)
        shape = tuple(value.shape)
        return Operand(memory, 0, shape, row_major(shape))

    def map(
        self,
        function: Function,
        shape: Sequence[int],
        *inputs: Operand,
        real: float = 0.0,
        out: Operand | None = None,
    ) -> Operand:
        """A function of each value.

        Parameters
        ----------
        function : Function
        shape : sequence of int
            Of the result; inputs are broadcast to it.
        *inputs : Operand
        real : float
            Constant of the function.
        out : Operand, optional
            Where the result is written; without, to new room.
        """
        result = self.new(shape) if out is None else out
        self._operations.append(_mapped(function, result, inputs, real))
        return result

    def add_to_gradient(self, gradient: Operand, value: Operand) -> None:
        """Add to the gradient of parameters, when the layers have written theirs."""
        operation = _mapped(Function.PLUS, gradient, (gradient, value), 0.0)
        self._after.append(operation)

    def reduce(
        self, function: Function, value: Operand, dims: Iterable[int], keep: bool
    ) -> Operand:
        """Sums or maxima over some dimensions.

        Parameters
        ----------
        function : Function
            `PLUS` or `MAXIMUM`.
        value : Operand
        dims : iterable of int
        keep : bool
            Whether these dimensions stay, with size 1.
        """
        over = sorted({d % max(len(value.shape), 1) for d in dims}) if value.shape else []
        kept = [d for d in range(len(value.shape)) if d not in over]
        whole = self.new([value.shape[d] for d in kept])
        one, outer = _merged(
            [value.shape[d] for d in kept], [[value.strides[d] for d in kept], whole.strides]
        )
        two, inner = _merged([value.shape[d] for d in over], [[value.strides[d] for d in over]])
        if len(one) > 2 or len(two) > 2:
            raise UnsupportedError("a sum over dimensions that do not lie side by side")
        sizes = _padded(one, 2, 1) + _padded(two, 2, 1)
        strides = _padded(outer[0], 2, 0) + _padded(inner[0], 2, 0)
        into = (*_padded(outer[1], 2, 0), 0, 0)
        self._operations.append(
            _Operation(Kind.REDUCE, function, sizes, whole, (value,), (into, strides))
        )
        if not keep:
            return whole
        shape = tuple(1 if d in over else size for d, size in enumerate(value.shape))
        return Operand(whole.memory, 0, shape, row_major(shape))

    def multiply(self, a: Operand, b: Operand) -> Operand:
        """Products of matrices, (..., m, k) by (..., k, n)."""
        if len(a.shape) == 2:
            a, b = (Operand(x.memory, x.offset, (1, *x.shape), (0, *x.strides)) for x in (a, b))
            result = self.multiply(a, b)
            return Operand(result.memory, 0, result.shape[1:], result.strides[1:])
        batch, rows, inner = a.shape
        columns = b.shape[2]
        out = self.new((batch, rows, columns))
        panel = inner * (PANEL_ROWS + PANEL_VECTORS * self.vector)
        dims = (batch, rows, columns, inner)
        strides = tuple((*x.strides, 0) for x in (out, a, b))
        self._operations.append(
            _Operation(
                Kind.MULTIPLY, 0, dims, out, (a, b), strides, scratch=Memory(Base.WORK, panel)
            )
        )
        return out

    def rows(self, table: Operand, which: Operand) -> Operand:
        """Rows (n, k) of a matrix (m, k) by number (n,)."""
        out = self.new((which.shape[0], table.shape[1]))
        self._rows(Function.COPY, out, table, which, table.shape[0])
        return out

    def add_rows(self, values: Operand, which: Operand, count: int) -> Operand:
        """The sum of rows with the same number, (count, k).

        Parameters
        ----------
        values : Operand
            (n, k)
        which : Operand
            (n,) numbers under `count`.
        count : int
        """
        out = self.new((count, values.shape[1]))
        self._rows(Function.PLUS, out, values, which, count)
        return out

    def _rows(
        self, function: Function, out: Operand, values: Operand, which: Operand, count: int
    ) -> None:
        dims = (which.shape[0], values.shape[1], count, 1)
        strides = ((0,) * 4, (*values.strides, 0, 0), (*which.strides, 0, 0, 0))
        self._operations.append(
            _Operation(Kind.ROWS, function, dims, out, (values, which), strides)
        )

    def labels(self, count: int) -> Operand:
        """Labels of the first samples, (count,)."""
        out = self.new((count,))
        none = ((0,) * 4,)
        self._operations.append(_Operation(Kind.LABELS, 0, (count, 1, 1, 1), out, (), none))
        return out

    def targets(self, shape: Sequence[int]) -> Operand:
        """Targets of the first samples, (count, ...)."""
        out = self.new(shape)
        dims = (shape[0], math.prod(shape[1:]), 1, 1)
        self._operations.append(_Operation(Kind.TARGETS, 0, dims, out, (), ((0,) * 4,)))
        return out

    def check(self, labels: Operand, classes: int, ignored: float) -> None:
        """Refuse jobs whose labels are no classes.

        Parameters
        ----------
        labels : Operand
            (n,)
        classes : int
        ignored : float
            A label that is no class, and counts for nothing.
        """
        dims = (labels.shape[0], classes, 1, 1)
        strides = ((0,) * 4, (*labels.strides, 0, 0, 0))
        self._operations.append(
            _Operation(Kind.CHECK, 0, dims, None, (labels,), strides, real=ignored)
        )

    def layers(self) -> None:
        """The forward pass of the model's layers, with the job's own parameters."""
        self._operations.append(_Operation(Kind.LAYERS, 0, (1,) * 4, None, (), ()))

    def forward(
        self, number: int, row: Operand, shape: tuple[int, int], packed: int, stays: bool
    ) -> tuple[Operand, Operand]:
        """Results of a part of the model, and the packed row that its way back needs.

        Parameters
        ----------
        number : int
            Of the pass.
        row : Operand
            (P,) contiguous: parameters of the part.
        shape : (int, int)
            Of the results.
        packed : int
            Length of the packed row.
        stays : bool
            Whether it changes running statistics, and is needed for that alone.
        """
        begin = up(math.prod(shape), 16)
        memory = Memory(Base.WORK, begin + packed)
        out = Operand(memory, 0, shape, row_major(shape))
        weights = Operand(memory, begin, (packed,), (1,))
        self._operations.append(
            _Operation(
                Kind.FORWARD, number, (1,) * 4, out, (row, weights), ((0,) * 4,) * 3, stays=stays
            )
        )
        return out, weights

    def backward(self, number: int, gradient: Operand, weights: Operand, length: int) -> Operand:
        """Gradient by the parameters of a part of the model, (length,).

        Parameters
        ----------
        number : int
            Of the pass.
        gradient : Operand
            By its results, contiguous.
        weights : Operand
            As `forward` has packed them.
        length : int
            Number of parameters.
        """
        out = self.new((length,))
        room = Operand(Memory(Base.WORK, weights.shape[0]), 0, weights.shape, (1,))
        self._operations.append(
            _Operation(
                Kind.BACKWARD,
                number,
                (1,) * 4,
                out,
                (gradient, weights, room),
                ((0,) * 4,) * 4,
            )
        )
        return out

    def row(self, parts: Sequence[Operand]) -> Operand:
        """Values one behind the other, (n,) contiguous: where they lie, or copied."""
        first = parts[0]
        at, lies = first.offset, True
        for part in parts:
            lies = lies and part.is_contiguous and (part.memory, part.offset) == (first.memory, at)
            at += math.prod(part.shape)
        if lies:
            return Operand(first.memory, first.offset, (at - first.offset,), (1,))
        whole = self.new((sum(math.prod(part.shape) for part in parts),))
        at = 0
        for part in parts:
            place = Operand(whole.memory, at, part.shape, row_major(part.shape))
            self.map(Function.COPY, part.shape, part, out=place)
            at += math.prod(part.shape)
        return whole

    def finish(self, kept: Sequence[Operand]) -> NDArray[np.int64]:
        """Leave out what leads nowhere, give everything its place.

        Parameters
        ----------
        kept : sequence of Operand
            What is read or written from outside: placed first, and for the whole program.

        Returns
        -------
        (n, fields) int64
            The operations as the kernel reads them.
        """
        wanted = {each.memory for each in kept}
        wanted.update(x.memory for op in self._after for x in op.inputs)
        needed: list[_Operation] = []
        for op in reversed(self._operations):
            if op.written is None or op.stays or op.written in wanted:
                needed.append(op)
                wanted.update(x.memory for x in op.inputs)
        needed.reverse()
        self.before = len(needed)
        for number, op in enumerate(needed):
            if op.kind in (Kind.FORWARD, Kind.BACKWARD):
                first, _ = self.spans.get(op.function, (number, number))
                self.spans[op.function] = first, number
        order = [*needed, *self._after]
        self._place(order, list(dict.fromkeys(each.memory for each in kept)))
        return np.array([_encoded(op) for op in order], dtype=np.int64)

    def _place(self, order: Sequence[_Operation], kept: Sequence[Memory]) -> None:
        """Places in the workspace; room that nobody reads any more is taken again."""
        first: dict[Memory, int] = {}
        last: dict[Memory, int] = {}
        for number, op in enumerate(order):
            found = [x.memory for x in op.inputs]
            found += [m for m in (op.written, op.scratch) if m is not None]
            for memory in found:
                if memory.base is Base.WORK:
                    first.setdefault(memory, number)
                    last[memory] = number
        free: list[tuple[int, int]] = []  # (size, at)
        for memory in kept:
            if memory.base is not Base.WORK:
                continue
            memory.at, self.size = self.size, self.size + self._room(memory)
        ends: dict[int, list[Memory]] = {}
        begins: dict[int, list[Memory]] = {}
        for memory, number in first.items():
            if memory not in kept:
                begins.setdefault(number, []).append(memory)
                ends.setdefault(last[memory], []).append(memory)
        for number in range(len(order)):
            for memory in begins.get(number, ()):
                room = self._room(memory)
                fits = min((f for f in free if f[0] >= room), default=None)
                if fits is None or fits[0] > 2 * room:
                    memory.at, self.size = self.size, self.size + room
                    continue
                free.remove(fits)
                memory.at = fits[1]
                if fits[0] > room:
                    free.append((fits[0] - room, fits[1] + room))
            free += [(self._room(memory), memory.at) for memory in ends.get(number, ())]

    def _room(self, memory: Memory) -> int:
        return up(memory.size + self.vector, 16)  # whole vectors are read behind the last value

    def constants(self) -> Tensor:
        """Return the constants as the kernel reads them."""
        found = torch.zeros(self._length + self.vector, dtype=self.dtype)
        at = 0
        for value in self._constants:
            found[at : at + len(value)] = value
            at += up(len(value), self.vector)
        return found


def _padded(values: Sequence[int], length: int, by: int) -> tuple[int, ...]:
    return (*([by] * (length - len(values))), *values)


def _merged(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[list[int], list[list[int]]]:
    """Dimensions with those merged that lie as one in every operand; those of size 1 are gone."""
    sizes: list[int] = []
    found: list[list[int]] = [[] for _ in strides]
    for dim in range(len(shape)):
        size = shape[dim]
        if size == 1:
            continue
        here = [s[dim] for s in strides]
        if sizes and all(f[-1] == h * size for f, h in zip(found, here, strict=True)):
            sizes[-1] *= size
            for f, h in zip(found, here, strict=True):
                f[-1] = h
        else:
            sizes.append(size)
            for f, h in zip(found, here, strict=True):
                f.append(h)
    return sizes, found


def _mapped(function: Function, out: Operand, inputs: Sequence[Operand], real: float) -> _Operation:
    wide = [x.expanded(out.shape) for x in inputs]
    sizes, strides = _merged(out.shape, [out.strides, *(x.strides for x in wide)])
    if len(sizes) > RANK:
        raise UnsupportedError(f"an operation over {len(sizes)} dimensions")
    dims = _padded(sizes, RANK, 1)
    # A run of a single value has the stride of contiguous ones.
    told = tuple(_padded(s, RANK, 0) if s else (0, 0, 0, 1) for s in strides)
    return _Operation(Kind.MAP, function, dims, out, tuple(wide), told, real)


def _encoded(op: _Operation) -> list[int]:
    scratch = 0 if op.scratch is None else op.scratch.at
    row = [int(op.kind), int(op.function), len(op.inputs), scratch, *op.dims]
    operands = [op.out, *op.inputs]
    for k in range(4):
        operand = operands[k] if k < len(operands) else None
        if operand is None:
            row += [0] * 6
        else:
            at = operand.memory.at + operand.offset
            row += [int(operand.memory.base), at, *op.strides[k]]
    return [*row, int(np.float64(op.real).view(np.int64))]
