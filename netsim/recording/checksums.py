"""`checksums.json`: the SHA-256 of every file of a folder of results, written when all else is."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from netsim.errors import ScenarioError
from netsim.recording.run_folder import json_file
from netsim.recording.whole_files import write_text
from netsim.traces.bounded import kind_problem, opened

NAME = "checksums.json"

NOT_LISTED = ("tensorboard", "wandb")
"""Folders that belong to other programs, which may add to them at any time."""

MOST_BYTES = 1 << 28
"""A larger list is refused before it is read."""


def sha256(path: Path) -> str:
    """The SHA-256 of a plain file, in hexadecimal digits; raises DataError for any other."""
    with opened(path, str(path), follow_links=False) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(folder: Path) -> None:
    """List every file of a folder; a folder inside that has a list of its own is left to it."""
    _write(folder, {name: sha256(folder / name) for name in _plain(folder)})


def extend(folder: Path) -> None:
    """Add the files that a list does not name yet: figures, which are drawn when a run has ended.

    Does nothing where there is no list.
    """
    if (folder / NAME).is_file():
        known = read(folder)
        new = {name: sha256(folder / name) for name in _plain(folder) if name not in known}
        if new:
            _write(folder, known | new)


def renew(folder: Path, name: str) -> None:
    """Add a file that was written when a run had ended, or say anew what it holds.

    Does nothing where there is no list.
    """
    if (folder / NAME).is_file():
        _write(folder, read(folder) | {name: sha256(folder / name)})


def read(folder: Path) -> dict[str, str]:
    """The list of a folder: digests by name.

    Raises
    ------
    ScenarioError
        If there is none, or it is not one.
    """
    path = folder / NAME
    try:
        found = json_file(path, most_bytes=MOST_BYTES)["sha256"]
    except FileNotFoundError:
        raise ScenarioError(
            f"{folder}: has no {NAME}: not the folder of a run that has ended"
        ) from None
    except KeyError:
        raise ScenarioError(f"{path}: is not a list of checksums") from None
    for name in found:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise ScenarioError(f"{path}: names a file outside of its folder: {name}")
    return dict(found)


def files(folder: Path) -> Iterator[str]:
    """Names of all that lies in a folder, in order: those of a list, and links and pipes.

    All but hidden ones, the list itself, and what belongs to other programs (`NOT_LISTED`).
    Links are not followed.
    """
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name == NAME:
            continue
        if path.is_dir() and not path.is_symlink():
            if path.name not in NOT_LISTED and not (path / NAME).is_file():
                yield from (f"{path.name}/{name}" for name in files(path))
        else:
            yield path.name


def apart(folder: Path) -> Iterator[str]:
    """Names of the folders inside that have a list of their own, which `files` leaves to them."""
    for path in sorted(folder.rglob(NAME)):
        if path.parent != folder:
            yield path.parent.relative_to(folder).as_posix()


def _plain(folder: Path) -> Iterator[str]:
    """The files that a list names."""
    return (n for n in files(folder) if kind_problem(folder / n, follow_links=False) is None)


def _write(folder: Path, digests: dict[str, str]) -> None:
    text = json.dumps({"sha256": dict(sorted(digests.items()))}, indent=1)
    write_text(folder / NAME, text + "\n")
