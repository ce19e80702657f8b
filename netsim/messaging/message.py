"""Typed immutable messages whose size in bits is known without any tensor work, and envelopes.

There is one envelope for all receivers of one sending. It is what a receiver keeps until the
algorithm asks for the message; only then does the receiver get Refs of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from math import prod
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import simpy

from netsim.errors import ProtocolError
from netsim.learning.refs import Ref
from netsim.recording.uses import Fates
from netsim.units import NS_PER_S

INT_BITS = 32
"""Size of an integer field (ids, counts)."""

# Tuples made once: `int | float` in a call would make a union at every message.
_TRUTHS = (bool, np.bool_)
_WHOLES = (int, np.integer)
_REALS = (float, np.floating)
_NUMBERS = (*_TRUTHS, *_WHOLES, *_REALS)


class Encoded(NamedTuple):
    """A value in a message, with its size on the air.

    Attributes
    ----------
    value : Ref
        What the receiver reads: the value as it is after encoding and decoding.
    packed_bits : int
        Bits of it that do not depend on how real numbers are sent: indices, signs, integers.
    reals : int
        Real numbers among it, of `[training] parameter_bits` each.

    Examples
    --------
    >>> mask = node.compute(chosen, theta)  # entries 0 and 1
    >>> node.send(3, Choice(Encoded(mask, packed_bits=mask.num_values)))
    """

    value: Ref
    packed_bits: int
    reals: int = 0

    def size_bits(self, parameter_bits: int) -> int:
        """Size on the air [bit], at so many bits a real number."""
        return self.packed_bits + self.reals * parameter_bits


class Opaque(NamedTuple):
    """A value of foreign code in a message, with its size on the air.

    The simulator does not look into it: each receiver gets a deep copy of the value as it was when
    it was sent.

    Attributes
    ----------
    value : object
        Anything that `copy.deepcopy` copies; no Ref, which is a field of its own.
    bits : int
        Its size on the air [bit], 0 or more.

    Examples
    --------
    >>> packed = pickle.dumps(weights)
    >>> node.send(3, Reply(Opaque(weights, bits=8 * len(packed))))
    """

    value: Any
    bits: int

    def copied(self) -> Opaque:
        """A copy that shares nothing with this one."""
        return Opaque(deepcopy(self.value), self.bits)


class Message:
    """Base of an algorithm's messages; a subclass is `@dataclass(frozen=True)`.

    Fields hold Refs, numbers, and tuples or dicts of them: nothing mutable and no raw tensor, so
    a message in flight stays as it was sent. What is sent in fewer bits than real numbers take is
    an `Encoded` value; what code that brings its own learning sends is an `Opaque` one.

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
    only_set: str | None
    """The same, if its constructor does nothing but set that field."""


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
        only_set = only if only is not None and _only_sets_fields(kind) else None
        self[kind] = found = _Layout(names, takes_all, only, only_set)
        return found


def _only_sets_fields(kind: type) -> bool:
    """Return whether the constructor of a dataclass is the generated one, with nothing after it."""
    made = getattr(getattr(kind, "__init__", None), "__code__", None)
    is_generated = made is not None and made.co_filename == "<string>"
    others = {"__new__", "__post_init__"}
    return is_generated and all(others.isdisjoint(vars(one)) for one in kind.__mro__[:-1])


_layouts = _Layouts()
_new, _set = object.__new__, object.__setattr__


