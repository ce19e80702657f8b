"""A folder of results belongs to one process, and to one of its threads, at a time.

`acquire(folder)` locks a folder or raises `FolderBusyError`; `held(folder)` does so for a `with`
block and may be nested; `release(folder)` gives it back; `move` renames what is locked. All are for
the folder of a run, for the parent folder of several algorithms, and for that of a sweep. Only what
goes on with unfinished work, or moves it aside, passes `take_over=True`.

The lock is `flock` on the file `.lock-held`, by filelock: the kernel ends it with the process, on
a disc of the network its server does (NFS 4, and NFS 3 with its lock service). Where a file system
knows no `flock`, filelock keeps a file that names process and host instead. `.lock-by` names the
process for people; where it is left behind, its process was killed.
"""

import atexit
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from netsim.errors import FolderBusyError, FolderLostError, ScenarioError, one_line
from netsim.traces.bounded import open_plain_file

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

OF_OTHERS = ("tensorboard", "wandb")
"""Folders that belong to other programs, which may add to them, and to what they are, any time."""

PATIENCE_S = 0.25
"""A folder that another process only looks at, or gives back, is free within this time."""

_PREFIX, _LOCK, _HOLDER = ".lock-", ".lock-held", ".lock-by"

_UNREADABLE = (
    *(OSError, ValueError, ArithmeticError, TypeError, KeyError, RecursionError, ScenarioError),
)


@dataclass(frozen=True)
class Holder:
    """The process that holds a folder, or held it; number 0 if unknown."""

    pid: int = 0
    host: str = ""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}" if self.pid else "an unknown process"


@dataclass
class _Lock:
    """A lock of this process: its file's device and inode, and how many `acquire` have not ended.

    `pid` is of this process: a fork of it has no locks. `thread` is the one that took it, whose
    calls may be nested.
    """

    lock: Any
    file: tuple[int, int]
    pid: int
    thread: int
    depth: int = 1


_locks: dict[str, _Lock] = {}
"""The locks of this process, by the real path of their folder."""

_guard = threading.RLock()


def acquire(folder: Path, take_over: bool = False) -> Holder | None:
    """Lock a folder for this thread, which may hold it already; `release` ends it.

    `folder`: must exist. `take_over`: whether to go on where a process was killed that held it.

    Returns
    -------
    Holder or None
        The dead process that held it, if there was one.

    Raises
    ------
    FolderBusyError
        If a process, or another thread of this one, holds the folder, or if a process held it when
        it died and `take_over` is False.
    """
    from filelock import FileLock, Timeout  # here: it need not load where nothing is locked

    key = os.path.realpath(folder)
    with _guard:
        if (own := _own_lock(key)) is not None:
            if own.thread != threading.get_ident():
                raise FolderBusyError(_in_use(folder, "another thread of this process"))
            own.depth += 1
            return None
        path = Path(key, _LOCK)
        lock = FileLock(path, thread_local=False)
        try:
            lock.acquire(timeout=PATIENCE_S, poll_interval=0.02)
            found = path.stat()
        except Timeout:
            raise FolderBusyError(_in_use(folder, _read_holder(Path(key)) or Holder())) from None
        except (OSError, NotImplementedError) as error:
            lock.release(force=True)
            why = getattr(error, "strerror", None) or error
            raise FolderBusyError(f"{folder}: cannot be locked: {why}") from error
        before = _read_holder(Path(key))
        if before is not None and not take_over:
            with suppress(OSError):
                path.unlink()
            lock.release()
            raise FolderBusyError(
                f"{folder}: was left by {before}, which no longer runs; go on with netsim resume, "
                "or choose another folder"
            )
        holder, named = Holder(os.getpid(), socket.gethostname()), Path(key, _HOLDER)
        with suppress(OSError):  # a full disc: the folder is locked all the same
            named.unlink(missing_ok=True)  # a link would lead elsewhere
            named.write_text(json.dumps(asdict(holder)), encoding="utf-8")
        file = (found.st_dev, found.st_ino)
        _locks[key] = _Lock(lock, file, os.getpid(), threading.get_ident())
        return before


def release(folder: Path) -> None:
    """End one `acquire`; the last one removes the lock. Does nothing for what is not locked."""
    key = os.path.realpath(folder)
    with _guard:
        own = _own_lock(key)
        if own is None:
            return
        own.depth -= 1
        if own.depth == 0:
            _drop(key, Path(key))


@contextmanager
def released() -> Iterator[list[Path]]:
    """Yield an empty list; release the folders that are in it at the end."""
    locked: list[Path] = []
    try:
        yield locked
    finally:
        for folder in locked:
            release(folder)


