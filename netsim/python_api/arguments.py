"""Checks of what Python code hands over: a ScenarioError names an argument that can't be."""

import errno
import math
from collections.abc import Callable, Iterable
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from netsim.errors import ScenarioError, one_line
from netsim.registry import did_you_mean
from netsim.traces.files import spelt_out


def as_path(given: str | Path, name: str = "path") -> Path:
    """A given path, with the home folder in place of `~`.

    Parameters
    ----------
    given : str or Path
    name : str
        The argument's, for errors.

    Raises
    ------
    ScenarioError
        If it is none, or one that no file system takes.
    """
    if not isinstance(given, str | Path):
        raise ScenarioError(f"{name} = {_shown(given)}: must be a path, a str or a Path")
    if given == "":
        raise ScenarioError(f'{name} = "": is empty; write "." for the working folder')
    path = spelt_out(str(given))
    try:
        path.lstat()
    except ValueError as error:
        raise ScenarioError(f"{name} = {_shown(given)}: is no path: {error}") from None
    except OSError as error:
        if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            raise ScenarioError(f"{name} = {_shown(given)}: {error.strerror}") from None
    return path


def require_flags(caller: str, **given: Any) -> None:
    """Refuse a switch that is neither True nor False: any text counts as true in Python."""
    for name, value in given.items():
        if not isinstance(value, bool | np.bool_):
            raise ScenarioError(f"{caller}: {name} = {_shown(value)}: must be True or False")


def require_functions(caller: str, **given: tuple[Callable[..., object] | None, str]) -> None:
    """Refuse what can't be called, before a run has begun that would call it.

    Parameters
    ----------
    caller : str
    **given : (object, str)
        By argument what was given, None for nothing, and what a function takes and gives.
    """
    for name, (value, form) in given.items():
        if value is not None and not callable(value):
            raise ScenarioError(f"{caller}: {name} = {_shown(value)}: must be callable, {form}")


def require_ordered(value: Any, label: str) -> None:
    """Refuse a set where order matters: in each process its entries have another order."""
    if isinstance(value, set | frozenset):
        raise ScenarioError(f"{label} = {_shown(value)}: is a set, which has no order; give a list")


def require_texts(caller: str, **given: Any) -> None:
    """Refuse names that are no text; None stands for none.

    Parameters
    ----------
    caller : str
    **given
        By argument a name, or a tuple of names.
    """
    for name, value in given.items():
        for one in value if isinstance(value, tuple) else (value,):
            if one is not None and not isinstance(one, str):
                raise ScenarioError(f"{caller}: {name} = {_shown(one)}: must be a text")


def require_one_of(caller: str, name: str, value: Any, known: Iterable[str]) -> None:
    """Refuse a name that is none of those known; None stands for none.

    Parameters
    ----------
    caller, name : str
        The function and its argument, for errors.
    value : object
        What was given.
    known : iterable of str
    """
    require_texts(caller, **{name: value})
    there = list(known)
    if value is not None and value not in there:
        raise ScenarioError(
            f'{caller}: {name} = "{one_line(value)}": must be one of {", ".join(there)}'
            + did_you_mean(value, there)
        )


def as_number(caller: str, name: str, value: Any, whole: bool = False) -> float | None:
    """A number that may be one of NumPy's; None stands for none.

    Parameters
    ----------
    caller, name : str
        The function and its argument, for errors.
    value : object
    whole : bool
        Whether it must be a whole number.
    """
    if value is None:
        return None
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if is_number and (float(value).is_integer() if whole else not math.isnan(value)):
        return int(value) if whole else float(value)
    kind = "whole number" if whole else "number"
    raise ScenarioError(f"{caller}: {name} = {_shown(value)}: must be a {kind}")


def _shown(value: Any) -> str:
    text = one_line(repr(value))
    return text if len(text) <= 200 else f"{text[:100]}..."
