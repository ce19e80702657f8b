"""PyTorch's operations as those of a program: one function each, by the operation's name.

Each takes the program, the result that PyTorch gave for the example, and PyTorch's arguments with
operands in place of tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor

from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.loss_operation import Function, Operand, row_major
from netsim.backends.native.loss_program import Program

OPERATIONS: dict[str, Callable[..., Any]] = {}
"""By name as in `aten.<name>`, with or without the overload."""

Number = int | float | bool


F = TypeVar("F", bound=Callable[..., Any])


def _computes(*names: str) -> Callable[[F], F]:
    def register(function: F) -> F:
        OPERATIONS.update(dict.fromkeys(names, function))
        return function

    return register


def _operand(p: Program, value: Operand | Number) -> Operand:
    return value if isinstance(value, Operand) else p.scalar(float(value))


def view_operand(value: Operand, function: Callable[[Tensor], Any]) -> Any:
    """Views of an operand by a function of tensors; one, or a list of them.

    Raises
    ------
    RuntimeError
        If the values do not lie so that there is such a view.
    """
    size = (
        value.offset + 1 + sum((n - 1) * s for n, s in zip(value.shape, value.strides, strict=True))
    )
    blank = torch.empty(size, device="meta").as_strided(value.shape, value.strides, value.offset)
    found = function(blank)

    def as_operand(t: Tensor) -> Operand:
        if t.untyped_storage()._cdata != blank.untyped_storage()._cdata:
            raise RuntimeError("no view")
        return Operand(value.memory, int(t.storage_offset()), tuple(t.shape), tuple(t.stride()))

    if isinstance(found, Tensor):
        return as_operand(found)
    return [as_operand(t) for t in found]


def _copy(p: Program, value: Operand) -> Operand:
    return p.map(Function.COPY, value.shape, value)


def reshape(p: Program, value: Operand, shape: Sequence[int]) -> Operand:
    """The same values in another shape; a copy where there is no such view.

    Parameters
    ----------
    p : Program
    value : Operand
    shape : sequence of int
    """
    try:
        found: Operand = view_operand(value, lambda t: t.view(tuple(shape)))
        return found
    except RuntimeError:
        whole = _copy(p, value)
        return Operand(whole.memory, 0, tuple(shape), row_major(shape))


@_computes("view", "_unsafe_view", "reshape", "_reshape_alias")
def _view(p: Program, out: Tensor, x: Operand, *_: Any, **keys: Any) -> Operand:
    return reshape(p, x, tuple(out.shape))


def _register_elementwise(name: str, function: Function) -> None:
    OPERATIONS[name] = lambda p, out, *inputs: p.map(
        function, out.shape, *(_operand(p, x) for x in inputs)
    )


for _name, _function in {
    "mul": Function.TIMES,
    "exp": Function.EXP,
    "log": Function.LOG,
    "sqrt": Function.SQRT,
    "tanh": Function.TANH,
    "abs": Function.ABS,
    "sign": Function.SIGN,
    "sgn": Function.SIGN,
    "eq": Function.EQUAL,
    "ne": Function.UNEQUAL,
    "lt": Function.LESS,
    "le": Function.LESS_EQUAL,
    "maximum": Function.MAXIMUM,
    "minimum": Function.MINIMUM,
    "where": Function.WHERE,
    "copy": Function.COPY,
}.items():
    _register_elementwise(_name, _function)


@_computes("gt")
def _greater(p: Program, out: Tensor, a: Any, b: Any) -> Operand:
    return p.map(Function.LESS, out.shape, _operand(p, b), _operand(p, a))


@_computes("ge")
def _at_least(p: Program, out: Tensor, a: Any, b: Any) -> Operand:
    return p.map(Function.LESS_EQUAL, out.shape, _operand(p, b), _operand(p, a))


@_computes("add")
def _add(p: Program, out: Tensor, a: Any, b: Any, alpha: Number = 1) -> Operand:
    a, b = _operand(p, a), _operand(p, b)
    if alpha == 1:
        return p.map(Function.PLUS, out.shape, a, b)
    return p.map(Function.PLUS_TIMES, out.shape, a, b, real=float(alpha))


@_computes("sub")
def _subtract(p: Program, out: Tensor, a: Any, b: Any, alpha: Number = 1) -> Operand:
    if alpha == 1:
        return p.map(Function.MINUS, out.shape, _operand(p, a), _operand(p, b))
    return _add(p, out, a, b, -alpha)


@_computes("rsub")
def _reverse_subtract(p: Program, out: Tensor, a: Any, b: Any, alpha: Number = 1) -> Operand:
    return _subtract(p, out, b, a, alpha)


@_computes("div")
def _divide(p: Program, out: Tensor, a: Any, b: Any, rounding_mode: Any = None) -> Operand:
    if rounding_mode is not None:
        raise UnsupportedError("a division that rounds")
    return p.map(Function.OVER, out.shape, _operand(p, a), _operand(p, b))


@_computes("neg")
def _negative(p: Program, out: Tensor, x: Operand) -> Operand:
    return p.map(Function.SCALED, out.shape, x, real=-1.0)


@_computes("reciprocal")
def _reciprocal(p: Program, out: Tensor, x: Operand) -> Operand:
    return p.map(Function.OVER, out.shape, p.scalar(1.0), x)


@_computes("rsqrt")
def _inverse_root(p: Program, out: Tensor, x: Operand) -> Operand:
    return _reciprocal(p, out, p.map(Function.SQRT, out.shape, x))


@_computes("sigmoid")
def _sigmoid(p: Program, out: Tensor, x: Operand) -> Operand:
    powers = p.map(Function.EXP, out.shape, _negative(p, out, x))
    return _reciprocal(p, out, p.map(Function.PLUS, out.shape, powers, p.scalar(1.0)))


@_computes("pow")
def _power(p: Program, out: Tensor, x: Any, exponent: Any) -> Operand:
    if not isinstance(x, Operand) or isinstance(exponent, Operand):
        raise UnsupportedError("a power whose exponent is a tensor")
    if exponent == 2:
        return p.map(Function.TIMES, out.shape, x, x)
    if exponent == 1:
        return p.map(Function.COPY, out.shape, x)
    if exponent == 0.5:
        return p.map(Function.SQRT, out.shape, x)
    return p.map(Function.POWER, out.shape, x, real=float(exponent))


@_computes("relu")
def _relu(p: Program, out: Tensor, x: Operand) -> Operand:
    return p.map(Function.MAXIMUM, out.shape, x, p.scalar(0.0))


@_computes("threshold_backward")
def _behind_relu(p: Program, out: Tensor, gradient: Operand, x: Operand, most: Any) -> Operand:
    flat = p.map(Function.LESS_EQUAL, out.shape, x, _operand(p, most))
    return p.map(Function.WHERE, out.shape, flat, p.scalar(0.0), gradient)


@_computes("tanh_backward")
def _behind_tanh(p: Program, out: Tensor, gradient: Operand, y: Operand) -> Operand:
    square = p.map(Function.TIMES, out.shape, y, y)
    slope = p.map(Function.MINUS, out.shape, p.scalar(1.0), square)
    return p.map(Function.TIMES, out.shape, gradient, slope)


@_computes("sigmoid_backward")
def _behind_sigmoid(p: Program, out: Tensor, gradient: Operand, y: Operand) -> Operand:
    rest = p.map(Function.MINUS, out.shape, p.scalar(1.0), y)
    slope = p.map(Function.TIMES, out.shape, y, rest)
    return p.map(Function.TIMES, out.shape, gradient, slope)


@_computes("clamp", "clamp_min", "clamp_max")
def _clamp(p: Program, out: Tensor, x: Operand, min: Any = None, max: Any = None) -> Operand:
    if min is not None:
        x = p.map(Function.MAXIMUM, out.shape, x, _operand(p, min))
    if max is not None:
        x = p.map(Function.MINIMUM, out.shape, x, _operand(p, max))
    return x


OPERATIONS["clamp_max"] = lambda p, out, x, most: _clamp(p, out, x, None, most)


@_computes("logical_not", "bitwise_not")
def _not(p: Program, out: Tensor, x: Operand) -> Operand:
    _require_logical(out)
    return p.map(Function.EQUAL, out.shape, x, p.scalar(0.0))


@_computes("bitwise_and", "logical_and")
def _and(p: Program, out: Tensor, a: Any, b: Any) -> Operand:
    _require_logical(out)
    both = (p.map(Function.UNEQUAL, x.shape, x, p.scalar(0.0)) for x in (a, b))
    return p.map(Function.TIMES, out.shape, *both)


@_computes("bitwise_or", "logical_or")
def _or(p: Program, out: Tensor, a: Any, b: Any) -> Operand:
    _require_logical(out)
    both = (p.map(Function.UNEQUAL, x.shape, x, p.scalar(0.0)) for x in (a, b))
    return p.map(Function.MAXIMUM, out.shape, *both)


def _require_logical(out: Tensor) -> None:
    if out.dtype != torch.bool:
        raise UnsupportedError("bits of whole numbers")


@_computes("masked_fill")
def _masked_fill(p: Program, out: Tensor, x: Operand, mask: Operand, value: Any) -> Operand:
    return p.map(Function.WHERE, out.shape, mask, _operand(p, value), x)


@_computes("_to_copy")
def _convert(p: Program, out: Tensor, x: Operand, **keys: Any) -> Operand:
    return x  # types are checked for every result


@_computes("clone")
def _clone(p: Program, out: Tensor, x: Operand, **keys: Any) -> Operand:
    return _copy(p, x)


@_computes("sum")
def _sum(
    p: Program, out: Tensor, x: Operand, dim: Any = None, keepdim: bool = False, **keys: Any
) -> Operand:
    if not x.shape:
        return _copy(p, x)
    dims = _dims(x, dim)
    return p.reduce(Function.PLUS, x, dims, keepdim)


@_computes("mean")
def _mean(
    p: Program, out: Tensor, x: Operand, dim: Any = None, keepdim: bool = False, **keys: Any
) -> Operand:
    count = math.prod(x.shape) / max(1, math.prod(out.shape))
    total = _sum(p, out, x, dim, keepdim)
    return p.map(Function.OVER, out.shape, total, p.scalar(count))


@_computes("amax")
def _largest(
    p: Program, out: Tensor, x: Operand, dim: Any = None, keepdim: bool = False
) -> Operand:
    return p.reduce(Function.MAXIMUM, x, _dims(x, dim), keepdim) if x.shape else _copy(p, x)


def _dims(x: Operand, dim: Any) -> list[int]:
    if dim is None or dim == []:
        return list(range(len(x.shape)))
    return [dim] if isinstance(dim, int) else list(dim)


@_computes("linalg_vector_norm")
def _norm(
    p: Program, out: Tensor, x: Operand, ord: Any = 2, dim: Any = None, keepdim: bool = False,
    **keys: Any,
) -> Operand:  # fmt: skip
    if ord not in (1, 2):
        raise UnsupportedError(f"a norm of order {ord}")
    if ord == 1:
        return _sum(p, out, p.map(Function.ABS, x.shape, x), dim, keepdim)
    squares = p.map(Function.TIMES, x.shape, x, x)
    return p.map(Function.SQRT, out.shape, _sum(p, out, squares, dim, keepdim))


@_computes("norm")
def _old_norm(p: Program, out: Tensor, x: Operand, power: Any = 2, *rest: Any) -> Operand:
    return _norm(p, out, x, 2 if power is None else power, *rest)


@_computes("logsumexp")
def _log_sum(p: Program, out: Tensor, x: Operand, dim: Any, keepdim: bool = False) -> Operand:
    top = p.reduce(Function.MAXIMUM, x, _dims(x, dim), True)
    size = p.map(Function.ABS, top.shape, top)
    infinite = p.map(Function.EQUAL, top.shape, size, p.scalar(math.inf))
    top = p.map(Function.WHERE, top.shape, infinite, p.scalar(0.0), top)
    powers = p.map(Function.EXP, x.shape, p.map(Function.MINUS, x.shape, x, top))
    total = p.reduce(Function.PLUS, powers, _dims(x, dim), True)
    found = p.map(Function.PLUS, top.shape, p.map(Function.LOG, top.shape, total), top)
    return reshape(p, found, tuple(out.shape))


@_computes("_log_softmax")
def _log_softmax(p: Program, out: Tensor, x: Operand, dim: int, half: bool) -> Operand:
    top = p.reduce(Function.MAXIMUM, x, [dim], True)
    shifted = p.map(Function.MINUS, x.shape, x, top)
    total = p.reduce(Function.PLUS, p.map(Function.EXP, x.shape, shifted), [dim], True)
    return p.map(Function.MINUS, x.shape, shifted, p.map(Function.LOG, total.shape, total))


@_computes("_log_softmax_backward_data")
def _behind_log_softmax(
    p: Program, out: Tensor, gradient: Operand, y: Operand, dim: int, dtype: Any
) -> Operand:
    total = p.reduce(Function.PLUS, gradient.expanded(y.shape), [dim], True)
    share = p.map(Function.TIMES, y.shape, p.map(Function.EXP, y.shape, y), total)
    return p.map(Function.MINUS, y.shape, gradient, share)


@_computes("_softmax")
def _softmax(p: Program, out: Tensor, x: Operand, dim: int, half: bool) -> Operand:
    top = p.reduce(Function.MAXIMUM, x, [dim], True)
    powers = p.map(Function.EXP, x.shape, p.map(Function.MINUS, x.shape, x, top))
    return p.map(Function.OVER, x.shape, powers, p.reduce(Function.PLUS, powers, [dim], True))


@_computes("_softmax_backward_data")
def _behind_softmax(
    p: Program, out: Tensor, gradient: Operand, y: Operand, dim: int, dtype: Any
) -> Operand:
    weighted = p.map(Function.TIMES, y.shape, gradient, y)
    total = p.reduce(Function.PLUS, weighted, [dim], True)
    return p.map(Function.MINUS, y.shape, weighted, p.map(Function.TIMES, y.shape, y, total))


def _of_classes(p: Program, labels: Operand, classes: int, weight: Any, ignored: int) -> Operand:
    """One where the class is the label's, unless that is ignored, (n, C)."""
    if weight is not None or len(labels.shape) != 1:
        raise UnsupportedError("weights of classes, or labels of more than one dimension")
    numbers = torch.arange(classes)
    if 0 <= ignored < classes:
        numbers[ignored] = -1  # which no label is that `check` lets pass
    column = Operand(labels.memory, labels.offset, (*labels.shape, 1), (*labels.strides, 0))
    return p.map(Function.EQUAL, (labels.shape[0], classes), column, p.constant(numbers))


