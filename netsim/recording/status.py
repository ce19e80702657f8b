"""`status.json`: whether a run plays, has ended, or what ended it."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from netsim.errors import FolderError, FolderLostError, ScenarioError
from netsim.recording import folder_lock, run_folder
from netsim.recording.whole_files import write_text

RESERVED_BYTES = 2048
"""So long is the file while a run plays: what ends it can still be told on a full disk."""


NAME = "status.json"


def write(folder: Path, status: Mapping[str, Any], name: str = NAME) -> None:
    """Write `status.json` whole.

    Parameters
    ----------
    status : mapping
        `state` (`running`, `done`, `interrupted` or `failed`) and what else there is to tell.
    name : str
        Of the file, where it is of a part of a sweep.

    Raises
    ------
    FolderError
    """
    write_text(folder / name, content(status))


def write_at_any_cost(folder: Path, status: Mapping[str, Any], name: str = NAME) -> bool:
    """Write `status.json`, over the bytes of the one that is there if the disk is full.

    Parameters
    ----------
    status, name
        As of `write`.

    Returns
    -------
    bool
        Whether it could be written.
    """
    try:
        write(folder, status, name)
    except FolderLostError:
        return False  # it is another process' folder, or nobody's
    except FolderError:
        text = content(status)
        if len(text.encode()) > RESERVED_BYTES:
            text = content({**status, "error": str(status.get("error", ""))[:200]})
        with suppress(OSError), (folder / name).open("rb+") as file:
            file.write(text.encode())
            file.truncate(len(text.encode()))
            return True
        return False
    return True


def state(folder: Path) -> str | None:
    """The state of a run, or of several, from `status.json`; None where there is none.

    `cut off` is that of one which is `running` by its file, and whose process has left it.
    """
    found: str | None = read(folder).get("state")
    if found != "running" or folder_lock.left_by(folder) is None:
        return found
    return "cut off"


def read(folder: Path) -> dict[str, Any]:
    """The status of a run folder; empty if there is none that can be read."""
    try:
        return run_folder.status(folder)
    except ScenarioError:
        return {}


def content(status: Mapping[str, Any]) -> str:
    """The text of the file; while a run plays it is as long as what may have to replace it."""
    text = json.dumps(status, indent=2)  # in ASCII: as many bytes as characters
    return text.ljust(RESERVED_BYTES - 1 if status["state"] == "running" else 0) + "\n"
