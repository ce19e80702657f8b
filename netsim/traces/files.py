"""Finding and reading the text files that a scenario names, packed or not."""

import gzip
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from netsim.errors import DataError
from netsim.registry import did_you_mean
from netsim.traces.input_files import note

MOST_BYTES = 1 << 29
"""A file may hold so much once it is unpacked; more is refused before it is read."""

BROKEN = (OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile)
"""What reading and unpacking a broken or encrypted file raises."""

_HOW_TO_POINT = "point to its folder with [data] path, --data DIR or NETSIM_DATA"


@dataclass(frozen=True)
class Text:
    """Content of a file, and its name in error messages.

    Attributes
    ----------
    where : str
        `[table] key = "path"`: the beginning of errors about it.
    content : str
    """

    where: str
    content: str

    def wrong(self, what: str, line: int | None = None) -> DataError:
        """An error, to be raised, that something is wrong in the file; its lines count from 1."""
        place = "" if line is None else f"line {line}: "
        return DataError(f"{self.where}: {place}{what}")


def read_text(
    path: str, folder: Path | None, table: str, key: str = "path", member: str | None = None
) -> Text:
    """Read a file named in a scenario; `.gz` is unpacked, of a `.zip` one member is read.

    Parameters
    ----------
    path : str
        Relative to the working folder, else to the data folder.
    folder : Path or None
        The data folder.
    table, key : str
        Where the scenario names it, for errors.
    member : str or None
        The file inside a zip; its name suffices without folders where only one has it. A zip of
        one file needs none.

    Returns
    -------
    Text

    Raises
    ------
    DataError
        If it isn't there, can't be unpacked, is too large, or is not text.
    """
    where, found = located(path, folder, table, key)
    try:
        if found.suffix == ".gz":
            with gzip.open(found) as packed:
                content = packed.read(MOST_BYTES + 1)
        elif found.suffix == ".zip":
            where, content = _from_zip(found, member, where, table)
        else:
            with found.open("rb") as plain:
                content = plain.read(MOST_BYTES + 1)
        require_fitting(where, len(content))
        if member is not None and found.suffix != ".zip":
            raise DataError(f'[{table}] member = "{member}": {path} is not a .zip; leave it out')
        return Text(where, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: is not text in UTF-8 (byte {error.start})") from None
    except BROKEN as error:
        raise DataError(f"{where}: can't be read ({error}); fetch the file again") from error


def require_fitting(where: str, size: int) -> None:
    """Raise DataError if a file, whose errors begin with `where`, unpacks to too many bytes."""
    if size > MOST_BYTES:
        raise DataError(
            f"{where}: holds more than {MOST_BYTES >> 20} MiB; cut it down to the time and the "
            "nodes that are played"
        )


def spelt_out(path: str) -> Path:
    """A path with the home folder for `~`, where there is one."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def is_file(path: Path) -> bool:
    """Whether a file is there; False for a path that no file can have."""
    try:
        return path.is_file()
    except OSError:  # a name too long
        return False


def located(path: str, folder: Path | None, table: str, key: str = "path") -> tuple[str, Path]:
    """Find a file named in a scenario.

    Parameters
    ----------
    path : str
        Relative to the working folder, else to the data folder.
    folder : Path or None
        The data folder.
    table, key : str
        Where the scenario names it, for errors.

    Returns
    -------
    where : str
        `[table] key = "path"`: the beginning of errors about it.
    found : Path

    Raises
    ------
    DataError
        If it isn't there.
    """
    where, given = f'[{table}] {key} = "{path}"', spelt_out(path)
    places = [given] if folder is None or given.is_absolute() else [given, folder / given]
    for place in places:
        if is_file(place):
            note((place,))
            return where, place
    looked = ", ".join(str(place) for place in places)
    remedy = _HOW_TO_POINT if folder is None else "check the name"
    raise DataError(f"{where}: no such file; looked for {looked}; {remedy}")


def _from_zip(found: Path, member: str | None, where: str, table: str) -> tuple[str, bytes]:
    with zipfile.ZipFile(found) as packed:
        names = [name for name in packed.namelist() if not name.endswith("/")]
        if member is None and len(names) != 1:
            raise DataError(
                f"{where}: holds {len(names)} files; say which with member, as in "
                f'member = "{names[0] if names else "graph.graphml"}"'
            )
        wanted = member or names[0]
        fitting = [n for n in names if wanted in (n, Path(n).name)]
        if wanted in names:
            fitting = [wanted]
        if len(fitting) != 1:
            short = [Path(n).name for n in names]
            several = f" ({', '.join(fitting)})" if fitting else ""
            raise DataError(
                f'[{table}] member = "{wanted}": {len(fitting)} of the {len(names)} files in '
                f"{found.name} have this name{several}" + did_you_mean(wanted, [*short, *names])
            )
        require_fitting(where, packed.getinfo(fitting[0]).file_size)
        return f"{where}, {fitting[0]}", packed.read(fitting[0])


def fields(line: str) -> list[str]:
    """The columns of one line: separated by commas if the first two are, else by white space."""
    found = line.split()
    by_commas = len(found) == 1 or found[0][-1:] == "," or found[1][:1] == ","
    return [part.strip() for part in line.split(",")] if by_commas else found


def is_comment(line: str) -> bool:
    """Whether a line is empty or a comment with `#` or `%`."""
    stripped = line.strip()
    return not stripped or stripped[0] in "#%"


def whole_number(word: str) -> int | None:
    """A word of at most 18 digits as a number, or None."""
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 19 else None


def number(word: str) -> float | None:
    """A word as a number, or None."""
    try:
        return float(word)
    except ValueError:
        return None