def _count_labels(p: Program, labels: Operand, ignored: int) -> Operand:
    counts = p.map(Function.UNEQUAL, labels.shape, labels, p.scalar(float(ignored)))
    return p.reduce(Function.PLUS, counts, [0], False)


@_computes("nll_loss_forward")
def _nll(
    p: Program, out: Any, x: Operand, y: Operand, weight: Any, reduction: int, ignored: int
) -> list[Operand]:
    if reduction not in (1, 2):
        raise UnsupportedError("a negative log-likelihood a sample")
    p.check(y, x.shape[1], float(ignored))
    own = _of_classes(p, y, x.shape[1], weight, ignored)
    chosen = p.map(Function.WHERE, x.shape, own, x, p.scalar(0.0))
    total = p.map(Function.SCALED, (), p.reduce(Function.PLUS, chosen, [0, 1], False), real=-1.0)
    count = _count_labels(p, y, ignored)
    return [p.map(Function.OVER, (), total, count) if reduction == 1 else total, count]


@_computes("nll_loss_backward")
def _behind_nll(
    p: Program, out: Tensor, gradient: Operand, x: Operand, y: Operand, weight: Any,
    reduction: int, ignored: int, total_weight: Operand,
) -> Operand:  # fmt: skip
    if reduction not in (1, 2):
        raise UnsupportedError("a negative log-likelihood a sample")
    each = p.map(Function.SCALED, (), gradient, real=-1.0)
    if reduction == 1:
        each = p.map(Function.OVER, (), each, total_weight)
    own = _of_classes(p, y, x.shape[1], weight, ignored)
    return p.map(Function.WHERE, x.shape, own, each, p.scalar(0.0))


