"""Finding and reading the text files that a scenario names, packed or not."""

import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netsim.errors import DataError, one_line
from netsim.registry import did_you_mean
from netsim.traces import bounded
from netsim.traces.input_files import note_files

DATA_VARIABLE = "NETSIM_DATA"
"""Environment variable that names the folder of the data sets."""
_HOW_TO_POINT = "point to its folder with [data] path, --data DIR or NETSIM_DATA"


@dataclass(frozen=True)
class Text:
    """Content of a file, and its name in error messages.

    A scenario may name any file, one that is none of its readers' business among them: an error
    quotes a word of it, as `quote` cuts it, only once something has been read as what it should be:
    a line before, or the rest of the line.

    Attributes
    ----------
    where : str
        `[table] key = "path"`: the beginning of errors about it.
    content : str
    """

    where: str
    content: str

    def error(self, what: str, line: int | None = None) -> DataError:
        """Make an error about the file, to be raised; its lines count from 1.

        Words of the file stand in `what` as `quote` has them.
        """
        place = "" if line is None else f"line {line}: "
        if line is not None and line <= self._first_line():
            what = _without_words(what, self.content.splitlines()[line - 1])
        return DataError(f"{self.where}: {place}{one_line(what)}")

    def _first_line(self) -> int:
        """The number of the first line that is no comment."""
        lines = enumerate(self.content.splitlines(), start=1)
        return next((at for at, line in lines if not is_comment(line)), 0)


def _without_words(what: str, line: str) -> str:
    """An error about a line, which quotes neither the line nor a word of it but numbers."""
    words = line.split()
    cells = {cell.strip() for separator in ",;\t" for cell in line.split(separator)}
    said = {line.strip(), *words, *cells, " ".join(words)}
    for word in sorted(said, key=len, reverse=True):
        if parse_number(word) is None:
            what = what.replace(f" is {quote(word)}, not", " is not")
            what = re.sub(f"^{re.escape(quote(word))}", "it", what)
    return what


def no_column(
    name: str, there: Sequence[str], wanted: Sequence[str], is_of_kind: bool = False
) -> str:
    """Say that a table lacks a column, and which it has if it is a table of the kind at all.

    Parameters
    ----------
    name : str
        The column that is missing.
    there : sequence of str
        The columns that the file has.
    wanted : sequence of str
        Those that a file of the kind has; all are needed.
    is_of_kind : bool
        Whether that it is one is known already.
    """
    needed = ", ".join(wanted)
    close = any(did_you_mean(one, there) for one in wanted)
    if not (is_of_kind or close or set(there) & set(wanted)):
        return f"no column {name}; it has none of {needed}"
    needs = f", and needs {needed}" if len(wanted) > 1 else ""
    has = ", ".join(column if len(column) <= 24 else f"{column[:24]}..." for column in there)
    return f"no column {name}; it has {has}{needs}" + did_you_mean(name, there)


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
    where, found = locate_file(path, folder, table, key)
    most = bounded.MOST_TEXT_BYTES
    try:
        if found.suffix == ".zip":
            where, content = _from_zip(found, member, where, table)
        else:
            content = bounded.read_plain_file(found, where, most)
    except bounded.BROKEN as error:
        raise bounded.unreadable_error(where, error) from error
    if member is not None and found.suffix != ".zip":
        raise DataError(
            f'[{table}] member = "{one_line(member)}": {one_line(path)} is not a .zip; leave it out'
        )
    return Text(where, bounded.text_of(content, where))


def spelt_out(path: str) -> Path:
    """A path with the home folder for `~`, where there is one."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def data_folder() -> Path | None:
    """The folder of the data sets that the environment names; None: it names none."""
    named = os.environ.get(DATA_VARIABLE)
    return spelt_out(named) if named else None


def is_file(path: Path) -> bool:
    """Return whether a file is there; False for a path that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, or with a zero in it
        return False


def locate_file(path: str, folder: Path | None, table: str, key: str = "path") -> tuple[str, Path]:
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
    where, given = f'[{table}] {key} = "{one_line(path)}"', spelt_out(path)
    places = [given] if folder is None or given.is_absolute() else [given, folder / given]
    for place in places:
        if is_file(place):
            note_files((place,))
            return where, place
        problem = bounded.kind_problem(place)
        if problem is not None:
            raise DataError(f"{where}: {problem}")
    looked = ", ".join(one_line(place) for place in places)
    remedy = _HOW_TO_POINT if folder is None else "check the name"
    raise DataError(f"{where}: no such file; looked for {looked}; {remedy}")


def _from_zip(found: Path, member: str | None, where: str, table: str) -> tuple[str, bytes]:
    with bounded.Archive(found, where) as packed:
        names = packed.names
        if member is None and len(names) != 1:
            raise DataError(
                f"{where}: holds {len(names)} files; say which with member, as in "
                f'member = "{one_line(names[0] if names else "graph.graphml")}"'
            )
        wanted = member or names[0]
        fitting = [n for n in names if wanted in (n, Path(n).name)]
        if wanted in names:
            fitting = [wanted]
        if len(fitting) != 1:
            short = [Path(n).name for n in names]
            several = f" ({', '.join(fitting)})" if fitting else ""
            raise DataError(
                f'[{table}] member = "{one_line(wanted)}": {len(fitting)} of the {len(names)} '
                f"files in {one_line(found.name)} have this name{one_line(several)}"
                + one_line(did_you_mean(wanted, [*short, *names]))
            )
        where = f"{where}, {one_line(fitting[0])}"
        return where, packed.read(fitting[0], where, bounded.MOST_TEXT_BYTES)


def split_columns(line: str) -> list[str]:
    """The columns of one line: separated by commas if the first two are, else by white space."""
    found = line.split()
    by_commas = len(found) == 1 or found[0][-1:] == "," or found[1][:1] == ","
    return [part.strip() for part in line.split(",")] if by_commas else found


def is_comment(line: str) -> bool:
    """Return whether a line is empty or a comment with `#` or `%`."""
    stripped = line.strip()
    return not stripped or stripped[0] in "#%"


def parsed_json(content: str | bytes) -> Any:
    """Parse JSON in which no object has a key twice: one of two values would be lost.

    Parameters
    ----------
    content : str or bytes

    Raises
    ------
    ValueError
        If it is something else; `RecursionError` if it is nested too deeply.
    """
    return json.loads(content, object_pairs_hook=_object_without_twins)


def _object_without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {quote(key)} stands twice in one object; leave one of them")
    return found


def as_seen(text: str) -> str:
    """A text without what no reader sees: blanks around it, signs of format, split accents."""
    if text.isascii():
        return text.strip()
    plain = unicodedata.normalize("NFC", text)
    return "".join(c for c in plain if unicodedata.category(c) != "Cf").strip()


def whole_number(word: str) -> int | None:
    """A word of at most 18 digits as a number, or None."""
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 19 else None


def parse_number(word: str) -> float | None:
    """A word as a number, or None."""
    if "_" in word:  # which Python skips, and nobody else
        return None
    try:
        return float(word)
    except ValueError:
        return None


def quote(word: str, most: int = 24) -> str:
    """A word of a file as errors show it: quoted, escaped, and cut."""
    text = one_line(word)
    return f'"{text}"' if len(text) <= most else f'"{text[:most]}..."'
