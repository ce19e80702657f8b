"""A checkpoint of a run: its contents, `journal/checkpoint-*.json`, and its files of bare numbers.

The files hold the values of cells, one after the other, and nothing else. The contents say what
lies where (`Group`), so reading a file runs no code and trusts no size that it states.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import RawIOBase
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from netsim.learning.refs import Cell
from netsim.learning.scheduler import Counters
from netsim.recording.parquet_parts import Extent
from netsim.recording.whole_files import write_whole
from netsim.registry import Index, Table


class WrittenFile(Table):
    """A file of the journal, and what shows that it is whole."""

    name: str
    bytes: Index
    sha256: str


class Group(Table):
    """Values of one type and shape, which lie one after the other in a file of values."""

    dtype: str  # as torch names it
    shape: tuple[Index, ...]
    strides: tuple[Index, ...] | None  # in entries; None: contiguous
    cells: tuple[Index, ...]  # the number of each value's cell


class Moment(Table):
    """Position of a run between two events."""

    # how many there had been
    events: Index
    evaluations: Index
    time_ns: Index
    accuracy: float | None  # the task's main metric at the last evaluation
    # what the run, and evaluations in it, had taken
    wall_s: float
    evaluation_wall_s: float


class Checkpoint(Table):
    """All of a run that playing its events again without tensor work does not bring back."""

    format: Literal[2] = 2
    number: Index  # how many checkpoints of the run there were before it
    moment: Moment
    event_log_sha256: str  # of the events so far
    extents: dict[str, Extent]  # how far each table had been written
    # SHA-256 of every file of the run so far, by its name in the folder, as it was written
    written: dict[str, str]
    counters: Counters  # of the scheduler
    submitted: Index  # cells for which jobs had been submitted
    pending: tuple[Index, ...]  # numbers of the jobs that had not run
    again: tuple[Index, ...]  # cells whose values were left for later: their jobs run again
    numbers: Index  # numbers that `node.value` had given
    values: tuple[WrittenFile, ...]  # where these numbers are
    groups: tuple[Group, ...]  # the values that existed, in the order in which they lie in `cells`
    cells: WrittenFile
    made_with: dict[str, Any]  # versions and machine


AT_ONCE_BYTES = 1 << 24
"""Values of so many bytes are copied together."""

MOST_ENTRIES = 1 << 59
"""So many torch can count in bytes; a shape with a zero has none, and may still say more."""

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.complex64,
        torch.complex128,
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
    )
}


class DamagedError(Exception):
    """A file of the journal is not what was written; the message says how."""


def write_cells(
    path: Path, cells: Sequence[Cell], brought: Callable[[Sequence[Cell]], Iterable[Cell]] = iter
) -> tuple[tuple[Group, ...], WrittenFile]:
    """Write the computed values of some cells.

    Parameters
    ----------
    path : Path
        Never seen incomplete, and on the disk itself when this returns.
    cells : sequence of Cell
        None whose computation was left for later.
    brought : callable
        (cells) -> the same, each when its value is at hand.

    Returns
    -------
    groups : tuple of Group
        What lies where.
    file : WrittenFile
    """
    alike: dict[tuple[str, tuple[int, ...], tuple[int, ...] | None], list[Cell]] = {}
    for cell in brought(cells):
        value = cell.materialise()
        name = str(value.dtype).removeprefix("torch.")
        alike.setdefault((name, tuple(value.shape), _strides(value)), []).append(cell)
    groups = tuple(
        Group(dtype=dtype, shape=shape, strides=strides, cells=tuple([c.number for c in some]))
        for (dtype, shape, strides), some in alike.items()
    )

    return groups, _write_file(
        path, lambda: (b for some in alike.values() for b in _bytes_of(some, brought))
    )


def write_numbers(path: Path, numbers: Sequence[np.ndarray]) -> WrittenFile:
    """Write arrays of float64 one after the other; `path` as of `write_cells`."""
    return _write_file(path, lambda: (a.astype("<f8", copy=False).tobytes() for a in numbers))


def read_numbers(folder: Path, file: WrittenFile) -> np.ndarray:
    """The numbers of a file that `write_numbers` wrote.

    Raises
    ------
    DamagedError
    """
    require_whole(folder, file)
    return np.fromfile(folder / file.name, dtype="<f8")


def read_cells(
    folder: Path, file: WrittenFile, groups: Sequence[Group]
) -> Iterator[tuple[int, Tensor]]:
    """The values of a file that `write_cells` wrote, each with the number of its cell.

    Parameters
    ----------
    file : WrittenFile
        Known to be whole.

    Yields
    ------
    number : int
    value : torch.Tensor
        On the CPU, in memory of its own.
    """
    with (folder / file.name).open("rb") as data:
        for group in groups:
            size = _value_bytes(group)
            for number in group.cells:
                yield number, _value(data.read(size), group)


def _value(data: bytes, group: Group) -> Tensor:
    dtype = DTYPES[group.dtype]
    if not data:
        return torch.empty(group.shape, dtype=dtype)
    value = torch.frombuffer(bytearray(data), dtype=dtype).view(group.shape)
    if group.strides is None:
        return value.clone()  # aligned as torch aligns
    return torch.empty_strided(group.shape, group.strides, dtype=dtype).copy_(value)


def require_whole(folder: Path, file: WrittenFile) -> None:
    """Refuse a file that is not, byte for byte, what was written.

    Raises
    ------
    DamagedError
    """
    path = folder / file.name
    if path.name != file.name or path.is_symlink() or not path.is_file():
        raise DamagedError(f"{file.name} is missing")
    if path.stat().st_size != file.bytes:
        raise DamagedError(f"{file.name} has {path.stat().st_size} bytes, not {file.bytes}")
    with path.open("rb") as data:
        if hashlib.file_digest(data, "sha256").hexdigest() != file.sha256:
            raise DamagedError(f"{file.name} is not what was written: its checksum differs")


def require_sizes(file: WrittenFile, groups: Sequence[Group]) -> None:
    """Refuse groups that do not fill their file exactly.

    Raises
    ------
    DamagedError
    """
    for group in groups:
        if group.dtype not in DTYPES:
            raise DamagedError(f"{file.name}: values of type {group.dtype} are not known")
        if prod(max(1, n) for n in group.shape) > MOST_ENTRIES:
            raise DamagedError(f"{file.name}: values of shape {group.shape} are not known")
        if group.strides is not None and not _are_dense(group.shape, group.strides):
            raise DamagedError(f"{file.name}: values of strides {group.strides} are not known")
    if sum(_value_bytes(group) * len(group.cells) for group in groups) != file.bytes:
        raise DamagedError(f"{file.name} does not have the size of its values")


def _value_bytes(group: Group) -> int:
    return prod(group.shape) * DTYPES[group.dtype].itemsize


def _strides(value: Tensor) -> tuple[int, ...] | None:
    """Strides of a value whose entries lie in another order, by which sums of it may go."""
    strides = tuple(value.stride())
    if value.is_contiguous() or not _are_dense(tuple(value.shape), strides):
        return None
    return strides


def _are_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether entries lie side by side in memory, in some order."""
    if len(shape) != len(strides):
        return False
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) == prod(shape)


def _bytes_of(
    cells: Sequence[Cell], brought: Callable[[Sequence[Cell]], Iterable[Cell]]
) -> Iterator[memoryview]:
    """The bytes of values of one type and shape, many at a time."""
    size = max(1, cells[0].materialise().nbytes)
    most = max(1, AT_ONCE_BYTES // size)
    for start in range(0, len(cells), most):
        some = brought(cells[start : start + most])
        rows = torch.stack([cell.materialise().detach() for cell in some])
        yield rows.cpu().contiguous().view(-1).view(torch.uint8).numpy().data


def _write_file(path: Path, pieces: Callable[[], Iterable[bytes | memoryview]]) -> WrittenFile:
    size = 0

    def write(file: RawIOBase) -> None:
        nonlocal size
        for piece in pieces():
            size += file.write(piece)

    digest = write_whole(path, write)
    return WrittenFile(name=path.name, bytes=size, sha256=digest)
