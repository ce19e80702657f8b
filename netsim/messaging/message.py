"""Typed immutable messages whose size in bits is known without any tensor work."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import simpy

from netsim.errors import ProtocolError
from netsim.learning.refs import Bringer, Ref
from netsim.messaging.encoded import Encoded

INT_BITS = 32
"""Size of an integer field (ids, counts)."""

# Tuples made once: `int | float` in a call would make a union at every message.
_TRUTHS = (bool, np.bool_)
_WHOLES = (int, np.integer)
_REALS = (float, np.floating)
_NUMBERS = (*_TRUTHS, *_WHOLES, *_REALS)


class Message:
    """Base of an algorithm's messages; a subclass is `@dataclass(frozen=True)`.

    Fields hold Refs, numbers, and tuples or dicts of them: nothing mutable and no raw tensor, so
    a message in flight stays as it was sent. What is sent in fewer bits than real numbers take is
    an `Encoded` value.

    Attributes
    ----------
    accepts_partial : bool
        Whether a message some of whose packets were lost is still of use. If so it is delivered
        with `Received.arrived`, a mask; otherwise it counts as lost.
    over_the_air : bool
        Whether it is sent as analogue symbols (`netsim.messaging.over_the_air`).
    """

    accepts_partial: ClassVar[bool] = False
    over_the_air: ClassVar[bool] = False


M = TypeVar("M", bound=Message, covariant=True)


class Received(NamedTuple, Generic[M]):
    """A message as its receiver sees it.

    Attributes
    ----------
    msg : Message
    sender : int
    sent_s : float
        Virtual time of sending.
    age_s : float
        Virtual time since then, at the moment this was handed to the algorithm.
    round : int
        The sender's wake-up number when it was sent.
    arrived : numpy.ndarray of bool or None
        Packets that arrived, for a partial message.
    """

    msg: M
    sender: int
    sent_s: float
    age_s: float
    round: int
    arrived: Any = None


class _Layout(NamedTuple):
    """The field names of a message class, and how to make another message of it."""

    names: tuple[str, ...]
    takes_all: bool
    """True if its constructor takes every field in order and nothing else."""
    only: str | None
    """The name of its only field, if it has but one: most messages are a model alone."""


class _Layouts(dict[type, _Layout]):
    """The layouts of message classes; each is found once."""

    def __missing__(self, kind: type) -> _Layout:
        if not is_dataclass(kind) or not vars(kind)["__dataclass_params__"].frozen:
            raise ProtocolError(
                f"{kind.__name__} is not a frozen dataclass; write @dataclass(frozen=True) above it"
            )
        names = tuple(f.name for f in fields(kind))
        takes_all = getattr(kind, "__match_args__", None) == names
        only = names[0] if takes_all and len(names) == 1 else None
        self[kind] = found = _Layout(names, takes_all, only)
        return found


_layouts = _Layouts()


def _value_bits(value: Any, where: str, parameter_bits: int) -> int:
    """Size of a field's value on the air [bit]; `where` names the field in errors."""
    if isinstance(value, Ref):
        return value.num_values * parameter_bits
    if value is None:
        return 0
    if isinstance(value, _TRUTHS):
        return 1
    if isinstance(value, _WHOLES):
        return INT_BITS
    if isinstance(value, _REALS):
        return parameter_bits
    if isinstance(value, Encoded):
        return value.size_bits(parameter_bits)
    if isinstance(value, tuple | frozenset):
        return sum(_value_bits(v, where, parameter_bits) for v in value)
    if isinstance(value, Mapping):
        entries = (*value.keys(), *value.values())
        return sum(_value_bits(v, where, parameter_bits) for v in entries)
    forgotten = "; did you forget yield before its verb?" if isinstance(value, simpy.Event) else ""
    raise ProtocolError(
        f"{where} is a {type(value).__name__}; a message carries Refs, numbers, "
        f"and tuples or dicts of them{forgotten}"
    )


def size_bits(message: Message, parameter_bits: int, control_bits: int) -> int:
    """Size of a message on the air [bit].

    Parameters
    ----------
    message : Message
    parameter_bits : int
        Size of one tensor entry or real number [bit].
    control_bits : int
        Size of a message whose fields take no bits (a request, a hello) [bit].

    Returns
    -------
    int

    Raises
    ------
    ProtocolError
        If the class is not a frozen dataclass, or a field holds something that can't be sent.
    """
    kind, bits = type(message), 0
    for name in _layouts[kind].names:
        value = getattr(message, name)
        if isinstance(value, Ref):
            bits += value.num_values * parameter_bits
        else:
            bits += _value_bits(value, f"{kind.__name__}.{name}", parameter_bits)
    return bits or control_bits


def _map_refs(value: Any, change: Callable[[Ref], Ref]) -> Any:
    """A field's value with every Ref in it changed."""
    if isinstance(value, Ref):
        return change(value)
    if value is None or isinstance(value, _NUMBERS):
        return value
    if isinstance(value, tuple):
        mapped = [_map_refs(v, change) for v in value]
        return type(value)(*mapped) if hasattr(value, "_fields") else tuple(mapped)
    if isinstance(value, frozenset):
        return frozenset(_map_refs(v, change) for v in value)
    if isinstance(value, Mapping):
        return {k: _map_refs(v, change) for k, v in value.items()}
    return value


def with_refs(message: Message, change: Callable[[Ref], Ref]) -> Message:
    """The message with every Ref changed; its tuples and dicts are copied."""
    kind = type(message)
    names, takes_all, _ = _layouts[kind]
    after, changed = [], False
    for name in names:
        value = getattr(message, name)
        new = change(value) if isinstance(value, Ref) else _map_refs(value, change)
        after.append(new)
        changed = changed or new is not value
    if not changed:
        return message
    if takes_all:  # what `replace` does, without its looking at every field again
        return kind(*after)
    changes = {
        name: new
        for name, new in zip(names, after, strict=True)
        if new is not getattr(message, name)
    }
    return replace(message, **changes)  # type: ignore[type-var]


def refs_in(value: Any) -> Iterator[Ref]:
    """The Refs that a message, or a value in one, holds."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, Message):
        for name in _layouts[type(value)].names:
            yield from refs_in(getattr(value, name))
    elif isinstance(value, Mapping):
        yield from refs_in(tuple(value.values()))
    elif isinstance(value, tuple | frozenset):
        for inner in value:
            yield from refs_in(inner)


def handed_to(message: Message, node: int, bringer: Bringer | None = None) -> Message:
    """The message as it is delivered to `node`, which owns its Refs from now on.

    Parameters
    ----------
    message : Message
    node : int
    bringer : Bringer or None
        Is told when a job of the node reads one of these Refs.
    """
    kind = type(message)
    only = _layouts[kind].only
    if only is not None and isinstance(ref := getattr(message, only), Ref):
        return message if ref.owner == node else kind(ref.owned_by(node, bringer))  # type: ignore[call-arg]
    return with_refs(message, lambda ref: ref.owned_by(node, bringer))


def sealed(message: Message, node: int) -> Message:
    """The message as it leaves `node`: dicts are copied, so that the sender can't change it later.

    Raises
    ------
    ProtocolError
        If it holds another node's Refs.
    """
    only = _layouts[type(message)].only
    if only is not None and isinstance(ref := getattr(message, only), Ref):
        ref.require_owner(node)
        return message

    def own(ref: Ref) -> Ref:
        ref.require_owner(node)
        return ref

    return with_refs(message, own)