def move(folder: Path, to: Path) -> None:
    """Rename a folder that this process has locked, and end its lock there.

    `to`: an empty folder, whose place it takes.

    Raises
    ------
    FolderLostError, OSError
        If it was removed or taken over, or can't be renamed.
    """
    key = os.path.realpath(folder)
    with _guard:
        if _own_lock(key) is None:
            raise FolderLostError(_loss(folder))
        folder.replace(to)
        _drop(key, to)


@contextmanager
def held(folder: Path, take_over: bool = False) -> Iterator[Holder | None]:
    """`acquire` for a `with` block; may be nested.

    Raises
    ------
    FolderBusyError
        As `acquire` does.
    ScenarioError
        If a folder inside is a link.
    """
    replaced = acquire(folder, take_over)
    try:
        require_no_linked_folders(folder)
        yield replaced
    finally:
        release(folder)


def require_no_linked_folders(folder: Path) -> None:
    """Refuse to write where a folder inside is a link: what it leads to is none of the run's.

    Raises
    ------
    ScenarioError
    """
    for above, names, _ in os.walk(folder):
        names[:] = [name for name in names if name not in OF_OTHERS]
        for name in names:
            inside = Path(above, name)
            if inside.is_symlink():
                raise ScenarioError(
                    f"{one_line(inside)}: is a link to another folder, into which nothing is "
                    "written; put the folder itself in its place"
                )


def holder(folder: Path) -> Holder | None:
    """Return the living process that holds a folder, or None."""
    return (_read_holder(folder) or Holder()) if _is_locked(folder / _LOCK) else None


def left_by(folder: Path) -> Holder | None:
    """Return the dead process that held a folder when it ended, or None."""
    return None if _is_locked(folder / _LOCK) else _read_holder(folder)


def is_lock(path: Path) -> bool:
    """Return whether a file is a lock: a folder with nothing else counts as empty."""
    return path.name.startswith(_PREFIX)


def require_held(path: Path) -> bool:
    """Raise if a folder above `path`, locked by this process, has been removed or taken over.

    Returns
    -------
    bool
        Whether this process has locked one.

    Raises
    ------
    FolderLostError
    """
    found = False
    if not _locks:
        return found
    real = os.path.realpath(path.parent)
    for key, own in tuple(_locks.items()):
        inside = real == key or real.startswith(key + os.sep)
        if not inside or own.pid != os.getpid():
            continue
        if not _still_held(key, own):
            raise FolderLostError(_loss(Path(key)))
        found = True
    return found


def _is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file; looking takes it from nobody."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        if fcntl is None:
            from filelock import lock_descriptor  # here: most folders have no such file

            return not lock_descriptor(file, blocking=False)
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two may look at once
    except BlockingIOError:
        return True
    except OSError:  # no flock there: filelock removes its file when it gives it back
        return _is_alive(_read_holder(path.parent))
    finally:
        os.close(file)
    return False


def _is_alive(found: Holder | None) -> bool:
    if found is None or not found.pid or found.host != socket.gethostname():
        return True
    try:
        os.kill(found.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        pass
    return True


def _read_holder(folder: Path) -> Holder | None:
    """Return the process that a folder's lock names."""
    path = folder / _HOLDER
    try:
        with open_plain_file(path, str(path)) as file:
            content = json.loads(file.read(4096))
        return Holder(int(content["pid"]), str(content["host"]))
    except FileNotFoundError:
        return None
    except _UNREADABLE:
        return Holder()


def _loss(folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder}: was removed while it was written into"
    other = holder(folder)
    if other is not None:
        return f"{folder}: was taken over by {other}; this process no longer writes into it"
    return f"{folder}: its lock was removed while it was written into"


def _in_use(folder: Path, found: Holder | str) -> str:
    return f"{folder}: {found} is writing into it; wait for its end or choose another folder"


def _own_lock(key: str) -> _Lock | None:
    """The lock that the process has on a folder; a fork has none, nor has who lost it."""
    own = _locks.get(key)
    if own is None or own.pid != os.getpid():
        return None
    if _still_held(key, own):
        return own
    _locks.pop(key).lock.release(force=True)
    return None


def _still_held(key: str, own: _Lock) -> bool:
    try:
        found = os.stat(os.path.join(key, _LOCK))
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == own.file


def _drop(key: str, folder: Path) -> None:
    """End a lock whose files are in `folder`: who waits finds them gone, and makes new ones."""
    own = _locks.pop(key)
    for name in (_HOLDER, _LOCK):
        with suppress(OSError):
            (folder / name).unlink()
    own.lock.release(force=True)


@atexit.register
def _release_all() -> None:
    with _guard:
        for key, own in tuple(_locks.items()):
            if own.pid == os.getpid() and _still_held(key, own):
                _drop(key, Path(key))
