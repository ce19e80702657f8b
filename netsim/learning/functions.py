"""Functions that are recorded and called later: which are allowed, and the shapes they return."""

import inspect
from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeVar

import numpy as np
import simpy
import torch

from netsim.errors import ProtocolError
from netsim.learning.calling_line import calling_line
from netsim.learning.jobs import Slot
from netsim.learning.refs import Ref
from netsim.registry import Table, did_you_mean


def require_module_level(fn: Callable[..., Any]) -> None:
    """Refuse functions that could read more than their arguments.

    Raises
    ------
    ProtocolError
        For a lambda, a closure, a bound method or a partial; names file and line. For a loss that
        states its draws by an attribute instead of `@loss(uniforms=...)`.
    """
    name = getattr(fn, "__qualname__", "")
    bad = None
    if name.endswith("<lambda>"):
        bad = "a lambda"
    elif "<locals>" in name:
        bad = "a function defined inside another"
    elif inspect.ismethod(fn):
        bad = "a bound method"
    elif not callable(fn) or not name:
        bad = f"a {type(fn).__name__}"
    if bad:
        code = getattr(fn, "__code__", None)
        where = f" ({code.co_filename}, line {code.co_firstlineno})" if code else ""
        raise ProtocolError(
            f"{name or fn!r}{where} is {bad}; what is computed later must be a module-level "
            "function, so that it sees its arguments and nothing else"
        )
    by_hand = getattr(fn, "uniforms", None)
    if by_hand is not None:
        raise ProtocolError(
            f"{name}.uniforms is not read: write @netsim.api.loss(uniforms={by_hand!r}) above it"
        )


F = TypeVar("F", bound=Callable[..., Any])


def batched(fn: F) -> F:
    """Mark a function of values as one that may run for many nodes at once (under `vmap`).

    Its Python branches may depend on shapes and numbers, not on what its tensors hold.
    """
    fn.is_batched = True  # type: ignore[attr-defined]
    return fn


def loss(*, uniforms: int = 0, **unknown: object) -> Callable[[F], F]:
    """Declare what a loss needs; written above the function that `node.train` is given.

    Parameters
    ----------
    uniforms : int
        Draws in [0, 1) per sample of a batch; they come as `batch.uniforms` (n, uniforms).

    Returns
    -------
    callable
        The decorator.

    Raises
    ------
    ProtocolError
        If a keyword is not known, or `uniforms` is no whole number of at least 0.

    Examples
    --------
    >>> @loss(uniforms=1)
    ... def noisy_loss(model, batch, learned):
    ...     return F.cross_entropy(model(batch.x + batch.uniforms), batch.y)
    """
    for key in unknown:
        raise ProtocolError(f"@loss: {key}: must be uniforms" + did_you_mean(key, ["uniforms"]))
    if isinstance(uniforms, bool) or not isinstance(uniforms, int) or uniforms < 0:
        raise ProtocolError(
            f"@loss: uniforms = {uniforms!r}: must be a whole number, how many draws a sample needs"
        )

    def declare(fn: F) -> F:
        fn.uniforms_per_sample = uniforms  # type: ignore[attr-defined]
        return fn

    return declare


def uniforms_of(fn: Callable[..., Any] | None) -> int:
    """Draws per sample that a loss has declared; None is the plain cross-entropy: 0."""
    return int(getattr(fn, "uniforms_per_sample", 0))


def to_slots(value: Any, found: list[Ref]) -> Any:
    """`value` with every Ref replaced by a `Slot`, the Refs appended to `found`.

    Raises
    ------
    ProtocolError
        If it holds what may change until it is read: an array, an object.
    """
    if isinstance(value, Ref):
        found.append(value)
        return Slot(len(found) - 1)
    if isinstance(value, tuple):
        return tuple(to_slots(v, found) for v in value)
    if isinstance(value, list):
        return [to_slots(v, found) for v in value]
    if isinstance(value, dict):
        return {k: to_slots(v, found) for k, v in value.items()}
    if isinstance(value, np.ndarray | torch.Tensor):
        raise ProtocolError("compute: arguments are Refs and numbers, not raw tensors")
    if isinstance(value, simpy.Event):
        raise ProtocolError("an argument is an event; did you forget yield before its verb?")
    if not _is_constant(value):
        raise ProtocolError(
            f"an argument is a {type(value).__name__}, which may be another one by the time the "
            "function is called; arguments are Refs, numbers, texts, Params, frozen dataclasses, "
            f"and tuples, lists and dicts of them{calling_line()}"
        )
    return value


def snapshot_argument(value: Any) -> Any:
    """Copy an argument that is read later, Refs excepted; refuses what `to_slots` refuses."""
    refs: list[Ref] = []
    return fill_slots(to_slots(value, refs), refs)


_STAYING = (
    *(bool, int, float, complex, str, bytes, type, type(None), range, Enum, np.generic),
    *(torch.dtype, torch.device, FunctionType, BuiltinFunctionType, Table),
)
"""Types whose values never change."""


