"""`checksums.json`: the SHA-256 of every file of a folder of results, written when all else is."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from netsim.errors import AlteredError, ScenarioError
from netsim.recording.folder_lock import OF_OTHERS
from netsim.recording.json_files import json_file
from netsim.recording.whole_files import Digests, write_text, written_into
from netsim.traces.bounded import kind_problem, open_plain_file

NAME = "checksums.json"

JOURNAL, SET_ASIDE = "journal", "set_aside-"
"""The folder of what an unfinished run goes on from, and what in it outlives the run."""

MOST_BYTES = 1 << 28
"""A larger list is refused before it is read."""


def sha256(path: Path) -> str:
    """The SHA-256 of a plain file, in hexadecimal digits; raises DataError for any other."""
    with open_plain_file(path, str(path), follow_links=False) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(folder: Path, written: Digests | None = None) -> None:
    """List every file of a folder; a folder inside that has a list of its own is left to it.

    `written`: what is known of files from when they were written. These are listed by it, whatever
    lies there now; others, which are none of the run's, as they are.
    """
    known = written or {}
    others = {
        name: sha256(folder / name)
        for name in files(folder)
        if name not in known and kind_problem(folder / name, follow_links=False) is None
    }
    _write(folder, {**known, **others})


def results(folder: Path) -> Digests:
    """Digests of the results that this process has written into a folder: none of the journal."""
    left_out = (f"{JOURNAL}/", "status.json", NAME)
    written = written_into(folder)
    return {name: d for name, d in written.items() if not name.startswith(left_out)}


def require_as_written(folder: Path, written: Digests, later: bool = False) -> None:
    """Refuse a folder some file of which is not what was written.

    In the folders of tables a file that was not written is refused, too: it would be read as rows.

    Parameters
    ----------
    later : bool
        Whether parts of tables may have been written after that.

    Raises
    ------
    AlteredError
        Names every such file; nothing has been changed.
    """
    _require_inside(folder, written)
    wrong = {}
    for name, digest in written.items():
        try:
            if sha256(folder / name) != digest:
                wrong[name] = "is not what was written: its checksum differs"
        except (OSError, ValueError, ScenarioError):
            wrong[name] = "is missing, or can't be read"
    for inside in () if later else {name.partition("/")[0] for name in written if "/" in name}:
        if not (folder / inside).is_dir():
            continue
        there = {f"{inside}/{name}" for name in files(folder / inside)}
        wrong |= dict.fromkeys(there - written.keys(), "was not written by this run")
    if wrong:
        problems = "\n".join(f"{folder / name}: {what}" for name, what in sorted(wrong.items()))
        raise AlteredError(
            f"{problems}\nnothing was changed; put back what it was from a copy and call netsim "
            f"resume {folder}, or play it anew: netsim run {folder}/scenario.toml --out NEW"
        )


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
    _require_inside(path, found)
    return dict(found)


def _require_inside(path: Path, names: Iterable[str]) -> None:
    for name in names:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise ScenarioError(f"{path}: names a file outside of its folder: {name}")


def files(folder: Path) -> Iterator[str]:
    """Names of all that lies in a folder, in order: those of a list, and links and pipes.

    All but hidden ones, the list itself, what belongs to other programs (`OF_OTHERS`), and what of
    the journal goes when the run ends. Links are not followed.
    """
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name == NAME:
            continue
        if path.is_dir() and not path.is_symlink():
            if path.name not in OF_OTHERS and not (path / NAME).is_file():
                inside = (f"{path.name}/{name}" for name in files(path))
                kept = f"{JOURNAL}/{SET_ASIDE}" if path.name == JOURNAL else ""
                yield from (name for name in inside if name.startswith(kept))
        else:
            yield path.name


def inner_folders(folder: Path) -> Iterator[str]:
    """Names of the folders inside that have a list of their own, which `files` leaves to them."""
    for path in sorted(folder.rglob(NAME)):
        if path.parent != folder:
            yield path.parent.relative_to(folder).as_posix()


def _write(folder: Path, digests: dict[str, str]) -> None:
    text = json.dumps({"sha256": dict(sorted(digests.items()))}, indent=1)
    write_text(folder / NAME, text + "\n")
