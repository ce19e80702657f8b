"""Files of a run that has ended, which are read only as the run has written them.

Its list of checksums says which these are. A run under way has none, and its files are read as they
are.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from netsim.errors import ScenarioError, one_line
from netsim.recording import checksums
from netsim.recording.parquet_parts import part_files
from netsim.recording.whole_files import while_unchanged


def parts_of(folder: Path, name: str) -> list[Path]:
    """The parts of a table, which are those of its list of checksums where the run has ended."""
    found = part_files(folder / name)
    if (written := _listed(folder)) is not None:
        there = {f"{name}/{path.name}" for path in found}
        for part in sorted(there.symmetric_difference(n for n in written if _is_in(n, name))):
            other = f"is none that the run has written; take it out {_all_of(folder)}"
            what = other if part in there else _missing(folder)
            raise ScenarioError(f"{one_line(folder / part)}: {what}")
    return found


def _missing(folder: Path) -> str:
    remedy = "put it back, or play the run again"
    return f"is missing, which the run has written; {remedy} {_all_of(folder)}"


def _all_of(folder: Path) -> str:
    return f"(netsim verify {one_line(folder)} names all that has changed)"


def _is_in(name: str, table: str) -> bool:
    return name.startswith(f"{table}/") and name.endswith(".parquet")


def _listed(folder: Path) -> Mapping[str, str] | None:
    """The list of a run's checksums; None where the run has not ended."""
    path = folder / checksums.NAME
    return _read(path) if path.is_file() else None


@while_unchanged
def _read(path: Path) -> Mapping[str, str]:
    return checksums.read(path.parent)


_may_have_changed = ContextVar("whether files are read that others have put there", default=False)


@contextmanager
def allow_changed() -> Iterator[None]:
    """Read files of an ended run also where they are not what it has written."""
    before = _may_have_changed.set(True)
    try:
        yield
    finally:
        _may_have_changed.reset(before)


def require_written(path: Path, name: str) -> None:
    """Refuse a file of an ended run that is missing, or is not what the run has written.

    Parameters
    ----------
    path : Path
        That it is a plain file has been checked, if it is there.
    name : str
        Of the file in the run's folder, with forward slashes.

    Raises
    ------
    ScenarioError
    """
    folder = path.parents[name.count("/")]
    written = None if _may_have_changed.get() else (_listed(folder) or {}).get(name)
    if written is None:
        return
    try:
        digest = _sha256(path)
    except FileNotFoundError:
        raise ScenarioError(f"{one_line(path)}: {_missing(folder)}") from None
    if digest != written:
        raise ScenarioError(
            f"{one_line(path)}: is not what the run has written, as its checksum differs; put it "
            f"back, or play the run again {_all_of(folder)}"
        )


def require_tables(folder: Path, names: Iterable[str]) -> None:
    """Refuse a run that has ended if one of its tables is not as it was written.

    `names`: of `schema.TABLES`; tables that the run has not are left out.

    Raises
    ------
    ScenarioError
    """
    for name in names:
        for path in parts_of(folder, name):
            require_written(path, f"{name}/{path.name}")


_sha256 = while_unchanged(checksums.sha256)
