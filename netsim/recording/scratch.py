"""Temporary folders that do not outlive their process for long, however it ends.

A process that is killed can't remove its folder. So each folder is locked (`flock`, which the
system ends with the process), and whoever makes one first removes those that nobody holds.
"""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from weakref import finalize

try:
    import fcntl
except ImportError:  # Windows: folders of killed processes stay
    fcntl = None  # type: ignore[assignment]


class ScratchFolder:
    """A folder below the system's temporary one, for a `with` block or until `remove`.

    `purpose`: word in its name, `netsim-PURPOSE-...`. Folders of the same purpose that killed
    processes of this user left are removed first.

    Attributes
    ----------
    path : Path
    """

    def __init__(self, purpose: str) -> None:
        prefix = f"netsim-{purpose}-"
        for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            _remove_unless_held(left)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=prefix))
            lock = _locked(self.path, wait=True)
            if lock is None or self.path.is_dir():  # else it went before it was locked
                break
            os.close(lock)
        self._end = finalize(self, _remove, self.path, lock, os.getpid())

    def remove(self) -> None:
        """Remove the folder with all that is in it; may be called again."""
        self._end()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.remove()


def _locked(folder: Path, wait: bool) -> int | None:
    """Lock a folder of this user; None if it is none, or no lock can be had.

    Returns
    -------
    int or None
        A descriptor, whose closing ends the lock.
    """
    if fcntl is None:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_uid == os.getuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            return descriptor
    except OSError:  # somebody holds it, or the file system knows no such lock
        pass
    os.close(descriptor)
    return None


def _remove_unless_held(folder: Path) -> None:
    descriptor = _locked(folder, wait=False)
    if descriptor is not None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _remove(folder: Path, lock: int | None, process: int) -> None:
    if os.getpid() != process:
        return  # a fork of the process that made it
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        with suppress(OSError):
            os.close(lock)
