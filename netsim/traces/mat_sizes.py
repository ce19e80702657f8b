"""Whether the sizes that a MATLAB file states are those that it has.

A file of version 5 (Level 5 MAT-File; also what MATLAB writes as 6 and 7) is a header of 128 bytes
and elements: a tag of 8 bytes (type, size), then so many bytes, which for a matrix are elements
again. A reader that trusts a tag allocates what it says; here each must fit into what holds it.
"""

import struct
import zlib

_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_OF_CELLS = (1, 2, 3)
"""Classes of matrices whose entries are matrices: cell, structure, object."""
_DEEPEST = 32


def require_sound(content: bytes, most_bytes: int) -> str | None:
    """What is wrong with the sizes in a MATLAB file.

    Parameters
    ----------
    content : bytes
        The whole file.
    most_bytes : int
        How much it may unpack to.

    Returns
    -------
    str or None
        None: nothing.
    """
    if len(content) < _HEADER or content[126:128] not in (b"IM", b"MI"):
        return "it lacks the header"
    order = "<" if content[126:128] == b"IM" else ">"
    left, at = most_bytes, _HEADER
    while at < len(content):
        if at + 8 > len(content):
            return "it ends inside an element"
        kind, size = struct.unpack_from(order + "II", content, at)
        body = content[at + 8 : at + 8 + size]
        if len(body) < size:
            return f"an element says {size} bytes, and {len(body)} are left"
        if kind == _COMPRESSED:
            inflate = zlib.decompressobj()
            try:
                body = inflate.decompress(body, left + 1)
            except zlib.error as error:
                return str(error)
            problem = _nested(body, order, 0)
        else:
            problem = _nested(content[at : at + 8 + size], order, 0)
        left -= len(body)
        if left < 0:
            return f"it unpacks to more than {most_bytes >> 20} MiB"
        if problem is not None:
            return problem
        at += 8 + size
    return None


def _nested(content: bytes, order: str, depth: int) -> str | None:
    """What is wrong with the elements that follow each other in `content`."""
    view, at = memoryview(content), 0
    while at + 8 <= len(view):
        kind, size = struct.unpack_from(order + "II", view, at)
        if kind >> 16:  # a small element: its size, its type and up to 4 bytes in one tag
            at += 8
            continue
        if at + 8 + size > len(view):
            return f"an element says {size} bytes, and {len(view) - at - 8} are left"
        if kind == _MATRIX and size:
            if depth == _DEEPEST:
                return "its cells lie too deep in each other"
            body = bytes(view[at + 8 : at + 8 + size])
            problem = _entries(body, order) or _nested(body, order, depth + 1)
            if problem is not None:
                return problem
        at += 8 + size + (-size % 8)
    return None


def _entries(matrix: bytes, order: str) -> str | None:
    """What is wrong with the number of entries of a matrix of matrices: each takes a tag."""
    if len(matrix) < 24 or matrix[8 if order == "<" else 11] not in _OF_CELLS:
        return None
    _, size = struct.unpack_from(order + "II", matrix, 16)
    axes = struct.unpack_from(f"{order}{min(size, len(matrix) - 24) // 4}i", matrix, 24)
    count = 1
    for axis in axes:
        count *= max(0, axis)
    if 8 * count > len(matrix):
        return f"a matrix says {count} entries and has {len(matrix)} bytes"
    return None
