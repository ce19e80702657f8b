"""Follows a module's forward pass and writes down its layers, or says what the kernel lacks."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.overrides import TorchFunctionMode

from netsim.backends.native import layers as known
from netsim.backends.native.activations import KNOWN
from netsim.backends.native.builder import Builder
from netsim.backends.native.graph import Graph, Layer, UnsupportedError, Value, slices_of
from netsim.backends.native.records import Kind

Entry = Callable[[nn.Module, Tensor], Any]
"""Entry that is run: outputs of a module and samples, one tensor or several."""


def _call(module: nn.Module, x: Tensor) -> Any:
    return module(x)


class _Entered(nn.Module):
    """A module with a way in: as a part of this one, a layer is followed as any other."""

    def __init__(self, module: nn.Module, entry: Entry) -> None:
        super().__init__()
        self.module = module
        self._entry = entry

    def forward(self, x: Tensor) -> Any:
        return self._entry(self.module, x)


READS = {"item", "tolist", "numpy", "equal", "allclose", "is_nonzero", "__array__", "__contains__"}
READS |= {f"__{kind}__" for kind in ("bool", "int", "float", "index", "complex")}
"""Functions that hand Python a value of a tensor, upon which a forward pass may branch."""


class _NoReads(TorchFunctionMode):
    """Refuses passes that look at values: they may be others at another step."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__name__", "") in READS:
            raise TypeError("it takes values out of tensors")
        return func(*args, **(kwargs or {}))


_TABLES = ("_buffers", "_parameters", "_modules")

_tracing = threading.Lock()
"""Held while a module is followed: meanwhile `fx` takes every call of a module in the process."""


class _Proxy(fx.Proxy):
    """A stand-in that tells `a += b`, which overwrites what `a` stands for, from `a + b`."""

    def __iadd__(self, other: Any) -> fx.Proxy:
        return self.tracer.create_proxy("call_function", operator.iadd, (self, other), {})


