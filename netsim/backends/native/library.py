"""The compiled kernel: found, checked and loaded; says why if there is none."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

from netsim.backends.native.build import HERE, SOURCES, fingerprint, library_name
from netsim.backends.native.records import RECORD_BYTES

PATH_VARIABLE = "NETSIM_NATIVE_LIBRARY"
"""Environment variable: another library than the one beside this file."""

VARIANT_VARIABLE = "NETSIM_NATIVE_VARIANT"
"""Environment variable: an instruction set in place of the best one that this machine has."""


class LibraryMissingError(Exception):
    """Error: there is no library that can be used; it gives the reason and the remedy."""


class Variant(NamedTuple):
    """An instruction set that the library was compiled for.

    Attributes
    ----------
    number : int
        By which the library knows it.
    name : str
        `avx512`, `avx2`, `neon` or `plain`.
    vector_bytes : int
    """

    number: int
    name: str
    vector_bytes: int


class Library:
    """The loaded library; its functions release the interpreter's lock.

    Parameters
    ----------
    path : Path

    Raises
    ------
    LibraryMissingError
        If it can't be loaded, or is not built from the sources at hand.

    Attributes
    ----------
    variants : tuple of Variant
        What this machine can run, the best first.
    sources : str
        Fingerprint of what it was built from.
    """

    def __init__(self, path: Path) -> None:
        try:
            loaded = ctypes.CDLL(str(path))
        except OSError as error:
            raise LibraryMissingError(f"{path} can't be loaded: {error}") from error
        again = "build it again: python -m netsim.backends.native.build"
        integer, pointer = ctypes.c_int64, ctypes.c_void_p
        for name, result, arguments in (
            ("sources", ctypes.c_char_p, []),
            ("record_bytes", integer, [integer]),
            ("variant", ctypes.c_char_p, [integer]),
            ("vector_bytes", integer, [integer]),
            ("variant_runs", integer, [integer]),
            ("workspace_scalars", integer, [pointer]),
            ("run", None, [pointer, pointer, integer, integer]),
            ("crop_and_flip", None, [*[pointer] * 4, *[integer] * 6]),
            ("views", None, [pointer, integer, integer]),
        ):
            function = getattr(loaded, f"netsim_{name}", None)
            if function is None:
                raise LibraryMissingError(f"{path} has no function netsim_{name}; {again}")
            function.restype, function.argtypes = result, arguments
        if any(loaded.netsim_record_bytes(i) != n for i, n in enumerate(RECORD_BYTES)):
            raise LibraryMissingError(f"{path} reads records of another form; {again}")
        self.path, self.sources = path, loaded.netsim_sources().decode()
        if SOURCES.is_dir() and self.sources != fingerprint():
            raise LibraryMissingError(f"{path} was built from other sources; {again}")
        self.run = loaded.netsim_run
        self.crop_and_flip = loaded.netsim_crop_and_flip
        self.views = loaded.netsim_views
        self.workspace_scalars = loaded.netsim_workspace_scalars
        found, number = [], 0
        while name := loaded.netsim_variant(number):
            if loaded.netsim_variant_runs(number):
                wide = loaded.netsim_vector_bytes(number)
                found.append(Variant(number, name.decode(), wide))
            number += 1
        self.variants = tuple(found)

    def variant(self, name: str | None = None) -> Variant:
        """An instruction set by name; without, as the environment says, or the best.

        Raises
        ------
        ValueError
            If this machine can't run it.
        """
        name = name or os.environ.get(VARIANT_VARIABLE) or self.variants[0].name
        for variant in self.variants:
            if variant.name == name:
                return variant
        known = ", ".join(v.name for v in self.variants)
        raise ValueError(f"instruction set {name!r}: this machine runs {known}")


@cache
def _loaded(path: Path) -> Library:
    return Library(path)


def load_library() -> Library:
    """The library of this installation.

    Raises
    ------
    LibraryMissingError
        If there is none that can be used.
    """
    given = os.environ.get(PATH_VARIABLE)
    path = Path(given) if given else HERE / library_name()
    if not path.exists():
        raise LibraryMissingError(
            f"there is no {path}: build it with python -m netsim.backends.native.build"
        )
    return _loaded(path)


def why_missing() -> str | None:
    """Why there is no kernel; None if there is one."""
    try:
        load_library()
    except LibraryMissingError as error:
        return str(error)
    return None


def describe_kernel() -> str:
    """The instruction set that the kernel runs on, or why there is no kernel."""
    try:
        return load_library().variant().name
    except LibraryMissingError as error:
        return f"none: {error}"


def identity() -> str:
    """Return the kernel's identity: its instruction set and the fingerprint of its sources."""
    try:
        return f"{load_library().variant().name} {load_library().sources}"
    except LibraryMissingError:
        return "none"
