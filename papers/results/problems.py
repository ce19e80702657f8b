"""Faults of a table's file or of a name that was asked for, in a line each."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Protocol, TypeVar

from pydantic_core import ErrorDetails

from netsim import ScenarioError


class _Named(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=_Named)


def named(name: str, known: Sequence[T], what: str) -> T:
    """The one of a name.

    Parameters
    ----------
    name : str
    known : sequence
    what : str
        What they are, for the message.

    Raises
    ------
    ScenarioError
        If there is none.
    """
    found = next((one for one in known if one.name == name), None)
    if found is None:
        raise ScenarioError(unknown(name, [one.name for one in known], what))
    return found


def unknown(name: str, known: Sequence[str], what: str) -> str:
    """The message that there is no such name."""
    quoted = ", ".join(f'"{one}"' for one in dict.fromkeys(known))
    return f'{what}: there is no "{name}"{did_you_mean(name, known)} (there are {quoted})'


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """The end of a message that names the likeliest of what there is; empty: none is near."""
    near = difflib.get_close_matches(name, known, 1)
    return f'; did you mean "{near[0]}"?' if near else ""


def problem(error: ErrorDetails, raw: Any, top: type, kinds: Mapping[str, type]) -> str:
    """One of pydantic's errors: where it is, what is wrong, and what may have been meant.

    Parameters
    ----------
    error : ErrorDetails
    raw : mapping
        What the file says.
    top : type
        What it should be.
    kinds : mapping of str to type
        What the lists in it are of.
    """
    where, kind, here = "", top, raw
    for key in error["loc"]:
        where += f" {key + 1}" if isinstance(key, int) else f"{'.' if where else ''}{key}"
        kind = kinds.get(str(key), kind)
        try:
            here = here[key]
        except (KeyError, IndexError, TypeError):
            here = None
        if isinstance(key, int) and isinstance(here, dict) and "name" in here:
            where += f' ("{here["name"]}")'
    if error["type"] == "unexpected_keyword_argument":
        known = [one.name for one in fields(kind) if (kind, one.name) != (top, "name")]
        return f"{where}: no such key{did_you_mean(str(error['loc'][-1]), known)}"
    if error["type"] == "missing":
        return f"{where}: is required"
    told = error["msg"]
    return f"{where} = {error['input']!r}: {told[:1].lower()}{told[1:]}"
