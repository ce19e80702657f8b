"""Files that are never seen incomplete.

A file is filled under a name that readers skip (it begins with a dot) and that nobody else uses,
brought to the disk, and then renamed. So a process that is killed, or a disk that is full, leaves
the file that was there before, or none; and of several processes that write one file at once, each
writes all of it and the last one stays.
"""

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from netsim.errors import FolderError
from netsim.recording.folder_lock import require_held

_KEPT = 100
"""Signs of a file's name that stand in that of its beginnings."""


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a file beside `path`, then rename it, so that `path` is never incomplete.

    Parameters
    ----------
    path : Path
    write : callable
        (path) -> anything; writes the file.

    Raises
    ------
    FolderError
        If it can't be written, or its folder was removed or taken over; `path` is as it was.
    """
    require_held(path)
    partial = path.with_name(f".{path.name[:_KEPT]}.{secrets.token_hex(4)}.partial")
    try:
        write(partial)
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise FolderError(f"{path}: can't be written: {reason(error)}") from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless they are there.

    Raises
    ------
    FolderError
        If it can't be made: something else has its name, say.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"{folder}: can't be made a folder: {reason(error)}") from error


def sync_names(folder: Path) -> None:
    """Bring the names of a folder's files to the disk itself, where the system can do so."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole; see `write_whole`."""
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def reason(error: OSError) -> str:
    """Why the system refused, in its own words: `No space left on device`."""
    return os.strerror(error.errno) if error.errno else str(error)