@_computes("mse_loss")
def _mse(p: Program, out: Tensor, a: Operand, b: Operand, reduction: int = 1) -> Operand:
    apart = p.map(Function.MINUS, a.shape, a, b)
    squares = p.map(Function.TIMES, a.shape, apart, apart)
    if reduction == 0:
        return squares
    return (_mean if reduction == 1 else _sum)(p, out, squares)


@_computes("mse_loss_backward")
def _behind_mse(
    p: Program, out: Tensor, gradient: Operand, a: Operand, b: Operand, reduction: int
) -> Operand:
    apart = p.map(Function.MINUS, a.shape, a, b)
    factor = 2.0 / math.prod(a.shape) if reduction == 1 else 2.0
    return p.map(
        Function.TIMES, a.shape, p.map(Function.SCALED, a.shape, apart, real=factor), gradient
    )


@_computes("xlogy")
def _times_log(p: Program, out: Tensor, x: Any, y: Any) -> Operand:
    x, y = _operand(p, x), _operand(p, y)
    product = p.map(Function.TIMES, out.shape, x, p.map(Function.LOG, y.shape, y))
    nothing = p.map(Function.EQUAL, x.shape, x, p.scalar(0.0))
    return p.map(Function.WHERE, out.shape, nothing, p.scalar(0.0), product)


