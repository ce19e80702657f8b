"""Files that are written whole, and by one process at a time."""

import os
import tempfile
from pathlib import Path

from filelock import FileLock

from netsim import NetsimError


def write_text(path: Path, text: str) -> None:
    """Write a file beside its place and rename it; a full disk leaves the old one as it was.

    Raises
    ------
    NetsimError
        If it can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as file:
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).chmod(0o644)
            Path(file.name).replace(path)
        except OSError as error:
            Path(file.name).unlink()
            raise NetsimError(
                f"{path}: can't be written: {os.strerror(error.errno or 0)}"
            ) from error


def alone(folder: Path, patience_s: float = 120.0) -> FileLock:
    """Return a lock for a `with` block in which no other process writes into a folder."""
    return FileLock(folder / ".lock", timeout=patience_s)
