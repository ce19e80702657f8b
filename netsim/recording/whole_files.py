"""Files that are never seen incomplete.

A file is filled under a name that readers skip (it begins with a dot), brought to the disk, and
then renamed. So a process that is killed, or a disk that is full, leaves the file that was there
before, or none. In a folder that this process holds it alone writes, and the name is always the
same, so that what a killed process left of it goes when it is written again; elsewhere nobody else
uses the name, and of several processes that write one file at once, each writes all of it and the
last one stays.

Its SHA-256 is taken of the bytes in memory, on their way to the disk; `collect_digests` collects
those of what this process has written into a folder, so that a file that was lost or altered since
is told apart from what was written.
"""

import hashlib
import io
import itertools
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, TypeVar

from netsim.errors import FolderError, ScenarioError, one_line
from netsim.recording.folder_lock import require_held

T = TypeVar("T")

_KEPT = 100
"""Signs of a file's name that stand in that of its beginnings."""

_SHOWN = 300
"""Signs of a name up to which all of it stands in an error."""

Digests = dict[str, str]
"""SHA-256 in hexadecimal digits, by the name of a file in its folder, with forward slashes."""

_records: dict[str, Digests] = {}
"""Digests of what is written into folders, by their real paths, while `collect_digests` is open."""


@contextmanager
def collect_digests(folder: Path) -> Iterator[Digests]:
    """Collect the digest of each file that `write_whole` writes into a folder; may be nested."""
    key = os.path.realpath(folder)
    own = _records.get(key)
    if own is not None:
        yield own
        return
    _records[key] = {}
    try:
        yield _records[key]
    finally:
        del _records[key]


def written_into(folder: Path) -> Digests:
    """The digests that `collect_digests` has for a folder so far; empty where it is not open."""
    return _records.get(os.path.realpath(folder), {})


class _Hashing(io.RawIOBase):
    """A file of bytes that is written from its beginning to its end, and hashed on the way."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file, self._digest, self._size = file, hashlib.sha256(), 0

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._digest.update(view)
        self._file.write(view)
        self._size += len(view)
        return len(view)

    def tell(self) -> int:
        return self._size

    def writable(self) -> bool:
        return True

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def write_whole(path: Path, write: Callable[[io.RawIOBase], object]) -> str:
    """Let `write` fill a file beside `path`, then rename it, so that `path` is never incomplete.

    `write`: (file) -> anything; writes the bytes, one after the other: the file can't seek.

    Returns
    -------
    str
        The SHA-256 of what was written, in hexadecimal digits.

    Raises
    ------
    FolderError
        If it can't be written, its folder was removed or taken over, or it is a device, a pipe or
        a socket; `path` is as it was.
    """
    if _is_of_the_system(path):
        raise FolderError(f"{path}: can't be written: is no plain file; name another one")
    of_its_own = "" if require_held(path) else f".{secrets.token_hex(4)}"
    partial = path.with_name(f".{path.name[:_KEPT]}{of_its_own}.partial")
    try:
        partial.unlink(missing_ok=True)  # a link would lead elsewhere
        with partial.open("xb") as file:
            hashing = _Hashing(file)
            write(hashing)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FolderError(f"{path}: can't be written: {reason(error)}") from error
        raise
    digest = hashing.hexdigest()
    _note(path, digest)
    return digest


def _is_of_the_system(path: Path) -> bool:
    """Return whether a path is a device, a pipe or a socket.

    A file must not take the place of one.
    """
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))


def _note(path: Path, digest: str) -> None:
    """Note what was written for each folder above it that is recorded."""
    if not _records:
        return
    real = os.path.join(os.path.realpath(path.parent), path.name)
    for key, digests in _records.items():
        if real.startswith(key + os.sep):
            digests[os.path.relpath(real, key).replace(os.sep, "/")] = digest


def make_folder(folder: Path, above: bool = True) -> None:
    """Make a folder, and (`above`) those above it, unless they are there.

    Raises
    ------
    FolderError
        If it can't be made: something else has its name, say.
    """
    try:
        folder.mkdir(parents=above, exist_ok=True)
    except OSError as error:
        raise FolderError(f"{folder}: can't be made a folder: {reason(error)}") from error


def free_folder(folder: Path, mark: str) -> Path:
    """Make the first of NAME{mark}1, NAME{mark}2, ... beside a folder that is not there yet."""
    for number in itertools.count(1):
        made = folder.with_name(f"{folder.name}{mark}{number}")
        with suppress(FileExistsError):
            made.mkdir()
            return made
    raise AssertionError


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a name beside `path` for a new file or folder, which becomes `path` when it is whole.

    Whatever goes wrong meanwhile leaves nothing behind.

    `path`: where nothing is. Its name is the end of the one that is given.
    """
    partial = path.with_name(f".{secrets.token_hex(4)}.partial-{path.name[-_KEPT:]}")
    try:
        yield partial
        partial.rename(path)
    except BaseException:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def place_problem(path: Path) -> str | None:
    """Reason why no file or folder can be made at a path, or None. Makes none."""
    try:
        for above in path.parents:
            try:
                if not stat.S_ISDIR(above.stat().st_mode):
                    return f"cannot be created: {one_line(above)} is not a folder"
                if os.access(above, os.W_OK | os.X_OK):
                    break
                above.stat()  # another process may have just removed it
            except (FileNotFoundError, NotADirectoryError):
                if above.is_symlink():  # to nothing
                    return f"cannot be created: {one_line(above)} is not a folder"
                continue
            return f"cannot be written: no permission in {one_line(above)}"
        with suppress(FileNotFoundError, NotADirectoryError):
            path.lstat()  # a name that is too long is none
    except OSError as error:
        return f"cannot be created: {reason(error)}"
    except ValueError as error:
        return f"cannot be created: {error}"
    return None


def require_place(path: Path, option: str) -> None:
    """Refuse a file or folder of an option that can't be made; see `place_problem`.

    Raises
    ------
    ScenarioError
    """
    problem = place_problem(path)
    if problem is not None:
        named = one_line(path) if len(str(path)) < _SHOWN else f"{one_line(path)[:_KEPT]}..."
        raise ScenarioError(f"{option} {named}: {problem}; name another one")


def sync_names(folder: Path) -> None:
    """Bring the names of a folder's files to the disk itself, where the system can do so."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def while_unchanged(of_file: Callable[[Path], T]) -> Callable[[Path], T]:
    """Remember what a function of a file has given, for as long as the file is the same."""
    kept = lru_cache(4096)(lambda path, *_: of_file(path))

    def known(path: Path) -> T:
        stat = path.lstat()
        return kept(path, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)

    return known


def sha256_of(text: str) -> str:
    """The SHA-256 of a text file, in hexadecimal digits, as `write_text` writes it."""
    return hashlib.sha256(text.encode()).hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write a text file whole; see `write_whole`."""
    write_whole(path, lambda file: file.write(text.encode()))


def reason(error: OSError) -> str:
    """Why the system refused, in its own words: `No space left on device`."""
    return os.strerror(error.errno) if error.errno else str(error)
