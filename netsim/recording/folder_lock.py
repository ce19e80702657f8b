"""A folder of results belongs to one process at a time.

`acquire(folder)` locks a folder or raises `FolderBusyError`; `held(folder)` does so for a `with`
block and may be nested; `release(folder)` gives it back; `move` renames what is locked. All are for
the folder of a run, for the parent folder of several algorithms, and for that of a sweep. Only what
goes on with unfinished work, or moves it aside, passes `take_over=True`.

A lock is a file `.lock-<n>` in the folder, created exclusively, which names process, host and
machine, and whose modification time is the process' heartbeat. The highest number holds the folder.
Taking over means creating the next number, so of several that try one succeeds. A lock is stale if
its process is dead on this machine, or if it is another machine's and its last heartbeat is more
than two minutes ago (clocks of machines that share a file system are taken to agree to within a
minute). The heartbeat of a clock that is ahead is watched for a while: it beats, or is stale.
"""

import atexit
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from netsim.errors import FolderBusyError, FolderLostError, ScenarioError, one_line
from netsim.recording import lock_holder
from netsim.recording.lock_holder import Holder, is_stale, read, this_process

OF_OTHERS = ("tensorboard", "wandb")
"""Folders that belong to other programs, which may add to them, and to what they are, any time."""

_PREFIX = ".lock-"


@dataclass
class _Lock:
    """A lock of this process.

    Attributes
    ----------
    path : Path
    holder : Holder
    depth : int
        How many `held` and `acquire` have not ended.
    lost : bool
        Whether the file has gone, or another one follows it.
    """

    path: Path
    holder: Holder
    depth: int = 1
    lost: bool = False


_locks: dict[str, _Lock] = {}
"""The locks of this process, by the real path of their folder."""

_guard = threading.RLock()
_stop = threading.Event()


def acquire(folder: Path, take_over: bool = False) -> Holder | None:
    """Lock a folder for this process, which may hold it already; `release` ends it.

    Parameters
    ----------
    folder : Path
        Must exist.
    take_over : bool
        Whether a stale lock may be replaced; only by what goes on with unfinished work.

    Returns
    -------
    Holder or None
        The dead process whose lock was replaced, if there was one.

    Raises
    ------
    FolderBusyError
        If a process holds the folder, or held it when it died and `take_over` is False.
    """
    key = os.path.realpath(folder)
    with _guard:
        own = _own(key)
        if own is not None:
            own.depth += 1
            return None
        real = Path(key)
        files = _files(real)
        before = read(files[-1]) if files else None
        if files and before is not None:
            _refuse(folder, files[-1], before, take_over)
        number = _number(files[-1]) + 1 if files else 0
        path, holder = real / f"{_PREFIX}{number}", this_process()
        _create(folder, path, holder)
        for other in _files(real):
            if other == path:
                continue
            found = read(other)
            if found is not None and not is_stale(other, found):  # both have come at one moment
                path.unlink(missing_ok=True)
                raise FolderBusyError(_in_use(folder, found))
            other.unlink(missing_ok=True)
        _remove_drafts(real)
        _locks[key] = _Lock(path, holder)
        _beat_from_now_on()
        return before


def release(folder: Path) -> None:
    """End one `acquire`; the last one removes the lock. Does nothing for what is not locked."""
    key = os.path.realpath(folder)
    with _guard:
        own = _own(key)
        if own is None:
            return
        own.depth -= 1
        if own.depth == 0:
            _drop(key, own)


def move(folder: Path, to: Path) -> None:
    """Rename a folder that this process has locked, and end its lock there.

    Parameters
    ----------
    folder : Path
    to : Path
        An empty folder, whose place it takes.

    Raises
    ------
    FolderLostError, OSError
        If it was removed or taken over, or can't be renamed.
    """
    key = os.path.realpath(folder)
    with _guard:
        own = _own(key)
        if own is None:
            raise FolderLostError(_loss(folder))
        folder.replace(to)
        del _locks[key]
        with suppress(OSError):
            (to / own.path.name).unlink(missing_ok=True)
        if not _locks:
            _stop.set()


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
    """The living process that holds a folder, or None."""
    files = _files(folder)
    found = read(files[-1]) if files else None
    return None if found is None or is_stale(files[-1], found) else found


