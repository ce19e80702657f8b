"""Temporary folders that do not outlive their process for long, however it ends.

A process that is killed can't remove its folder. So each folder is locked (`folder_lock`), and
whoever makes one first removes those whose process is gone.
"""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from weakref import finalize

from netsim.recording import folder_lock


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
        for other in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            if folder_lock.left_by(other) is not None and _is_own(other):
                _empty(other)
                shutil.rmtree(other, ignore_errors=True)
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        folder_lock.acquire(self.path)
        self._end = finalize(self, _remove, self.path, os.getpid())

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


def _is_own(folder: Path) -> bool:
    """Return whether a folder is of this user; where systems do not say, all are."""
    try:
        return not hasattr(os, "getuid") or folder.lstat().st_uid == os.getuid()
    except OSError:
        return False


def _remove(folder: Path, process: int) -> None:
    if os.getpid() != process:
        return  # a fork of the process that made it
    _empty(folder)
    folder_lock.release(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _empty(folder: Path) -> None:
    """Remove all but the lock: what a process that is killed meanwhile leaves still names it."""
    with suppress(OSError):
        for inside in folder.iterdir():
            if not folder_lock.is_lock(inside):
                shutil.rmtree(inside, ignore_errors=True)
                inside.unlink(missing_ok=True)
