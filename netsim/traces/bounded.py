"""Files from outside, opened and read only as far as memory and time allow.

Every reader of such files goes through here: only plain files are opened (a pipe would be waited
for, a device never ends), sizes are looked at before anything is read, and what is packed may not
unpack to more than is said here, whatever its header says.
"""

import codecs
import gzip
import io
import os
import stat
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any, cast

from netsim.errors import DataError, one_line

MOST_BYTES = 1 << 29
"""A binary file may hold so much once it is unpacked: it lies in memory as numbers."""
MOST_TEXT_BYTES = 1 << 27
"""A text may hold so much: as a string and cut into lines it takes up to eight times that."""
MOST_LINES = 2_500_000
"""A line that is kept, cut into words, takes about 400 bytes."""
MOST_WORDS = 16_000_000
"""A word takes about 60 bytes."""
MOST_RATIO = 200
"""Text packs to no less than a two-hundredth; what does is made to keep a reader busy."""
FREELY_UNPACKED = 1 << 26
"""Up to here the ratio does not matter."""
_MOST_DIRECTORY_BYTES = 1 << 24
"""The list of a zip's members: 160,000 of them and more."""
_CHUNK = 1 << 20

BROKEN = (OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile, ValueError)
"""Errors of reading and unpacking a broken or encrypted file."""

