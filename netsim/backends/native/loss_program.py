"""Programs of small tensor operations, by which the kernel computes a loss of a method's own.

A program reads what the layers export, labels, parameters and values that a job is given, and ends
with gradients. Its operands are strided views, so that what PyTorch does by views costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.loss_operation import (
    PANEL_ROWS,
    PANEL_VECTORS,
    RANK,
    Base,
    Function,
    Kind,
    Memory,
    Operand,
    Operation,
    elementwise,
    encode_operation,
    merge_dimensions,
    pad_front,
    row_major,
)
from netsim.backends.native.loss_schedule import (
    group_chains,
    needed_operations,
    place_memories,
    shrink_to_chunks,
)
from netsim.backends.native.packing import round_up


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
    _operations: list[Operation] = field(default_factory=list)
    _after: list[Operation] = field(default_factory=list)
    _constants: list[Tensor] = field(default_factory=list)
    _length: int = 0
    _scalars: dict[bytes, Operand] = field(default_factory=dict)
    _copies: dict[Memory, Operand] = field(default_factory=dict)
    _products: dict[Memory, Sequence[Operand]] = field(default_factory=dict)

    def allocate(self, shape: Sequence[int]) -> Operand:
        """Allocate room in the workspace."""
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
        self._length += round_up(value.numel(), self.vector)
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
        result = self.allocate(shape) if out is None else out
        if function is Function.COPY:
            if out is None:
                self._copies[result.memory] = inputs[0].expanded(shape)
            else:
                result, inputs = self._of_original(result, inputs[0])
        elif function is Function.TIMES and out is None:
            self._products[result.memory] = [x.expanded(shape) for x in inputs]
        self._operations.append(elementwise(function, result, inputs, real))
        return result if out is None else out

    def _of_original(self, out: Operand, value: Operand) -> tuple[Operand, tuple[Operand, ...]]:
        """A copy's place and source: that of which the values are a copy already."""
        original = self._copies.get(value.memory)
        is_whole = math.prod(value.shape) == value.memory.size and value.is_contiguous
        if original is None or not (is_whole and out.is_contiguous):
            return out, (value,)
        shape = original.shape
        place = Operand(out.memory, out.offset, shape, row_major(shape))
        if len(merge_dimensions(shape, [place.strides, original.strides])[0]) > RANK:
            return out, (value,)
        return place, (original,)

    def add_to_gradient(self, gradient: Operand, value: Operand) -> None:
        """Add to the gradient of parameters, when the layers have written theirs."""
        operation = elementwise(Function.PLUS, gradient, (gradient, value), 0.0)
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
        whole = self.allocate([value.shape[d] for d in kept])
        for kind, values in self._summands(function, value):
            one, outer = merge_dimensions(
                [value.shape[d] for d in kept],
                [whole.strides, *([v.strides[d] for d in kept] for v in values)],
            )
            two, inner = merge_dimensions(
                [value.shape[d] for d in over], [[v.strides[d] for d in over] for v in values]
            )
            lies = kind is not Function.TIMES or all(s and s[-1] in (0, 1) for s in inner)
            if lies and len(one) <= 2 and len(two) <= 2:
                break
        else:
            raise UnsupportedError("a sum over dimensions that do not lie side by side")
        sizes = pad_front(one, 2, 1) + pad_front(two, 2, 1)
        into = (*pad_front(outer[0], 2, 0), 0, 0)
        strides = [
            pad_front(a, 2, 0) + pad_front(b, 2, 0) for a, b in zip(outer[1:], inner, strict=True)
        ]
        self._operations.append(
            Operation(Kind.REDUCE, kind, sizes, whole, tuple(values), (into, *strides))
        )
        if not keep:
            return whole
        shape = tuple(1 if d in over else size for d, size in enumerate(value.shape))
        return Operand(whole.memory, 0, shape, row_major(shape))

    def _summands(
        self, function: Function, value: Operand
    ) -> list[tuple[Function, Sequence[Operand]]]:
        """Summands of a sum: the factors of products, if values are that, or the values."""
        found: list[tuple[Function, Sequence[Operand]]] = [(function, [value])]
        factors = self._products.get(value.memory) if function is Function.PLUS else None
        if factors and factors[0].shape == value.shape and value.is_contiguous:
            found.insert(0, (Function.TIMES, factors))
        return found

    def multiply(self, a: Operand, b: Operand) -> Operand:
        """Products of matrices, (..., m, k) by (..., k, n)."""
        if len(a.shape) == 2:
            a, b = (Operand(x.memory, x.offset, (1, *x.shape), (0, *x.strides)) for x in (a, b))
            result = self.multiply(a, b)
            return Operand(result.memory, 0, result.shape[1:], result.strides[1:])
        batch, rows, inner = a.shape
        columns = b.shape[2]
        out = self.allocate((batch, rows, columns))
        panel = inner * (PANEL_ROWS + PANEL_VECTORS * self.vector)
        dims = (batch, rows, columns, inner)
        strides = tuple((*x.strides, 0) for x in (out, a, b))
        self._operations.append(
            Operation(
                Kind.MULTIPLY, 0, dims, out, (a, b), strides, scratch=Memory(Base.WORK, panel)
            )
        )
        return out

    def rows(self, table: Operand, which: Operand) -> Operand:
        """Rows (n, k) of a matrix (m, k) by number (n,)."""
        out = self.allocate((which.shape[0], table.shape[1]))
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
        out = self.allocate((count, values.shape[1]))
        self._rows(Function.PLUS, out, values, which, count)
        return out

    def _rows(
        self, function: Function, out: Operand, values: Operand, which: Operand, count: int
    ) -> None:
        dims = (which.shape[0], values.shape[1], count, 1)
        strides = ((0,) * 4, (*values.strides, 0, 0), (*which.strides, 0, 0, 0))
        self._operations.append(Operation(Kind.ROWS, function, dims, out, (values, which), strides))

    def labels(self, count: int) -> Operand:
        """Labels of the first samples, (count,)."""
        out = self.allocate((count,))
        none = ((0,) * 4,)
        self._operations.append(Operation(Kind.LABELS, 0, (count, 1, 1, 1), out, (), none))
        return out

    def targets(self, shape: Sequence[int]) -> Operand:
        """Targets of the first samples, (count, ...)."""
        out = self.allocate(shape)
        dims = (shape[0], math.prod(shape[1:]), 1, 1)
        self._operations.append(Operation(Kind.TARGETS, 0, dims, out, (), ((0,) * 4,)))
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
            Operation(Kind.CHECK, 0, dims, None, (labels,), strides, real=ignored)
        )

    def layers(self) -> None:
        """The forward pass of the model's layers, with the job's own parameters."""
        self._operations.append(Operation(Kind.LAYERS, 0, (1,) * 4, None, (), ()))

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
        begin = round_up(math.prod(shape), 16)
        memory = Memory(Base.WORK, begin + packed)
        out = Operand(memory, 0, shape, row_major(shape))
        weights = Operand(memory, begin, (packed,), (1,))
        self._operations.append(
            Operation(
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
        out = self.allocate((length,))
        room = Operand(Memory(Base.WORK, weights.shape[0]), 0, weights.shape, (1,))
        self._operations.append(
            Operation(
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
        whole = self.allocate((sum(math.prod(part.shape) for part in parts),))
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
        outside = list(dict.fromkeys(each.memory for each in kept))
        wanted = {*outside, *(x.memory for op in self._after for x in op.inputs)}
        groups = group_chains(needed_operations(self._operations, wanted))
        shrink_to_chunks(groups, self._after, set(outside))
        self.before = sum(map(len, groups))
        for number, group in enumerate(groups):
            for op in group:
                if op.kind in (Kind.FORWARD, Kind.BACKWARD):
                    first, _ = self.spans.get(op.function, (number, number))
                    self.spans[op.function] = first, number
        groups += [[op] for op in self._after]
        self.size = place_memories(groups, outside, self.vector)
        rows = [encode_operation(op, len(group)) for group in groups for op in group]
        return np.array(rows, dtype=np.int64)

    def constants(self) -> Tensor:
        """Return the constants as the kernel reads them."""
        found = torch.zeros(self._length + self.vector, dtype=self.dtype)
        at = 0
        for value in self._constants:
            found[at : at + len(value)] = value
            at += round_up(len(value), self.vector)
        return found