def _value_bits(value: Any, where: str, parameter_bits: int) -> int:
    """Size of a field's value on the air [bit]; `where` names the field in errors."""
    if isinstance(value, Ref):
        return value.num_values * parameter_bits
    if value is None:
        return 0
    if isinstance(value, _TRUTHS):
        return 1
    if isinstance(value, _WHOLES):
        whole = int(value)
        # Unsigned up to 32 bits, or with a sign: a mask of 100 nodes takes 100 bits.
        return max(INT_BITS, whole.bit_length() + (whole < -(1 << INT_BITS - 1)))
    if isinstance(value, _REALS):
        return parameter_bits
    if isinstance(value, Encoded):
        if not isinstance(value.value, Ref):
            raise ProtocolError(
                f"{where} is Encoded({type(value.value).__name__}, ...); Encoded holds a Ref, and "
                "Opaque(value, bits) what netsim does not compute"
            )
        return value.size_bits(parameter_bits)
    if isinstance(value, Opaque):
        if isinstance(value.bits, bool) or not isinstance(value.bits, _WHOLES) or value.bits < 0:
            raise ProtocolError(
                f"{where} is Opaque(..., bits={value.bits!r}); bits must be a whole number, "
                "0 or more"
            )
        return int(value.bits)
    if isinstance(value, tuple | frozenset):
        return sum(_value_bits(v, where, parameter_bits) for v in value)
    if isinstance(value, Mapping):
        entries = (*value.keys(), *value.values())
        return sum(_value_bits(v, where, parameter_bits) for v in entries)
    forgotten = "; did you forget yield before its verb?" if isinstance(value, simpy.Event) else ""
    raise ProtocolError(
        f"{where} is a {type(value).__name__}; a message carries Refs, numbers, "
        f"tuples or dicts of them, and Opaque(value, bits){forgotten}"
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
            bits += prod(value.shape) * parameter_bits
        else:
            bits += _value_bits(value, f"{kind.__name__}.{name}", parameter_bits)
    return bits or control_bits


def _map_refs(value: Any, change: Callable[[Ref], Ref]) -> Any:
    """A field's value with every Ref in it changed."""
    if isinstance(value, Ref):
        return change(value)
    if value is None or isinstance(value, _NUMBERS):
        return value
    if isinstance(value, Opaque):
        return value.copied()
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
    names, takes_all, _, _ = _layouts[kind]
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
    if isinstance(value, Opaque):
        return
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


def handed_to(message: Message, node: int, bringer: Fates | None = None) -> Message:
    """The message as it is delivered to `node`, which owns its Refs from now on.

    Parameters
    ----------
    message : Message
    node : int
    bringer : Fates or None
        The fates of the message.
    """
    kind = type(message)
    only = _layouts[kind].only
    if only is not None and isinstance(ref := getattr(message, only), Ref):
        if ref.owner == node:
            return message
        return kind(Ref(node, ref.cell, ref.ranges, bringer))  # type: ignore[call-arg]
    return with_refs(message, lambda ref: ref.owned_by(node, bringer))


def outgoing_message(message: Message, node: int) -> tuple[Message, list[Ref]]:
    """Message as `node` sends it, with its dicts copied, and the Refs in it.

    Raises
    ------
    ProtocolError
        If it holds another node's Refs.
    """
    only = _layouts[type(message)].only
    if only is not None and isinstance(ref := getattr(message, only), Ref):
        if ref.owner != node:
            ref.require_owner(node)
        return message, [ref]
    refs: list[Ref] = []

    def check_owner(ref: Ref) -> Ref:
        ref.require_owner(node)
        refs.append(ref)
        return ref

    return with_refs(message, check_owner), refs


_received = partial(tuple.__new__, Received)
"""`Received` of a tuple of all its fields, in half the time; there is one for every message."""


@dataclass(slots=True, eq=False)
class Envelope:
    """One message as it was sent, the same for all of its receivers.

    Attributes
    ----------
    message : Message
        With the sender's Refs.
    src : int
        The sender.
    bits : int
        Size of the message, without the headers that a link adds.
    round : int
        The sender's wake-up number.
    sent_ns : int
        When the algorithm sent it.
    fates : Fates or None
        What becomes of its values at each receiver; None: it holds none.
    tag : object
        Key of the exchange that it belongs to; None outside exchanges.
    request : tuple of int or None
        (asking node, serial) of the request that this is, or that this answers.
    reply : bool
        Whether it answers `request`.
    patience_ns : int or None
        How long it may wait for radios or wires to become free, at each relay anew; None: as long
        as it takes.
    arrived : numpy.ndarray of bool or None
        Which packets arrived, in the copy that one receiver of a partial message keeps.
    """

    message: Message
    src: int
    bits: int
    round: int
    sent_ns: int
    fates: Fates | None = None
    tag: Any = None
    request: tuple[int, int] | None = None
    reply: bool = False
    patience_ns: int | None = None
    arrived: Any = None

    def in_part(self, arrived: Any) -> Envelope:
        """A copy for the receiver at which only some packets arrived; `arrived` is their mask."""
        return replace(self, arrived=arrived)

    def handed_to(self, node: int, now_ns: int) -> Received[Any]:
        """The message as the algorithm of `node` gets it at `now_ns`, with its age then."""
        message, fates, sent_ns = self.message, self.fates, self.sent_ns
        kind = type(message)
        only = _layouts[kind].only_set
        if only is not None and type(ref := getattr(message, only)) is Ref:
            mine = _new(kind)  # what `handed_to` does, in a third of the time
            _set(mine, only, Ref(node, ref.cell, ref.ranges, fates))
        else:
            mine = handed_to(message, node, fates)
        if fates is not None:
            fates.handed(node, now_ns)
        return _received((
            mine, self.src, sent_ns / NS_PER_S, (now_ns - sent_ns) / NS_PER_S, self.round,
            self.arrived,
        ))  # fmt: skip


@dataclass(frozen=True)
class Probe(Message):
    """Request to every node that hears it: the broadcast of `discovery = "probe"`."""


@dataclass(frozen=True)
class ProbeReply(Message):
    """The answer to a probe."""
