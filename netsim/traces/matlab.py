"""MATLAB files of version 5 to 7 (Level 5 MAT-File), read without trusting a size in them.

A header of 128 bytes, then elements: a tag of 8 bytes (type, size), then so many bytes, padded to
8; up to 4 bytes lie in the tag itself. A matrix is an element of elements: flags, axes, name, then
numbers, or for a cell or a structure more matrices. Every size must fit into what holds it, and
every matrix have as many entries as its axes say, before anything is made of it: `scipy.io.loadmat`
allocates what a tag says, and ends the process on some broken files. Of characters, sparse
matrices, objects and functions the value is None.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
_CELL, _STRUCTURE = 1, 2
_NUMERIC = {
    6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8",
}  # fmt: skip
_COMPLEX = 0x0800
_DEEPEST = 32
_BYTES_A_VALUE = 256
"""Bytes of an array beside its numbers."""


class BrokenError(ValueError):
    """Fault of a file, in words."""


class _Budget:
    """Number of bytes that the values of a file may still take."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes

    def take(self, size: int) -> None:
        """Raise BrokenError if there is no room for so many bytes."""
        self._left -= size
        if self._left < 0:
            raise BrokenError("its values take too much memory")


def read_matlab(content: bytes, most_bytes: int) -> dict[str, Any]:
    """The variables of a file.

    Parameters
    ----------
    content : bytes
        The whole file.
    most_bytes : int
        How much it may unpack to, and how much memory its values may take.

    Returns
    -------
    dict of str to object
        By name: an array of numbers; a cell array as an array of objects; a structure as a dict of
        its fields, an array of structures as an array of such; or None.

    Raises
    ------
    BrokenError
    """
    if len(content) < _HEADER or content[126:128] not in (b"IM", b"MI"):
        raise BrokenError("it lacks the header")
    order = "<" if content[126:128] == b"IM" else ">"
    found: dict[str, Any] = {}
    left, budget = most_bytes, _Budget(most_bytes)
    for kind, body in _elements(memoryview(content)[_HEADER:], order, padded=False):
        if kind == _COMPRESSED:
            body = memoryview(_unpack(body, left))
            left -= len(body)
            kind, body = next(_elements(body, order), (0, body))
        if kind == _MATRIX:
            name, value = _matrix(body, order, 0, budget)
            found[name] = value
    return found


def _unpack(body: memoryview, most_bytes: int) -> bytes:
    try:
        found = zlib.decompressobj().decompress(body, most_bytes + 1)
    except zlib.error as error:
        raise BrokenError(str(error)) from None
    if len(found) > most_bytes:
        raise BrokenError("it unpacks to too much")
    return found


def _elements(
    view: memoryview, order: str, padded: bool = True
) -> Iterator[tuple[int, memoryview]]:
    """(type, bytes) of the elements that follow each other."""
    at = 0
    while at + 8 <= len(view):
        kind, size = struct.unpack_from(order + "II", view, at)
        if kind >> 16:
            kind, size = kind & 0xFFFF, kind >> 16
            if size > 4:
                raise BrokenError(f"a small element says {size} bytes")
            yield kind, view[at + 4 : at + 4 + size]
            at += 8
            continue
        if size > len(view) - at - 8:
            raise BrokenError(f"an element says {size} bytes, and {len(view) - at - 8} are left")
        yield kind, view[at + 8 : at + 8 + size]
        at += 8 + size + (-size % 8 if padded or kind != _COMPRESSED else 0)


def _matrix(body: memoryview, order: str, depth: int, budget: _Budget) -> tuple[str, Any]:
    """Name and value of a matrix."""
    budget.take(_BYTES_A_VALUE)
    if depth > _DEEPEST:
        raise BrokenError("its cells lie too deep in each other")
    if not len(body):
        return "", np.zeros((0, 0))
    parts = _elements(body, order)
    try:
        flags = int(np.frombuffer(next(parts)[1], order + "u4", 1)[0])
        axes = tuple(np.frombuffer(next(parts)[1], order + "i4").tolist())
        name = bytes(next(parts)[1]).decode("latin-1")
        if min(axes, default=0) < 0:
            raise BrokenError(f"a matrix has the axes {axes}")
        kind = flags & 0xFF
        if kind in _NUMERIC:
            numbers = math.prod(axes) * np.dtype(_NUMERIC[kind]).itemsize
            budget.take(3 * numbers if flags & _COMPLEX else numbers)
            value = _read_numbers(next(parts), order, axes).astype(_NUMERIC[kind])
            if flags & _COMPLEX:
                value = value + 1j * _read_numbers(next(parts), order, axes)
            return name, value
        if kind in (_CELL, _STRUCTURE):
            names = [""] if kind == _CELL else _field_names(parts, order)
            return name, _entries(parts, order, axes, names, depth, budget)
    except (StopIteration, ValueError, TypeError) as error:
        reason = str(error) if isinstance(error, BrokenError) else "a matrix lacks a part"
        raise BrokenError(reason) from None
    return name, None


def _read_numbers(part: tuple[int, memoryview], order: str, axes: tuple[int, ...]) -> Any:
    kind, body = part
    if kind not in _NUMBERS:
        raise BrokenError(f"numbers are of the unknown type {kind}")
    stored = np.dtype(order + _NUMBERS[kind])
    if math.prod(axes) * stored.itemsize != len(body):
        raise BrokenError(
            f"a matrix says {math.prod(axes)} entries of {stored.itemsize} bytes and holds "
            f"{len(body)} bytes"
        )
    return np.frombuffer(body, stored).reshape(axes, order="F")


def _field_names(parts: Iterator[tuple[int, memoryview]], order: str) -> list[str]:
    length = int(np.frombuffer(next(parts)[1], order + "i4", 1)[0])
    packed = bytes(next(parts)[1])
    if length < 1:
        raise BrokenError(f"names of fields are {length} bytes long")
    names = [packed[at : at + length] for at in range(0, len(packed), length)]
    return [name.split(b"\0")[0].decode("latin-1") for name in names]


def _entries(
    parts: Iterator[tuple[int, memoryview]],
    order: str,
    axes: tuple[int, ...],
    names: list[str],
    depth: int,
    budget: _Budget,
) -> Any:
    """A cell array, or an array of structures with these fields."""
    rest = []
    for part in parts:
        budget.take(_BYTES_A_VALUE)
        rest.append(part)
    if math.prod(axes) * len(names) != len(rest):
        raise BrokenError(
            f"a matrix says {math.prod(axes)} entries of {len(names)} values and holds {len(rest)}"
        )
    values = [_matrix(body, order, depth + 1, budget)[1] for _, body in rest]
    if names != [""]:
        width = len(names)
        rows = [values[at : at + width] for at in range(0, len(values), width)]
        values = [dict(zip(names, row, strict=True)) for row in rows]
        if len(values) == 1:
            return values[0]
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found.reshape(axes, order="F")
