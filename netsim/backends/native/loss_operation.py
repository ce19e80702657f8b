"""Operations of a loss's program, and the strided views that they read and write.

Which operations there are is said in `src/loss_program.h`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from netsim.backends.native.graph import UnsupportedError

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
class Operation:
    """One operation; what `dims` are is said in `src/loss_program.h`."""

    kind: Kind
    function: int
    dims: tuple[int, ...]
    out: Operand | None
    inputs: tuple[Operand, ...]
    strides: tuple[tuple[int, ...], ...]
    real: float = 0.0
    scratch: Memory | None = None
    stays: bool = False
    """Set where it is needed even if nobody reads what it writes."""

    @property
    def written_memory(self) -> Memory | None:
        return None if self.out is None else self.out.memory


def pad_front(values: Sequence[int], length: int, by: int) -> tuple[int, ...]:
    """Numbers with others before them, so many that there are `length`.

    Parameters
    ----------
    values : sequence of int
    length : int
    by : int
        The other number.
    """
    return (*([by] * (length - len(values))), *values)


def merge_dimensions(
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


def elementwise(
    function: Function, out: Operand, inputs: Sequence[Operand], real: float
) -> Operation:
    """A function of each value.

    Parameters
    ----------
    function : Function
    out : Operand
        Where the results go.
    inputs : sequence of Operand
        Broadcast to the same shape.
    real : float
        Constant of the function.

    Raises
    ------
    UnsupportedError
        If the dimensions are too many.
    """
    wide = [x.expanded(out.shape) for x in inputs]
    sizes, strides = merge_dimensions(out.shape, [out.strides, *(x.strides for x in wide)])
    if len(sizes) > RANK:
        raise UnsupportedError(f"an operation over {len(sizes)} dimensions")
    dims = pad_front(sizes, RANK, 1)
    # A run of a single value has the stride of contiguous ones.
    padded_strides = tuple(pad_front(s, RANK, 0) if s else (0, 0, 0, 1) for s in strides)
    return Operation(Kind.MAP, function, dims, out, tuple(wide), padded_strides, real)


def encode_operation(op: Operation, chain: int = 1) -> list[int]:
    """An operation as the kernel reads it.

    Parameters
    ----------
    op : Operation
    chain : int
        How many operations run as one, of which it may be the first.
    """
    scratch = chain if op.kind is Kind.MAP else 0 if op.scratch is None else op.scratch.at
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