@_computes("mm", "bmm")
def _products(p: Program, out: Tensor, a: Operand, b: Operand) -> Operand:
    return p.multiply(a, b)


@_computes("addmm")
def _sum_and_products(
    p: Program, out: Tensor, x: Operand, a: Operand, b: Operand, beta: Any = 1, alpha: Any = 1
) -> Operand:
    product = p.multiply(a, b)
    if beta != 1:
        x = p.map(Function.SCALED, x.shape, x, real=float(beta))
    if alpha != 1:
        product = p.map(Function.SCALED, out.shape, product, real=float(alpha))
    return p.map(Function.PLUS, out.shape, x, product)


@_computes("mv")
def _matrix_by_vector(p: Program, out: Tensor, a: Operand, b: Operand) -> Operand:
    return p.reduce(Function.PLUS, p.map(Function.TIMES, a.shape, a, b), [1], False)


@_computes("dot")
def _dot(p: Program, out: Tensor, a: Operand, b: Operand) -> Operand:
    return p.reduce(Function.PLUS, p.map(Function.TIMES, a.shape, a, b), [0], False)


@_computes("cat")
def _side_by_side(p: Program, out: Tensor, parts: Sequence[Operand], dim: int = 0) -> Operand:
    if dim in (0, -out.dim()) and all(part.is_contiguous for part in parts):
        row = p.row(parts)
        return Operand(row.memory, row.offset, tuple(out.shape), row_major(out.shape))
    whole, at = p.allocate(out.shape), 0
    for part in parts:
        length = part.shape[dim]
        place = view_operand(whole, partial(torch.narrow, dim=dim, start=at, length=length))
        p.map(Function.COPY, part.shape, part, out=place)
        at += length
    return whole


