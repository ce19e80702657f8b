"""The folder of a run's results: whether it is free, claimed for this process, given back."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from netsim.engine.checkpoints import command
from netsim.engine.checkpoints.command import SCENARIO
from netsim.errors import FolderBusyError, ScenarioError, one_line
from netsim.recording import checksums, folder_lock
from netsim.recording.checksums import JOURNAL
from netsim.recording.folder_lock import is_lock
from netsim.recording.schema import TABLES
from netsim.recording.whole_files import place_problem
from netsim.traces.files import spelt_out

RUNS = Path("runs")


BEFORE_BEGUN = (
    f"{JOURNAL}/{command.FILE}",
    f"{JOURNAL}/.{command.FILE}.partial",
    f"{JOURNAL}/{SCENARIO}",
    f"{JOURNAL}/.{SCENARIO}.partial",
    ".scenario.toml.partial",
)
"""Files that are written before `scenario.toml`, with which a run has begun."""


EMPTY_BEFORE = (JOURNAL, *TABLES)
"""Folders that a run makes before that."""


def out_problem(out: Path, option: str = "--out") -> str | None:
    """Why results can't be written to a folder, or None. Writes nothing."""
    said = f"{option} {one_line(out)}"
    if spelt_out(str(out)) != out:
        return (
            f"{said}: names a folder ~ here, and not the home folder, as the shell has not spelt "
            f"it out; write a space in place of the = before it, or {one_line(out.absolute())}"
        )
    try:
        if (above := _run_above(out)) is not None:
            return (
                f"{said}: lies in {one_line(above)}, which holds a run or a sweep, and would be of "
                "its files; choose a folder beside it"
            )
        kind = _file_mode(out)
        if kind is None:
            problem = place_problem(out)
            return None if problem is None else f"{said}: {problem}"
        if not stat.S_ISDIR(kind):
            return f"{said}: is not a folder"
        occupied = _occupied(out, option)
        if occupied is None and not os.access(out, os.W_OK | os.X_OK):
            if _file_mode(out) is None:
                return out_problem(out, option)
            return f"{said}: cannot be written: no permission in {one_line(out)}"
        return occupied
    except OSError as error:
        return f"{said}: cannot be read: {error.strerror}"


def _run_above(out: Path) -> Path | None:
    """The folder of a run or a sweep in which a folder lies; None: it lies in none."""
    signs = checksums.NAME, f"{command.FOLDER}/{command.FILE}"
    return next(
        (above for above in out.absolute().parents if any((above / s).is_file() for s in signs)),
        None,
    )


def _file_mode(path: Path) -> int | None:
    """Return the mode of what stands at a path, links followed; None: nothing stands there.

    One look, not several: another process may create the folder between two.
    """
    for look in (os.stat, os.lstat):  # lstat: a link to nothing is something
        try:
            return look(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
    return None


def _occupied(out: Path, option: str) -> str | None:
    """Why a folder that is there is not free for results, or None."""
    taken = _lock_message(out, option)
    if taken is not None or is_left_empty(out):
        return taken
    taken = _lock_message(out, option)  # who writes locks first, perhaps since the first look
    if taken is not None:
        return taken
    said = f"{option} {one_line(out)}"
    if _file_mode(out) is None:  # whoever wrote has given it back
        return None
    if has_begun(out):
        dead = folder_lock.left_by(out)
        left = f"holds what {dead}, which no longer runs, left unfinished" if dead else ""
        if not dead and (out / command.FOLDER / command.FILE).is_file():
            left = "holds an unfinished run"
        if left:
            goes_on = f"go on with netsim resume {one_line(out)}"
            return f"{said}: {left}; {goes_on}, or choose another folder"
    return f"{said}: is not empty; results never go into an existing folder"


def _lock_message(out: Path, option: str) -> str | None:
    """Holder of a folder's lock; None: nobody."""
    holder = folder_lock.holder(out)
    if holder is None or holder.pid == os.getpid():
        return None
    said = f"{option} {one_line(out)}"
    return f"{said}: {holder} writes into it; wait for its end or choose another folder"


def has_begun(folder: Path) -> bool:
    """Return whether there is a run in a folder with which `resume` goes on, or that has ended.

    A run that was killed before has written nothing that matters: `netsim run` takes its folder.
    """
    return (folder / "scenario.toml").is_file()


def is_left_empty(folder: Path) -> bool:
    """Return whether a folder holds nothing, or only what a run writes before it has begun."""
    with suppress(FileNotFoundError):  # another process takes away the little there was
        return all(
            is_lock(path) or path.relative_to(folder).as_posix() in BEFORE_BEGUN
            for path in folder.rglob("*")
            if not (path.is_dir() and path.parent == folder and path.name in EMPTY_BEFORE)
        )
    return is_left_empty(folder) if folder.is_dir() else True


def claim(out: Path | None, name: str) -> Path:
    """Create and lock the folder of a run: `out`, or the first free of runs/NAME, runs/NAME-2, ...

    `folder_lock.release` gives it back.

    Raises
    ------
    ScenarioError
        If it can't be created, is not empty, or belongs to another process.
    """
    if out is not None:
        problem = out_problem(out)
        if problem:
            raise ScenarioError(problem)
        _make_folder(out, exist_ok=True)
        folder_lock.acquire(out, take_over=not has_begun(out))
        problem = out_problem(out)  # another process may have come and gone
        if problem:
            folder_lock.release(out)
            raise ScenarioError(problem)
        return out
    number = 1
    while True:
        folder = RUNS / (name if number == 1 else f"{name}-{number}")
        try:
            _make_folder(folder, exist_ok=False)
            folder_lock.acquire(folder)
            return folder
        except (FileExistsError, FolderBusyError):
            number += 1


def _make_folder(folder: Path, exist_ok: bool) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=exist_ok)
    except FileExistsError:
        raise
    except OSError as error:
        raise ScenarioError(f"--out {folder}: cannot be created: {error.strerror}") from error
    return folder


def release(folder: Path) -> bool:
    """Remove a claimed folder in which nothing has been played; whether it is gone."""
    inside = [path for path in sorted(folder.rglob("*"), reverse=True) if not is_lock(path)]
    begun = [folder / name for name in (*BEFORE_BEGUN, "scenario.toml")]
    if not all(path.is_dir() or path in begun for path in inside):
        return False
    for path in begun:
        path.unlink(missing_ok=True)
    folder_lock.release(folder)
    with suppress(OSError):  # another process has come
        for path in (*(p for p in inside if p not in begun), folder):
            path.rmdir()
        if folder.parent == RUNS:
            RUNS.rmdir()
    return not folder.exists()