_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""First bytes of a text in UTF-16."""

_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_BETWEEN_WORDS = f"{_LINE_ENDS}\t ,\x1f\xa0\u1680\u202f\u205f\u3000" + "".join(
    chr(code) for code in range(0x2000, 0x200B)
)


def kind_problem(path: Path, follow_links: bool = True) -> str | None:
    """Why something at a path is no file to read, or None: it is one, or nothing is there."""
    try:
        mode = path.stat(follow_symlinks=follow_links).st_mode
    except (OSError, ValueError):
        return None
    return None if stat.S_ISREG(mode) else _kind_problem(mode)


def _kind_problem(mode: int) -> str:
    kind = next((name for test, name in _KINDS if test(mode)), "no plain file")
    return f"is {kind}; copy what is to be read into a file"


def open_plain_file(path: Path, where: str, follow_links: bool = True) -> io.BufferedReader:
    """Open a plain file for reading.

    Parameters
    ----------
    path : Path
    where : str
        The beginning of errors about it.
    follow_links : bool
        Whether the file may be a link to one.

    Raises
    ------
    DataError
        If it is a pipe, a socket, a device or a folder.
    OSError
        If it can't be opened.
    """
    # before it is opened: that alone may wait, or do something
    problem = kind_problem(path, follow_links)
    if problem is None:
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        if not follow_links:
            flags |= getattr(os, "O_NOFOLLOW", 0)
        file = os.open(path, flags)
        mode = os.fstat(file).st_mode  # what is open, whatever has been put there meanwhile
        if stat.S_ISREG(mode):
            return os.fdopen(file, "rb")
        os.close(file)
        problem = _kind_problem(mode)
    raise DataError(f"{where}: {problem}")


def read_plain_file(path: Path, where: str, most_bytes: int, follow_links: bool = True) -> bytes:
    """The bytes of a plain file; of one that ends in `.gz`, unpacked.

    Parameters
    ----------
    path : Path
    where : str
        The beginning of errors about it.
    most_bytes : int
        How many there may be.
    follow_links : bool
        Whether the file may be a link to one.

    Raises
    ------
    DataError
        If it is no plain file or too large.
    OSError, EOFError, zlib.error
        If it can't be read.
    """
    with open_plain_file(path, where, follow_links) as file:
        size = os.fstat(file.fileno()).st_size
        require_fitting(where, size, most_bytes)
        if path.suffix != ".gz":
            found = file.read(most_bytes + 1)
            require_fitting(where, len(found), most_bytes)
            return found
        with gzip.GzipFile(fileobj=file) as packed:
            return _unpack(packed, where, most_bytes)


def stream(path: Path, where: str, most_bytes: int) -> "Stream":
    """A plain or gzipped file to be read piece by piece.

    Parameters
    ----------
    path, where, most_bytes
        As of `read_plain_file`.

    Raises
    ------
    DataError, OSError
        As `open_plain_file`.
    """
    file = open_plain_file(path, where)
    return Stream(file, path.suffix == ".gz", where, most_bytes)


class Stream:
    """Pieces of a file, until there are too many; to be used in a `with` statement.

    Parameters
    ----------
    file : binary file
    packed : bool
        Whether it is gzipped.
    where : str
        The beginning of errors about it.
    most_bytes : int
        How many there may be, unpacked.
    """

    def __init__(self, file: io.BufferedReader, packed: bool, where: str, most_bytes: int) -> None:
        self._file, self._where, self._most = file, where, most_bytes
        self._size = os.fstat(file.fileno()).st_size
        self._source: IO[bytes] = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if packed else file
        self._packed, self._read = packed, 0

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self) -> bytes:
        """The next piece, empty at the end."""
        found = self._source.read(_CHUNK)
        self._read += len(found)
        require_fitting(self._where, self._read, self._most)
        if self._packed and self._read > max(FREELY_UNPACKED, MOST_RATIO * self._size):
            raise DataError(
                f"{self._where}: its {_mebibytes(self._size)} unpack to more than {MOST_RATIO} "
                "times as much, which text does not; unpack it yourself if it is what you want"
            )
        return found


def require_fitting(where: str, size: int, most_bytes: int) -> None:
    """Raise DataError if a file holds too many bytes.

    Parameters
    ----------
    where : str
        The beginning of the error.
    size, most_bytes : int
        How many it holds, and how many it may.
    """
    if size > most_bytes:
        raise DataError(
            f"{where}: holds more than {most_bytes >> 20} MiB; cut it down to the time and the "
            "nodes that are played"
        )


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):,.4g} MiB"


def _unpack(packed: Any, where: str, most_bytes: int) -> bytes:
    """All that a packed file holds, whatever it says."""
    found = io.BytesIO()
    while piece := packed.read(_CHUNK):
        found.write(piece)
        require_fitting(where, found.tell(), most_bytes)
    return found.getvalue()


class _Guarded:
    """A file that `zipfile` reads; its list of members is read at once, and must be short."""

    def __init__(self, file: io.BufferedReader, where: str) -> None:
        self._file, self._where = file, where
        self.seek, self.tell, self.close = file.seek, file.tell, file.close
        self.seekable = file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > _MOST_DIRECTORY_BYTES:
            raise DataError(f"{self._where}: its list of members takes {_mebibytes(size)}")
        return self._file.read(size)


class Archive:
    """A zip, to be used in a `with` statement.

    Parameters
    ----------
    path : Path
    where : str
        The beginning of errors about it.

    Raises
    ------
    DataError
        Here and in every method: it is no plain file, or too large.
    OSError, RuntimeError, zipfile.BadZipFile
        Here and in every method: it can't be read; those of `BROKEN`.

    Attributes
    ----------
    names : list of str
        Of its members, without folders.
    """

    def __init__(self, path: Path, where: str) -> None:
        self._where, self._file = where, open_plain_file(path, where)
        try:
            self._packed = zipfile.ZipFile(cast(Any, _Guarded(self._file, where)))
        except BaseException:
            self._file.close()
            raise
        self.names = [name for name in self._packed.namelist() if not name.endswith("/")]

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._packed.close()
        self._file.close()

    def read(self, name: str, where: str, most_bytes: int) -> bytes:
        """One member, unpacked.

        Parameters
        ----------
        name : str
        where : str
            The beginning of errors about it.
        most_bytes : int
            How much it may hold.
        """
        info = self._packed.getinfo(name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # the others unpack a piece to any size before it can be looked at
            raise DataError(
                f"{where}: is packed by a method that is not read; pack it with the usual one "
                "(deflate)"
            )
        require_fitting(where, info.file_size, most_bytes)
        with self._packed.open(info) as member:
            return _unpack(member, where, most_bytes)


_PACKED = {
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"Rar!": "RAR",
}


def require_plain(found: bytes, where: str) -> None:
    """Raise DataError if what should be text begins as a packed file does."""
    if found[:2] == b"\x1f\x8b":
        raise DataError(f"{where}: is packed by gzip; give it a name that ends with .gz")
    if found[:4] == b"PK\x03\x04":
        raise DataError(f"{where}: is a zip, or made of one; unpack it, and save tables as CSV")
    for sign, name in _PACKED.items():
        if found.startswith(sign):
            raise DataError(f"{where}: is packed by {name}; unpack it, or pack it by gzip (.gz)")


def text_of(found: bytes, where: str) -> str:
    """Bytes as text that can be cut into lines and words in memory.

    Parameters
    ----------
    found : bytes
    where : str
        The beginning of errors about it.

    Raises
    ------
    DataError
        If it is no text in UTF-8 (UTF-16 with a mark at its beginning will do), or has too many
        lines or words.
    """
    require_plain(found, where)
    try:
        text = found.decode("utf-16" if found[:2] in WIDE else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where}: is not text in UTF-8 (byte {error.start}); save it in UTF-8"
        ) from None
    if "\0" in text:
        raise DataError(
            f"{where}: has a zero at character {text.index(chr(0))}, so that it is no text in "
            "UTF-8; save it in UTF-8"
        )
    for most, separators, what in (
        (MOST_LINES, _LINE_ENDS, "lines"),
        (MOST_WORDS, _BETWEEN_WORDS, "words"),
    ):
        if len(text) > most and (count := sum(map(text.count, separators))) > most:
            raise DataError(
                f"{where}: has {count:,} {what}, at most {most:,} are read; cut it down to the "
                "time and the nodes that are played"
            )
    return text


def unreadable_error(where: str, error: BaseException) -> DataError:
    """An error, to be raised, that a file can't be read; `error` is one of `BROKEN`."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    remedy = "fetch the file again"
    if "parse error" in reason:  # Arrow's words, with the row
        remedy = "mend that row, or leave it out"
        if "CSV" in reason:
            remedy += "; line 1 has the names of all columns"
    return DataError(f"{where}: can't be read ({one_line(reason)}); {remedy}")