@_computes("stack")
def _stack(p: Program, out: Tensor, parts: Sequence[Operand], dim: int = 0) -> Operand:
    whole = p.allocate(out.shape)
    for number, part in enumerate(parts):
        place = view_operand(whole, partial(torch.select, dim=dim, index=number))
        p.map(Function.COPY, part.shape, part, out=place)
    return whole


@_computes("repeat")
def _repeat(p: Program, out: Tensor, x: Operand, repeats: Sequence[int]) -> Operand:
    shape = (*([1] * (len(repeats) - len(x.shape))), *x.shape)
    apart = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    whole = p.allocate(out.shape)
    place = view_operand(whole, lambda t: t.view(apart))
    source = reshape(p, x, [n for size in shape for n in (1, size)])
    p.map(Function.COPY, apart, source, out=place)
    return whole


@_computes("slice_backward")
def _behind_slice(
    p: Program, out: Tensor, gradient: Operand, sizes: Any, dim: int, *bounds: int
) -> Operand:
    return _put_into_zeros(p, out, gradient, lambda t: torch.ops.aten.slice(t, dim, *bounds))


@_computes("select_backward")
def _behind_select(
    p: Program, out: Tensor, gradient: Operand, sizes: Any, dim: int, index: int
) -> Operand:
    return _put_into_zeros(p, out, gradient, lambda t: t.select(dim, index))


