"""Tables of rows in files, for models that memory can't hold.

A table is a sparse file without a name, mapped into memory. The system writes its pages to the disk
when it needs their memory, and reads them back when they are used; nothing of the file is left when
the process ends, however it ends.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from weakref import WeakSet, finalize

import numpy as np
import torch
from torch import Tensor

from netsim.errors import ComputeError, ScenarioError

MOST_FILE_BYTES = 1 << 43
"""Most address space of one file: half of what the smallest file systems in use allow."""

CHECKED_BYTES = 1 << 26
"""Bytes that are written between two looks at how much is in memory."""

RESERVED_BYTES = 1 << 28
"""Disk that is asked for at a time."""

_STATUS = Path("/proc/self/status")
_MOUNTS = Path("/proc/self/mountinfo")
_IN_MEMORY = ("tmpfs", "ramfs")


class Spill:
    """Files of one process in a folder, of whose rows so much is in memory at most.

    Parameters
    ----------
    folder : Path
    most_bytes : int
        Of the files' pages that the process holds; beyond them the system may have all back.

    Attributes
    ----------
    used_bytes : int
        Disk that has been reserved for rows.
    drops : int
        How often the pages were given back to the system.

    Raises
    ------
    ScenarioError
        If no file can be made in the folder, or its files are in memory themselves.
    """

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder, self._most_bytes = folder, most_bytes
        self.used_bytes = self.drops = 0
        self._files = WeakSet[mmap.mmap]()
        self._unchecked_bytes = 0
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise ScenarioError(
                f'[run] spill_dir = "{folder}": {error.strerror}; name a folder of a disk that '
                "every machine of the run has and may write to"
            ) from error
        if (system := file_system(folder)) in _IN_MEMORY:
            raise ScenarioError(
                f'[run] spill_dir = "{folder}": its files are in memory ({system}), which models '
                "would fill all the same; name a folder of a disk"
            )

    def table(self, rows: int, columns: int, dtype: torch.dtype) -> tuple[Tensor, Reserve]:
        """A table in a file of its own, and what reserves disk for its first rows.

        Parameters
        ----------
        rows, columns : int
        dtype : torch.dtype

        Returns
        -------
        table : torch.Tensor
            (rows, columns); of undefined content.
        reserve : callable
            (rows) -> None; to be called before these are written.
        """
        row_bytes = columns * dtype.itemsize
        with tempfile.TemporaryFile(dir=self.folder) as file:
            descriptor = os.dup(file.fileno())
            os.ftruncate(descriptor, rows * row_bytes)
            memory = mmap.mmap(descriptor, rows * row_bytes)
        self._files.add(memory)
        reserved = [0]

        def reserve(wanted: int) -> None:
            if wanted * row_bytes <= reserved[0]:
                return
            more = max(wanted * row_bytes - reserved[0], RESERVED_BYTES)
            more = min(more, rows * row_bytes - reserved[0])
            try:
                if hasattr(os, "posix_fallocate"):  # elsewhere a full disk ends the process
                    os.posix_fallocate(descriptor, reserved[0], more)
            except OSError as error:
                raise ComputeError(
                    f'[run] spill_dir = "{self.folder}": {error.strerror} for '
                    f"{(self.used_bytes + more) / 1e9:.1f} GB of models; more machines, fewer "
                    "nodes, or a larger disk"
                ) from error
            reserved[0] += more
            self.used_bytes += more

        finalize(reserve, os.close, descriptor)
        array = np.frombuffer(memory, dtype=np.uint8)
        return torch.from_numpy(array).view(dtype).view(rows, columns), reserve

    def note_access(self, size: int) -> None:
        """Note that so many bytes of rows were read or written; give pages back if need be."""
        self._unchecked_bytes += size
        if self._unchecked_bytes < CHECKED_BYTES:
            return
        self._unchecked_bytes = 0
        mapped = _status_bytes("RssFile")
        if mapped is None or mapped > self._most_bytes:
            self.drops += 1
            for memory in self._files:
                memory.madvise(mmap.MADV_DONTNEED)  # of a shared file: its content stays

    @property
    def rows_at_once(self) -> int:
        """Bytes of rows that one call may hold in other memory."""
        return max(self._most_bytes // 4, 1)


Reserve = Callable[[int], None]


def most_resident_bytes() -> int | None:
    """Return the most memory that this process took; None where the system does not say."""
    return _status_bytes("VmHWM")


def file_system(folder: Path) -> str:
    """Return the type of the file system of a folder, as Linux calls it; empty: it is not told."""
    try:
        device = folder.stat().st_dev
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # another system
        return ""
    number = f"{os.major(device)}:{os.minor(device)}"
    found = [line for line in mounts if line.split()[2] == number]
    return found[0].partition(" - ")[2].split()[0] if found else ""


def _status_bytes(name: str) -> int | None:
    """Size [bytes] in Linux's status of this process; None if it is not there."""
    try:
        lines = _STATUS.read_text(encoding="ascii").splitlines()
    except OSError:  # another system
        return None
    sizes = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
    return int(sizes[0]) * 1024 if sizes else None