class _Tracer(fx.Tracer):
    """Follows the modules that its own thread calls; those of others are called as ever."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()

    def proxy(self, node: fx.Node) -> fx.Proxy:
        """See the base class."""
        return _Proxy(node, self)

    def call_module(
        self,
        m: nn.Module,
        forward: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """See the base class."""
        if threading.get_ident() != self._thread:
            return forward(*args, **kwargs)
        return super().call_module(m, forward, args, kwargs)


def trace(
    module: nn.Module,
    input_shape: tuple[int, ...],
    training: bool,
    entry: Entry | None = None,
) -> Graph:
    """The layers of a forward pass.

    Parameters
    ----------
    module : torch.nn.Module
        Its numbers are not used.
    input_shape : tuple of int
        Of one sample.
    training : bool
        Whether dropout drops and batch normalisation takes the minibatch's statistics.
    entry : callable, optional
        In place of the module's `forward`: a function of module and samples whose result is a
        tensor or a tuple of tensors, each (B, K).

    Raises
    ------
    UnsupportedError
        If the module holds something that the kernel does not know; the message names it.
    """
    for name, part in module.named_modules():
        if part._forward_hooks or part._forward_pre_hooks or part._backward_hooks:
            raise UnsupportedError(f"hooks ({name or type(part).__name__})")
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            raise UnsupportedError(f"a parameter that does not learn ({name})")
    shared = _shared(module)
    if shared is not None:
        raise UnsupportedError(f"layers that share a tensor ({' and '.join(shared)})")
    was = module.training
    module.train(training)
    try:
        root = _Entered(module, entry or _call)
        with _tracing, _as_before(module), _NoReads():
            followed = _Tracer().trace(root)
    except Exception as error:
        raise UnsupportedError(
            f"a forward pass that can't be followed ({type(module).__name__}: {error})"
        ) from error
    finally:
        module.train(was)
    slices, num_parameters = slices_of(module)
    builder = Builder({s.name: s for s in slices}, input_shape, training)
    env: dict[fx.Node, Any] = {}
    exports: tuple[int, ...] = ()
    inputs = 0
    for node in followed.nodes:
        args, kwargs = fx.node.map_arg((node.args, node.kwargs), lambda n: env[n])
        if node.op == "placeholder":
            inputs += 1
            if inputs > 1:
                raise UnsupportedError(f"an input beside the samples ({node.target})")
            env[node] = builder.samples
        elif node.op == "call_module":
            layer = root.get_submodule(str(node.target))
            name = str(node.target).removeprefix("module").removeprefix(".")
            env[node] = _module(builder, layer, name, args, kwargs)
        elif node.op in ("call_function", "call_method"):
            env[node] = _function(builder, node, args, kwargs)
        elif node.op == "output":
            results = args[0] if isinstance(args[0], tuple | list) else (args[0],)
            exports = tuple(builder.dense(r, "the output").number for r in results)
        else:
            raise UnsupportedError(f"a parameter outside of layers ({node.target})")
    return _finish_graph(builder, exports, slices, num_parameters)


@contextmanager
def _as_before(module: nn.Module) -> Iterator[None]:
    """Give the module back what a forward pass puts into it: here that is no numbers."""
    tables = [vars(part) for part in module.modules()]
    tables += [table[name] for table in tables for name in _TABLES]
    before = [(table, dict(table)) for table in tables]
    try:
        yield
    finally:
        for table, held in before:
            table.clear()
            table.update(held)


def _shared(module: nn.Module) -> tuple[str, str] | None:
    """Two names of one tensor, if two layers hold it; a module with two names is one layer."""
    holders: dict[int, str] = {}
    for name, part in module.named_modules():
        for key, tensor in (*part._parameters.items(), *part._buffers.items()):
            full = f"{name}.{key}" if name else key
            if tensor is not None and holders.setdefault(id(tensor), full) != full:
                return holders[id(tensor)], full
    return None


def _module(builder: Builder, layer: nn.Module, name: str, args: Any, kwargs: Any) -> Any:
    make = known.MODULES.get(type(layer))
    if make is None or len(args) != 1 or kwargs:
        raise UnsupportedError(f"{type(layer).__name__} ({name})")
    result = make(builder, layer, name, args[0])
    if getattr(layer, "inplace", False) and result is not args[0]:
        builder.mark_overwritten(args[0])
    return result


def _function(builder: Builder, node: fx.Node, args: Any, kwargs: Any) -> Any:
    target = node.target
    shown = target if isinstance(target, str) else getattr(target, "__name__", str(target))
    if target in (operator.add, operator.iadd, torch.add, "add", "add_") and len(args) == 2:
        if not kwargs:
            result = builder.add(*args)
            if target in (operator.iadd, "add_"):
                builder.mark_overwritten(args[0])
            return result
    elif target in (torch.flatten, "flatten"):
        start = kwargs.get("start_dim", args[1] if len(args) > 1 else 0)
        end = kwargs.get("end_dim", args[2] if len(args) > 2 else -1)
        return builder.flatten(args[0], start, end)
    elif target in (torch.cat, torch.concat, "cat"):
        dim = kwargs.get("dim", args[1] if len(args) > 1 else 0)
        return builder.concatenate(args[0], dim)
    elif target is torch.stack:
        return builder.stack(args[0], kwargs.get("dim", args[1] if len(args) > 1 else 0))
    elif target in (torch.chunk, "chunk"):
        dim = kwargs.get("dim", args[2] if len(args) > 2 else 0)
        return builder.chunk(args[0], kwargs.get("chunks", args[1] if len(args) > 1 else 0), dim)
    elif target is operator.getitem and isinstance(args[0], tuple):
        return args[0][args[1]]
    for activation in KNOWN:
        in_place = target in activation.functions("_")
        if in_place or target in activation.functions():
            try:
                layer = activation.module(*args[1:], **kwargs)
            except TypeError:  # a setting that the module lacks, such as `out`
                break
            if in_place:
                layer.inplace = True  # type: ignore[assignment]
            return _module(builder, layer, str(node.name), args[:1], {})
    raise UnsupportedError(f"the operation {shown}")


def _finish_graph(
    builder: Builder, exports: tuple[int, ...], slices: tuple[Any, ...], num_parameters: int
) -> Graph:
    """Leave out what leads nowhere, merge what the kernel does at once."""
    wanted, layers = set(exports), []
    for layer in reversed(builder.layers):
        if layer.out in wanted:
            wanted.update(layer.sources)
            layers.append(layer)
        elif layer.kind is Kind.BATCH_NORM or layer.kind is Kind.DROPOUT:
            # It has an effect all the same: running statistics, numbers drawn.
            raise UnsupportedError(f"a layer whose result nobody reads ({layer.name})")
    layers.reverse()
    layers = _merge_layers(builder.values, layers, exports)
    touched = {t.name for layer in layers for t in layer.tensors.values()}
    for part in slices:
        if part.name not in touched and part.stop <= num_parameters:
            layers.append(Layer(Kind.UNUSED, (), -1, {}, {"weight": part}, part.name))
    return Graph(builder.values, layers, exports, slices, num_parameters, tuple(builder.masks))


def _merge_layers(
    values: list[Value], layers: list[Layer], exports: tuple[int, ...]
) -> list[Layer]:
    """ReLU and max pooling of 2 x 2 as one layer."""
    readers: dict[int, list[Layer]] = {}
    for layer in layers:
        for source in layer.sources:
            readers.setdefault(source, []).append(layer)
    gone: set[int] = set()
    for layer in layers:
        after = readers.get(layer.out, [])
        if layer.kind is not Kind.RELU or len(after) != 1 or layer.out in exports:
            continue
        (pool,) = after
        if pool.kind is not Kind.MAX_POOL:
            continue
        height, width = values[layer.out].shape[1:]
        plain = {
            **dict.fromkeys(("kernel_h", "kernel_w", "stride_h", "stride_w"), 2),
            "pad_h": 0,
            "pad_w": 0,
            "out_height": height // 2,
            "out_width": width // 2,
        }
        if all(pool.settings[name] == value for name, value in plain.items()):
            pool.kind, pool.sources = Kind.RELU_MAX_POOL2, layer.sources
            gone.add(id(layer))
    return [layer for layer in layers if id(layer) not in gone]
