"""The user's own record of which components an unfinished run was begun with.

No code is ever imported because a file in a run folder names it: run folders are sent from one to
another. What `--components` named is kept in the user's own state folder instead, by the path of
the run, with the SHA-256 of every file, until the run has ended. So `netsim resume` finds it again
on the machine and for the user that began the run, and tells whether a file has changed since.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from netsim.errors import FolderError, ScenarioError, one_line
from netsim.protocols.flower.apps import PROJECT, is_app
from netsim.recording import checksums
from netsim.recording.json_files import TEXT, json_file
from netsim.recording.whole_files import Digests, write_text

_MOST_BYTES = 1 << 24
_FORM = {"run": TEXT, "folders": [TEXT], "sha256": {"*": TEXT}}


def state_folder() -> Path:
    """State folder of this user's programs: XDG_STATE_HOME, or the system's own."""
    given = os.environ.get("XDG_STATE_HOME")
    if given and Path(given).is_absolute():
        return Path(given) / "netsim"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "netsim"
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/netsim"
    return Path.home() / ".local/state/netsim"


def remember(run: Path, components: Sequence[Path]) -> None:
    """Keep the folders of components that a run is begun with.

    Where that can't be written, `recall` finds nothing, and `netsim resume` asks for them.
    """
    if not components:
        forget(run)
        return
    folders = [Path(os.path.realpath(folder)) for folder in components]
    found = {
        "run": os.path.realpath(run),
        "folders": [str(folder) for folder in folders],
        "sha256": _digests(folders),
    }
    with suppress(OSError, FolderError, RuntimeError):  # RuntimeError: no home
        path = _file(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(found, indent=1) + "\n")


def recall(run: Path) -> tuple[tuple[Path, ...], list[str]]:
    """The folders of components that a run was begun with, and what has changed in them since.

    Returns
    -------
    folders : tuple of Path
        Empty where nothing is known of the run.
    changes : list of str
        One a file.
    """
    try:
        found = json_file(_file(run), _FORM, _MOST_BYTES)
        folders, before = tuple(map(Path, found["folders"])), found["sha256"]
        if found["run"] != os.path.realpath(run):
            return (), []
    except (OSError, RuntimeError, KeyError, ScenarioError):
        return (), []
    now = _digests(folders)
    changed = sorted(name for name in before | now if before.get(name) != now.get(name))
    words = {name: "has changed" for name in changed}
    words |= {name: "is new" for name in now.keys() - before.keys()}
    words |= {name: "is gone" for name in before.keys() - now.keys()}
    return folders, [
        f"component {one_line(name)}: {words[name]} since the run was begun" for name in changed
    ]


def forget(run: Path) -> None:
    """Remove what is kept of a run that has ended."""
    with suppress(OSError, RuntimeError):
        _file(run).unlink(missing_ok=True)


def _file(run: Path) -> Path:
    key = hashlib.sha256(os.path.realpath(run).encode(errors="surrogateescape")).hexdigest()[:32]
    return state_folder() / "components" / f"{key}.json"


def _digests(folders: Sequence[Path]) -> Digests:
    """The SHA-256 of every Python file in some folders, by its path."""
    found = {}
    for folder in folders:
        for path in sorted(_files(folder)):
            with suppress(OSError, ScenarioError):
                found[str(path)] = checksums.sha256(path)
    return found


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder that say what its code does."""
    if is_app(folder):  # its modules may lie in folders of their own
        return (p for p in folder.rglob("*") if p.suffix == ".py" or p.name == PROJECT)
    return folder.glob("*.py")