def left_by(folder: Path) -> Holder | None:
    """The dead process that held a folder when it ended, or None."""
    files = _files(folder)
    found = read(files[-1]) if files else None
    return found if found is not None and is_stale(files[-1], found) else None


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
        if not inside or own.holder.pid != os.getpid():
            continue
        if not _still_held(Path(key), own):
            raise FolderLostError(_loss(Path(key)))
        found = True
    return found


def _loss(folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder}: was removed while it was written into"
    other = holder(folder)
    if other is not None:
        return f"{folder}: was taken over by {other}; this process no longer writes into it"
    return f"{folder}: its lock was removed while it was written into"


def _refuse(folder: Path, path: Path, found: Holder, take_over: bool) -> None:
    """Raise unless the folder's lock may be replaced."""
    if not is_stale(path, found):
        raise FolderBusyError(_in_use(folder, found))
    if not take_over:
        raise FolderBusyError(
            f"{folder}: was left by {found}, which no longer runs; go on with netsim resume, or "
            "choose another folder"
        )


def _in_use(folder: Path, found: Holder) -> str:
    return f"{folder}: {found} is writing into it; wait for its end or choose another folder"


def _create(folder: Path, path: Path, holder: Holder) -> None:
    """Create a lock, and whole: without a name first, where the file system can link."""
    draft = path.with_name(f"{_PREFIX}new-{holder.token}")
    try:
        with draft.open("x", encoding="utf-8") as file:
            json.dump(asdict(holder), file)
        try:
            os.link(draft, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            with path.open("x", encoding="utf-8") as file:
                json.dump(asdict(holder), file)
    except FileExistsError:
        other = read(path) or Holder()
        raise FolderBusyError(_in_use(folder, other)) from None
    except OSError as error:
        raise FolderBusyError(f"{folder}: cannot be locked: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _remove_drafts(folder: Path) -> None:
    """Remove drafts that killed processes left; one of a process that comes too late is in vain."""
    for path in folder.glob(f"{_PREFIX}new-*"):
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _files(folder: Path) -> list[Path]:
    """The locks in a folder, the one that holds it last."""
    try:
        found = [p for p in folder.iterdir() if is_lock(p) and p.name[len(_PREFIX) :].isdecimal()]
    except OSError:
        return []
    return sorted(found, key=_number)


def _number(path: Path) -> int:
    return int(path.name[len(_PREFIX) :])


def _own(key: str) -> _Lock | None:
    """The lock that the process has on a folder; a fork has none, nor has who lost it."""
    own = _locks.get(key)
    if own is None or own.holder.pid != os.getpid():
        return None
    if _still_held(Path(key), own):
        return own
    del _locks[key]
    return None


def _still_held(folder: Path, own: _Lock) -> bool:
    if not own.lost:
        files = _files(folder)
        own.lost = not files or files[-1] != own.path or read(own.path) != own.holder
    return not own.lost


def _drop(key: str, own: _Lock) -> None:
    del _locks[key]
    with suppress(OSError):
        own.path.unlink(missing_ok=True)
    if not _locks:
        _stop.set()


def _beat_from_now_on() -> None:
    """Start the heartbeat with the first lock; it ends with the last."""
    global _stop
    if len(_locks) == 1:
        _stop.set()
        _stop = threading.Event()
        threading.Thread(target=_beat, args=(_stop,), name="folder-locks", daemon=True).start()


def _beat(stop: threading.Event) -> None:
    while not stop.wait(lock_holder.HEARTBEAT_S):
        for own in tuple(_locks.values()):
            with suppress(OSError):
                os.utime(own.path)


@atexit.register
def _release_all() -> None:
    with _guard:
        for key, own in tuple(_locks.items()):
            if own.holder.pid == os.getpid() and _still_held(Path(key), own):
                _drop(key, own)
