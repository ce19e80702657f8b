"""Batch-invariant operations under `vmap`: bits do not depend on a lane's position or company.

A CPU's matrix product takes another path, with other bits, where a matrix does not start at an
aligned address. `vmap` puts the matrices of its lanes one behind the other, at any address; here
each of them is copied to an aligned one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from netsim.backends.stacked.alignment import ALIGNMENT_BYTES, aligned_empty


class _Product(torch.autograd.Function):
    """The product of two matrices; its derivatives are such products again."""

    @staticmethod
    def forward(a: Tensor, b: Tensor) -> Tensor:
        return torch.mm(a, b)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        a, b = ctx.saved_tensors
        needed = ctx.needs_input_grad
        return (
            _product(gradient, b.mT) if needed[0] else None,
            _product(a.mT, gradient) if needed[1] else None,
        )

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[int | None], a: Tensor, b: Tensor) -> tuple[Tensor, int]:
        return _multiply(*_lanes(info.batch_size, in_dims, a, b)), 0


class _Linear(torch.autograd.Function):
    """The product with a transposed matrix, whose gradient has the layout of the matrix."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor) -> Tensor:
        return torch.mm(x, weight.mT)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        needed = ctx.needs_input_grad
        return (
            _product(gradient, weight) if needed[0] else None,
            _product(gradient.mT, x) if needed[1] else None,
        )

    @staticmethod
    def vmap(
        info: Any, in_dims: Sequence[int | None], x: Tensor, weight: Tensor
    ) -> tuple[Tensor, int]:
        a, b = _lanes(info.batch_size, in_dims, x, weight)
        return _multiply(a, b.mT), 0


def _lanes(width: int, dims: Sequence[int | None], *matrices: Tensor) -> list[Tensor]:
    """Each matrix with a copy per lane, (W, rows, columns), at aligned addresses."""
    return [
        _at_aligned(x.expand(width, *x.shape) if d is None else x.movedim(d, 0))
        for x, d in zip(matrices, dims, strict=True)
    ]


def _multiply(a: Tensor, b: Tensor) -> Tensor:
    return aligned_empty(a, b.shape[2]).baddbmm_(a, b, beta=0)


def _product(a: Tensor, b: Tensor) -> Tensor:
    result: Tensor = _Product.apply(a, b)  # type: ignore[no-untyped-call]
    return result


def _at_aligned(x: Tensor) -> Tensor:
    """Matrices (W, rows, columns) at aligned addresses; copied only where they are not."""
    if 1 not in x.stride()[1:]:
        return aligned_empty(x, x.shape[2]).copy_(x)
    if x.stride(0) * x.element_size() % ALIGNMENT_BYTES == 0:
        return x
    if x.stride(2) == 1:
        return aligned_empty(x, x.shape[2]).copy_(x)
    transposed = x.mT
    return aligned_empty(transposed, transposed.shape[2]).copy_(transposed).mT


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    flat: Tensor = _Linear.apply(x.reshape(-1, x.shape[-1]), weight)  # type: ignore[no-untyped-call]
    y = flat.view(*x.shape[:-1], len(weight))
    return y if bias is None else y + bias


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum()


def _batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Batch normalisation of one lane, as `torch.nn.functional.batch_norm` with `training=True`.

    Torch's own rule for `vmap` puts the channels of all lanes side by side, and the last bits then
    depend on how many lanes there are.
    """
    n = x[:, 0].numel()
    over, shape = [0, *range(2, x.dim())], (1, -1, *[1] * (x.dim() - 2))
    mean = x.mean(over)
    centred = x - mean.view(shape)
    variance = centred.square().mean(over)
    for running, found in ((running_mean, mean), (running_var, variance * (n / (n - 1)))):
        if running is not None:
            running.mul_(1 - momentum).add_(found.detach(), alpha=momentum)
    y = centred * torch.rsqrt(variance + eps).view(shape)
    if weight is not None:
        y = y * weight.view(shape)
    return y if bias is None else y + bias.view(shape)


def _is_of_batches(
    x: Tensor,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float | None = 0.1,
    eps: float = 1e-5,
) -> bool:
    """Return whether batch statistics are used, of a batch that torch does not refuse."""
    return training and momentum is not None and x[:, 0].numel() > 1


_OF_MATRICES: tuple[Callable[..., Any], ...] = (
    torch.mm,
    Tensor.mm,
    torch.matmul,
    Tensor.matmul,
    Tensor.__matmul__,
)
_OF_VECTORS: tuple[Callable[..., Any], ...] = (torch.dot, Tensor.dot)


class BatchInvariant(TorchFunctionMode):
    """A context in which products and batch statistics are batch-invariant under `vmap`."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        keys = kwargs or {}
        if func is F.linear:
            return _linear(*args, **keys)
        if func is F.batch_norm and _is_of_batches(*args, **keys):
            return _batch_norm(*args, **keys)
        if not kwargs and len(args) == 2:
            if func in _OF_VECTORS:
                return _dot(*args)
            if func in _OF_MATRICES and args[0].dim() == args[1].dim() == 2:
                return _product(*args)
        return func(*args, **keys)