def _is_constant(value: Any) -> bool:
    """Return whether a value can't change; frozen dataclasses count as such."""
    if isinstance(value, _STAYING):
        return True
    if isinstance(value, frozenset):
        return all(map(_is_constant, value))
    parameters = getattr(type(value), "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


def freeze_arguments(value: Any) -> Any:
    """Slotted arguments as a key: lists and dicts become tagged tuples."""
    if isinstance(value, list):
        return ("list", *(freeze_arguments(v) for v in value))
    if isinstance(value, dict):
        return ("dict", *((k, freeze_arguments(v)) for k, v in value.items()))
    if isinstance(value, tuple) and not isinstance(value, Slot):
        return ("tuple", *(freeze_arguments(v) for v in value))
    return value


def _unfreeze(value: Any) -> Any:
    if isinstance(value, Slot) or not isinstance(value, tuple):
        return value
    tag, *rest = value
    if tag == "dict":
        return {k: _unfreeze(v) for k, v in rest}
    return (list if tag == "list" else tuple)(_unfreeze(v) for v in rest)


@lru_cache(maxsize=4096)
def inferred_shapes(
    fn: Callable[..., Any], frozen: Any, shapes: tuple[tuple[int, ...], ...]
) -> Any:
    """Shapes of the results of a function, from running it on tensors without data.

    Parameters
    ----------
    fn : callable
    frozen : object
        Its arguments as `freeze_arguments` gives them, with a `Slot` for each tensor.
    shapes : tuple of tuple of int
        Of these tensors.

    Returns
    -------
    tuple of int or tuple of tuple of int

    Raises
    ------
    ProtocolError
        If `fn` fails on such tensors, as one that reads their values does.
    """
    metas = [torch.empty(s, device="meta") for s in shapes]
    try:
        result = fn(*fill_slots(_unfreeze(frozen), metas))
    except Exception as error:
        raise ProtocolError(
            f"compute: the shape of {fn.__qualname__}'s result can't be inferred from shapes "
            f"{', '.join(map(str, shapes)) or 'of none'} ({type(error).__name__}: {error})"
            f"{calling_line()}; if it depends on values, give like="
        ) from error
    if isinstance(result, tuple):
        return tuple(tuple(r.shape) for r in result)
    return tuple(result.shape)


class WrittenInPlaceError(ValueError):
    """A function has written to what it was given, which others hold, too."""


def tensor_versions(values: Sequence[torch.Tensor]) -> list[int]:
    """Return the number of writes to each tensor, for `require_unchanged`."""
    return [value._version for value in values]


def require_unchanged(
    fn: Callable[..., Any], values: Sequence[torch.Tensor], before: Sequence[int]
) -> None:
    """Refuse a function that has worked in place on what it was given.

    Parameters
    ----------
    fn : callable
    values : sequence of torch.Tensor
        What it was given.
    before : sequence of int
        Their `tensor_versions` before the call.

    Raises
    ------
    WrittenInPlaceError
        Naming the function and the number of the tensor, counted from 1.
    """
    for number, (value, version) in enumerate(zip(values, before, strict=True), start=1):
        if value._version != version:
            raise WrittenInPlaceError(
                f"{place_of(fn)} changes tensor {number} of those that it is given in place, which "
                "would change the model or value that others hold; work on a copy (.clone())"
            )


def require_loss(fn: Callable[..., Any], value: object) -> torch.Tensor:
    """The result of a loss of the algorithm's own: one number that has a gradient.

    A pair would be trained as the sum of both, and without a gradient nothing would be trained.

    Raises
    ------
    ValueError
        Naming the function, what it gave, and what to give.
    """
    if not isinstance(value, torch.Tensor):
        found = f"a {type(value).__name__}"
    elif value.numel() != 1:
        found = f"a tensor of shape {tuple(value.shape)}"
    elif not value.requires_grad:
        found = (
            "a tensor without a gradient (it does not depend on the model, or was computed under "
            "no_grad or from detached values)"
        )
    else:
        return value
    raise ValueError(
        f"{place_of(fn)} gives {found}; a loss gives one number, as a tensor that depends on what "
        "is trained"
    )


def place_of(fn: Callable[..., Any]) -> str:
    """A function by name, file and line."""
    code = getattr(inspect.unwrap(fn), "__code__", None)
    where = f" ({Path(code.co_filename).name}:{code.co_firstlineno})" if code else ""
    return f"{fn.__qualname__}{where}"


def fill_slots(args: Any, values: Sequence[Any]) -> Any:
    """Arguments with every `Slot` replaced by its value."""
    if isinstance(args, Slot):
        return values[args.number]
    if isinstance(args, tuple):
        return tuple(fill_slots(a, values) for a in args)
    if isinstance(args, list):
        return [fill_slots(a, values) for a in args]
    if isinstance(args, dict):
        return {k: fill_slots(a, values) for k, a in args.items()}
    return args
