"""Arrays from users' npz and MATLAB files, whose stated sizes are checked before they are read."""

import io
from collections.abc import KeysView, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import DataError, one_line
from netsim.registry import did_you_mean
from netsim.traces import bounded
from netsim.traces.files import locate_file
from netsim.traces.matlab import BrokenError, read_matlab

NUMBERS = "fiu"
"""Kinds of NumPy types that are real numbers."""


class Arrays:
    """The named arrays of one file.

    Parameters
    ----------
    table, path, folder
        See `netsim.traces.files.locate_file`.

    Raises
    ------
    DataError
        Here and in every method: what is wrong with which member, and what is allowed.
    """

    def __init__(self, table: str, path: str, folder: Path | None) -> None:
        self.where, self._path = locate_file(path, folder, table)
        self.matlab = self._path.suffix.lower() == ".mat"
        try:
            self.names = self._mat_names() if self.matlab else self._npz_names()
        except bounded.BROKEN as error:
            raise self.error(
                f"is no npz file ({error}); write it with numpy.savez_compressed"
            ) from None

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def error(self, what: str, name: str | None = None) -> DataError:
        """Make an error about the file or one of its members, to be raised."""
        problem = what if name is None else f"member {name}: {what}"
        return DataError(f"{self.where}: {one_line(problem)}")

    def get(self, name: str, kinds: str = NUMBERS, ndims: Sequence[int] = ()) -> NDArray[Any]:
        """One member.

        Parameters
        ----------
        name : str
        kinds : str
            Which kinds of NumPy types are allowed.
        ndims : sequence of int
            How many axes are allowed; none: any number.

        Returns
        -------
        ndarray
            Without NaN unless it is of floating point.
        """
        if name not in self.names:
            raise self.error(
                f"has no member {name}; it has {', '.join(sorted(self.names)) or 'none'}"
                + did_you_mean(name, self.names)
            )
        found = np.asarray(self._variables[name]) if self.matlab else self._from_npz(name)
        if found.dtype.kind not in kinds:
            wanted = "complex numbers" if "c" in kinds else "numbers"
            raise self.error(f"holds {found.dtype}, not {wanted}", name)
        if ndims and found.ndim not in ndims:
            allowed = " or ".join(map(str, ndims))
            raise self.error(
                f"has {found.ndim} axes, shape {found.shape}; it must have {allowed}", name
            )
        return found

    def _npz_names(self) -> KeysView[str]:
        with bounded.Archive(self._path, self.where) as packed:
            return dict.fromkeys(name.removesuffix(".npy") for name in packed.names).keys()

    def _from_npz(self, name: str) -> NDArray[Any]:
        try:
            with bounded.Archive(self._path, self.where) as packed:
                where = f"{self.where}: member {one_line(name)}"
                content = packed.read(f"{name}.npy", where, bounded.MOST_BYTES)
            return self._npy(name, io.BytesIO(content), len(content))
        except (*bounded.BROKEN, KeyError) as error:
            raise self.error(f"can't be read ({error}); write the file again", name) from None

    def _npy(self, name: str, member: Any, size: int) -> NDArray[Any]:
        """The array of one npy stream of `size` bytes; its header must agree with that."""
        try:
            version = np.lib.format.read_magic(member)
            read_header = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            shape, by_columns, dtype = read_header(member)
        except (ValueError, KeyError, EOFError) as error:
            raise self.error(f"is no array of NumPy ({error})", name) from None
        if dtype.hasobject:
            raise self.error("holds Python objects, which are never loaded; save numbers", name)
        count = 1
        for axis in shape:  # Python's integers: a header's product may exceed 64 bits
            count *= int(axis)
        held = size - member.tell()
        if count * dtype.itemsize != held or not dtype.itemsize or min(shape, default=0) < 0:
            raise self.error(
                f"says shape {tuple(shape)} of {dtype}, {count * dtype.itemsize} bytes, and holds "
                f"{held}; write the file again",
                name,
            )
        flat = np.frombuffer(member.read(held), dtype=dtype)
        return flat.reshape(shape, order="F" if by_columns else "C")

    def _mat_names(self) -> KeysView[str]:
        content = bounded.read_plain_file(self._path, self.where, bounded.MOST_BYTES)
        if content[:8] == b"\x89HDF\r\n\x1a\n" or b"MATLAB 7.3" in content[:116]:
            raise self.error("is a MATLAB file of version 7.3; save it with the option '-v7'")
        try:
            self._variables = read_matlab(content, bounded.MOST_BYTES)
        except BrokenError as error:
            raise self.error(
                f"is no MATLAB file of version 5 to 7 ({error}); save it with '-v7'"
            ) from None
        return self._variables.keys()


def saved_arrays(path: str) -> dict[str, NDArray[Any]]:
    """The arrays of numbers in an npz file that `[algorithm]` names, by name, in its order.

    Raises
    ------
    DataError
        If there is no such file, or it is not what it should be.
    """
    arrays = Arrays("algorithm", path, None)
    return {name: arrays.get(name) for name in arrays.names}
