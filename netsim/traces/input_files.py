"""Files from outside that a world was made of, and their checksums.

Readers call `note_files` for each file that they find; a caller that needs the list runs them
inside `collect_files`. Files are hashed after they have been read: then they are in the system's
cache, and files that are too large have been refused.
"""

import hashlib
import stat
from collections.abc import Iterable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from netsim.traces.context_notes import collecting

_CHUNK = 1 << 20

FileStates = tuple[tuple[Path, tuple[int, ...] | None], ...]
"""Inode, size [byte] and time of change [ns] of files and folders."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file as it was read.

    Attributes
    ----------
    file : str
        Its absolute path.
    bytes : int
    sha256 : str
        In hexadecimal digits.
    """

    file: str
    bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "InputFile":
        """Hash a plain file.

        Raises
        ------
        OSError
            If it can't be read, or is a pipe or a device.
        """
        _size(path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return cls(str(path.absolute()), file.tell(), digest)

    def is_as_it_was(self) -> bool:
        """Return whether the file holds the same now; no more of it is read than it had.

        Raises
        ------
        OSError
            If it can't be read, or is a pipe or a device.
        """
        path, digest, left = Path(self.file), hashlib.sha256(), self.bytes
        if _size(path) != self.bytes:  # before it is opened: reading it may wait for ever
            return False
        with path.open("rb") as file:
            while left > 0 and (content := file.read(min(left, _CHUNK))):
                digest.update(content)
                left -= len(content)
        return digest.hexdigest() == self.sha256


def _size(path: Path) -> int:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path} is not a plain file")
    return status.st_size


class Notes:
    """The files that were noted; `hashed` once they have been read."""

    def __init__(self) -> None:
        self._paths: dict[Path, InputFile | None] = {}

    def add(self, path: Path, known: InputFile | None = None) -> None:
        """Note a file, with its checksum if that is known already."""
        self._paths[path] = known or self._paths.get(path)

    def hashed(self) -> tuple[InputFile, ...]:
        """The files in the order in which they were found."""
        return tuple(known or InputFile.of(path) for path, known in self._paths.items())


_notes: ContextVar[Notes | None] = ContextVar("notes of input files", default=None)


def collect_files() -> AbstractContextManager[Notes]:
    """Collect the files that are noted inside the `with` block."""
    return collecting(_notes, Notes())


def note_files(paths: Iterable[Path]) -> None:
    """Note files that are about to be read."""
    notes = _notes.get()
    if notes is not None:
        for path in paths:
            notes.add(path)


def note_read(files: Iterable[InputFile]) -> None:
    """Note files that have been read before, and what they were then."""
    notes = _notes.get()
    if notes is not None:
        for file in files:
            notes.add(Path(file.file), file)


def states_of(files: Iterable[InputFile]) -> FileStates:
    """Sizes and times of change of files and of their folders; None for one that is gone.

    What was made of files is kept beside them: it holds as long as they are equal.
    """
    paths = [Path(file.file) for file in files]
    found: dict[Path, tuple[int, ...] | None] = {}
    for path in (*paths, *(path.parent for path in paths)):
        try:
            about = path.stat()
            found[path] = about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
        except OSError:
            found[path] = None
    return tuple(found.items())