def _put_into_zeros(
    p: Program, out: Tensor, gradient: Operand, where: Callable[[Tensor], Tensor]
) -> Operand:
    whole = p.allocate(out.shape)
    p.map(Function.COPY, out.shape, p.scalar(0.0), out=whole)
    place = view_operand(whole, where)
    p.map(Function.COPY, place.shape, gradient, out=place)
    return whole


@_computes("index_select")
def _rows(p: Program, out: Tensor, table: Operand, dim: int, which: Operand) -> Operand:
    if dim or len(table.shape) != 2:
        raise UnsupportedError("rows of a tensor that is no matrix")
    return p.rows(table, which)


@_computes("index")
def _index(p: Program, out: Tensor, table: Operand, which: Sequence[Any]) -> Operand:
    if len(which) != 1 or len(table.shape) != 2 or len(which[0].shape) != 1:
        raise UnsupportedError("an index that is no list of rows")
    return p.rows(table, _from_the_front(p, which[0], table.shape[0]))


def _from_the_front(p: Program, which: Operand, rows: int) -> Operand:
    """Numbers of rows, of which PyTorch counts negative ones from the end."""
    negative = p.map(Function.LESS, which.shape, which, p.scalar(0.0))
    return p.map(Function.PLUS_TIMES, which.shape, which, negative, real=float(rows))


@_computes("index_put", "_unsafe_index_put")
def _index_put(
    p: Program, out: Tensor, x: Operand, which: Sequence[Any], values: Operand, adds: bool = False
) -> Operand:
    if len(which) != 1 or len(x.shape) != 2 or len(which[0].shape) != 1 or not adds:
        raise UnsupportedError("an index that is no list of rows")
    return _add_rows(p, x, _from_the_front(p, which[0], x.shape[0]), values)


def _add_rows(p: Program, x: Operand, number: Operand, values: Operand) -> Operand:
    rows = p.add_rows(values.expanded((number.shape[0], x.shape[1])), number, x.shape[0])
    return p.map(Function.PLUS, x.shape, x, rows)


@_computes("index_add")
def _rows_added(
    p: Program, out: Tensor, x: Operand, dim: int, which: Operand, values: Operand,
    alpha: Number = 1,
) -> Operand:  # fmt: skip
    if dim or alpha != 1 or len(x.shape) != 2:
        raise UnsupportedError("columns added by number")
    return _add_rows(p, x, which, values)


@_computes("embedding")
def _embedding(p: Program, out: Tensor, table: Operand, which: Operand, *_: Any) -> Operand:
    return _index(p, out, table, [which])


@_computes("gather")
def _gather(p: Program, out: Tensor, x: Operand, dim: int, which: Operand) -> Operand:
    number = _numbers_of_one(p, x.shape, dim, which)
    flat = reshape(p, x, (math.prod(x.shape), 1))
    return reshape(p, p.rows(flat, number), tuple(out.shape))


@_computes("scatter_add")
def _scatter(
    p: Program, out: Tensor, x: Operand, dim: int, which: Operand, values: Operand
) -> Operand:
    number = _numbers_of_one(p, x.shape, dim, which)
    rows = p.add_rows(reshape(p, values, (number.shape[0], 1)), number, math.prod(x.shape))
    return p.map(Function.PLUS, out.shape, x, reshape(p, rows, x.shape))


def _numbers_of_one(p: Program, shape: Sequence[int], dim: int, which: Operand) -> Operand:
    """Numbers of one value in each row of a matrix, as if it lay in one row."""
    if len(shape) != 2 or dim % 2 != 1 or which.shape != (shape[0], 1):
        raise UnsupportedError("values by number that are not one a row")
    p.check(reshape(p, which, (shape[0],)), shape[1], 0.0)
    begins = p.constant(torch.arange(shape[0]) * shape[1])
    return p.map(Function.PLUS, (shape[0],), reshape(p, which, (shape[0],)), begins)
