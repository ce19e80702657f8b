"""The layers that the kernel knows, each from its module: settings, shapes, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torch import nn

from netsim.backends.native.activations import KNOWN, RELU
from netsim.backends.native.builder import Builder, Samples
from netsim.backends.native.graph import UnsupportedError, Value
from netsim.backends.native.records import Flag, Kind


def activation(builder: Builder, layer: nn.Module, name: str, x: Any) -> Value:
    """A function of each value.

    Parameters
    ----------
    builder : Builder
    layer : torch.nn.Module
        Module that computes it.
    name : str
        Of the layer, for errors.
    x : Value or Samples

    Raises
    ------
    UnsupportedError
        If the kernel has no such activation.
    """
    known = next((a for a in KNOWN if a.matches(layer)), None)
    if known is None:
        raise UnsupportedError(f"{layer} ({name})")
    value = builder.read(x, name)
    kind = Kind.RELU if known is RELU else Kind.ACTIVATION
    settings = {} if known is RELU else {"first": known.number}
    if known.real is not None:
        settings["real1"] = getattr(layer, known.real)
    return builder.layer(kind, (value,), value.shape, settings, {}, name)


def _identity(builder: Builder, layer: Any, name: str, x: Any) -> Any:
    return x


def _flatten(builder: Builder, layer: Any, name: str, x: Any) -> Value:
    return builder.flatten(x, layer.start_dim, layer.end_dim)


def _linear(builder: Builder, layer: Any, name: str, x: Any) -> Value:
    value = builder.dense(x, f"Linear ({name})")
    tensors = builder.tensors(name, weight="weight", bias="bias")
    return builder.layer(Kind.LINEAR, (value,), (layer.out_features,), {}, tensors, name)


def _pair(x: Any) -> tuple[int, int]:
    return (x, x) if isinstance(x, int) else (int(x[0]), int(x[1]))


def _conv(builder: Builder, layer: Any, name: str, x: Any) -> Value:
    value = builder.map(x, f"Conv2d ({name})")
    (kh, kw), (sh, sw) = layer.kernel_size, layer.stride
    if layer.padding_mode != "zeros" or _pair(layer.dilation) != (1, 1):
        raise UnsupportedError(f"Conv2d with dilation or {layer.padding_mode} padding ({name})")
    if layer.padding == "same":
        if not kh % 2 or not kw % 2:
            raise UnsupportedError(f"Conv2d with an even kernel and padding same ({name})")
        ph, pw = kh // 2, kw // 2
    else:
        ph, pw = (0, 0) if layer.padding == "valid" else _pair(layer.padding)
    _, height, width = value.shape
    out = (height + 2 * ph - kh) // sh + 1, (width + 2 * pw - kw) // sw + 1
    if min(out) < 1:
        raise UnsupportedError(f"Conv2d larger than its input ({name})")
    settings = _window((kh, kw), (sh, sw), (ph, pw), out) | {"groups": layer.groups}
    tensors = builder.tensors(name, weight="weight", bias="bias")
    shape = layer.out_channels, *out
    return builder.layer(Kind.CONV, (value,), shape, settings, tensors, name)


def _window(
    kernel: tuple[int, int], stride: tuple[int, int], pad: tuple[int, int], out: tuple[int, int]
) -> dict[str, Any]:
    parts = {"kernel": kernel, "stride": stride, "pad": pad}
    sides = {f"{k}_{s}": v[i] for k, v in parts.items() for i, s in enumerate("hw")}
    return sides | {"out_height": out[0], "out_width": out[1]}


def _pool(builder: Builder, layer: Any, name: str, x: Any) -> Value:
    is_max = isinstance(layer, nn.MaxPool2d)
    value = builder.map(x, f"{type(layer).__name__} ({name})")
    odd = (_pair(layer.dilation) != (1, 1) or layer.return_indices) if is_max else False
    if odd or getattr(layer, "divisor_override", None) is not None:
        raise UnsupportedError(
            f"{type(layer).__name__} with dilation, indices or a divisor ({name})"
        )
    kernel, pad = _pair(layer.kernel_size), _pair(layer.padding)
    stride = _pair(layer.stride)
    out = []
    for side, k, s, p in zip(value.shape[1:], kernel, stride, pad, strict=True):
        spare = side + 2 * p - k
        n = (-(-spare // s) if layer.ceil_mode else spare // s) + 1
        if layer.ceil_mode and (n - 1) * s >= side + p:  # it would begin in the right padding
            n -= 1
        out.append(n)
    if min(out) < 1:
        raise UnsupportedError(f"{type(layer).__name__} larger than its input ({name})")
    settings = _window(kernel, stride, pad, (out[0], out[1]))
    if not is_max and layer.count_include_pad:
        settings["flags"] = Flag.COUNT_PADDING
    kind = Kind.MAX_POOL if is_max else Kind.AVG_POOL
    return builder.layer(kind, (value,), (value.shape[0], *out), settings, {}, name)


def _adaptive_pool(builder: Builder, layer: Any, name: str, x: Any) -> Value:
    value = builder.map(x, f"AdaptiveAvgPool2d ({name})")
    size = layer.output_size
    size = (size, size) if size is None or isinstance(size, int) else size
    out = [side if n is None else n for n, side in zip(size, value.shape[1:], strict=True)]
    settings = {"out_height": out[0], "out_width": out[1], "flags": Flag.ADAPTIVE}
    return builder.layer(Kind.AVG_POOL, (value,), (value.shape[0], *out), settings, {}, name)


def _batch_norm(builder: Builder, layer: Any, name: str, x: Any) -> Value:
    value = builder.read(x, f"{type(layer).__name__} ({name})")
    if layer.momentum is None:
        raise UnsupportedError(f"{type(layer).__name__} with a cumulative mean ({name})")
    if len(value.shape) != (1 if isinstance(layer, nn.BatchNorm1d) else 3):
        raise UnsupportedError(f"{type(layer).__name__} on values of shape {value.shape} ({name})")
    roles = {"weight": "weight", "bias": "bias"}
    tracked = {"running_mean": "running_mean", "running_var": "running_var"}
    tensors = builder.tensors(name, **roles, **tracked)
    own = builder.training or "running_mean" not in tensors
    settings = {
        "flags": Flag.TRAINING if own else Flag(0),
        "real1": layer.eps,
        "real2": layer.momentum if builder.training else 0.0,
    }
    if own and not builder.training:
        raise UnsupportedError(f"{type(layer).__name__} without running statistics ({name})")
    return builder.layer(Kind.BATCH_NORM, (value,), value.shape, settings, tensors, name)


def _group_norm(builder: Builder, layer: Any, name: str, x: Any) -> Value:
    value = builder.read(x, f"{type(layer).__name__} ({name})")
    groups, flags, count = 1, Flag(0), value.shape[0]
    if isinstance(layer, nn.GroupNorm):
        groups = layer.num_groups
        if len(value.shape) == 2:
            raise UnsupportedError(f"GroupNorm on values of shape {value.shape} ({name})")
    else:
        if tuple(layer.normalized_shape) != value.shape or len(value.shape) == 2:
            raise UnsupportedError(f"LayerNorm over a part of {value.shape} ({name})")
        flags, count = Flag.AFFINE_BY_VALUE, value.size
    settings = {"groups": groups, "flags": flags, "real1": layer.eps, "count": count}
    tensors = builder.tensors(name, weight="weight", bias="bias")
    return builder.layer(Kind.GROUP_NORM, (value,), value.shape, settings, tensors, name)


def _dropout(builder: Builder, layer: Any, name: str, x: Any) -> Value:
    value = builder.read(x, f"Dropout ({name})")
    if not builder.training or layer.p == 0:
        return value
    settings = {"first": sum(math.prod(shape) for shape, _ in builder.masks)}
    builder.masks.append((value.shape, layer.p))
    return builder.layer(Kind.DROPOUT, (value,), value.shape, settings, {}, name)


def _embedding(builder: Builder, layer: Any, name: str, x: Any) -> Value:
    if not isinstance(x, Samples):
        raise UnsupportedError(f"Embedding of computed values ({name})")
    if layer.max_norm is not None or layer.scale_grad_by_freq or layer.sparse:
        raise UnsupportedError(
            f"Embedding with max_norm, scale_grad_by_freq or sparse gradients ({name})"
        )
    length = math.prod(builder.input_shape)
    padding = -1 if layer.padding_idx is None else layer.padding_idx
    settings = {
        "channels": length,
        "width": layer.embedding_dim,
        "count": layer.num_embeddings,
        "first": padding,
    }
    tensors = builder.tensors(name, weight="weight")
    shape = (length, layer.embedding_dim)
    return builder.layer(Kind.EMBEDDING, (), shape, settings, tensors, name)


MODULES: dict[type[nn.Module], Callable[[Builder, Any, str, Any], Any]] = {
    nn.Identity: _identity,
    nn.Flatten: _flatten,
    nn.Linear: _linear,
    nn.Conv2d: _conv,
    nn.MaxPool2d: _pool,
    nn.AvgPool2d: _pool,
    nn.AdaptiveAvgPool2d: _adaptive_pool,
    nn.BatchNorm1d: _batch_norm,
    nn.BatchNorm2d: _batch_norm,
    nn.GroupNorm: _group_norm,
    nn.LayerNorm: _group_norm,
    nn.Dropout: _dropout,
    nn.Embedding: _embedding,
    **dict.fromkeys((known.module for known in KNOWN), activation),
}
