"""Make room for a new run: what its folder holds moves to DIR.1, DIR.2, ...; nothing is lost."""

from pathlib import Path

from netsim.campaign.sweep_folder import ARGUMENTS
from netsim.engine.checkpoints import command
from netsim.errors import FolderBusyError, FolderLostError, ScenarioError, one_line
from netsim.recording import folder_lock
from netsim.recording.folder_lock import Holder, is_lock
from netsim.recording.whole_files import free_folder

RESULTS = ("status.json", ARGUMENTS, f"{command.FOLDER}/{command.FILE}", "*/status.json")
"""Files of a folder of a run or a sweep: other folders stay where they are."""


def must_move(out: Path, locked: bool = False) -> bool:
    """Return whether a folder holds results that have to make room; an empty one does not.

    Raises
    ------
    ScenarioError
        If it is no folder of results, a link, or a process writes into it.
    """
    said = f"--out {one_line(out)}"
    if out.is_symlink():
        raise ScenarioError(f"{said}: --force-new moves no link; name the folder that it leads to")
    try:
        if not out.is_dir():
            return False
        seen = out.stat().st_ino
        if all(is_lock(path) for path in out.iterdir()):
            return False
        if not locked and (begun := folder_lock.holder(out)) is not None:
            raise ScenarioError(_in_use(said, begun))
        if not any(path.is_file() for pattern in RESULTS for path in out.glob(pattern)):
            if out.stat().st_ino != seen:  # another process has begun in a new one
                return must_move(out, locked)
            raise ScenarioError(
                f"{said}: holds neither a run nor a sweep; --force-new moves no other folder"
            )
        if out.resolve() in (Path.cwd(), *Path.cwd().parents):
            raise ScenarioError(
                f"{said}: --force-new can't move the working folder; leave it first"
            )
        for lock in out.rglob(".lock-*"):
            holder = folder_lock.holder(lock.parent)
            if holder is not None and not (locked and lock.parent == out):
                raise ScenarioError(_in_use(said, holder))
    except FileNotFoundError:  # another process has just moved it
        return False
    return True


def _in_use(said: str, holder: Holder) -> str:
    return f"{said}: {holder} writes into it; --force-new moves no folder in use"


def move(out: Path) -> Path | None:
    """Move a folder of results aside; where to, or None where there was nothing to move.

    A process that comes at the same time finds the folder locked, or gone, or a new one.

    Raises
    ------
    ScenarioError
        As `must_move`, and if the folder can't be renamed.
    """
    if not must_move(out):
        return None
    try:
        folder_lock.acquire(out, take_over=True)
    except FolderBusyError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return move(out)  # another process has just moved it, and may have begun in a new one
        raise ScenarioError(f"--out {error}") from error
    try:
        # Another process may have moved it, and begun in a new one.
        return _move_aside(out) if must_move(out, locked=True) else None
    finally:
        folder_lock.release(out)


def _move_aside(out: Path) -> Path:
    aside = None
    try:
        aside = free_folder(out, ".")
        folder_lock.move(out, aside)
    except (OSError, FolderLostError) as error:
        if aside is not None:
            aside.rmdir()
        raise ScenarioError(f"--out {out}: can't be moved aside: {one_line(error)}") from error
    return aside
