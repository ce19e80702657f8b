"""TOML from outside, read only as far as a scenario needs it: short keys, few levels, few keys.

`tomllib` takes hours over a key of a million parts and fails in several ways on what is nested a
thousand deep; whoever walks through the tables would do so, too.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError, one_line
from netsim.traces import bounded

MOST_FILE_BYTES = 4 << 20
MOST_LEVELS = 30
MOST_KEYS = 5_000
"""In tables that lie in no list."""
MOST_KEY_LENGTH = 200

_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.){0,60}+"|'[^'\n]{0,60}+')"""
_LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_-])(?>{_PART}[ \t]*\.[ \t]*){{{MOST_LEVELS},}}")


def read_toml(path: Path, label: str) -> dict[str, Any]:
    """The tables of a file.

    Parameters
    ----------
    path : Path
    label : str
        Begins errors about it.

    Raises
    ------
    ScenarioError
        If it is no plain file, larger than 4 MiB, or no TOML that is read here.
    """
    try:
        if path.stat().st_size > MOST_FILE_BYTES:
            raise ScenarioError(f"{label}: is larger than 4 MiB; a scenario is a short TOML file")
        content = bounded.read_plain_file(path, label, MOST_FILE_BYTES)
    except OSError as error:
        raise ScenarioError(f"{label}: cannot be read: {error.strerror or error}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ScenarioError(
            f"{label}: is a binary file; a scenario is a text file in TOML, saved as UTF-8"
        )
    return toml_of(text, label)


def toml_of(text: str, label: str) -> dict[str, Any]:
    """The tables of a text.

    Parameters
    ----------
    text : str
    label : str
        Begins errors about it.

    Raises
    ------
    ScenarioError
        If it is no TOML, or has keys or levels that no scenario has.
    """
    if _LONG_KEY.search(text):
        raise ScenarioError(f"{label}: has a key of more than {MOST_LEVELS} parts")
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise ScenarioError(
            f"{label}: is not valid TOML: lists or tables lie more than {MOST_LEVELS} deep in each "
            "other"
        ) from None
    except ValueError as error:  # beside TOMLDecodeError that of a number of thousands of digits
        raise ScenarioError(f"{label}: is not valid TOML: {one_line(error)}") from error
    require_plain(tables, label)
    return tables


def require_plain(tables: dict[str, Any], label: str) -> None:
    """Raise ScenarioError if tables have keys or levels that no scenario has.

    Parameters
    ----------
    tables : dict
    label : str
        Begins the error.
    """
    keys = 0
    waiting: list[tuple[Any, int, bool]] = [(tables, 0, False)]
    while waiting:
        value, level, listed = waiting.pop()
        if level > MOST_LEVELS:
            raise ScenarioError(
                f"{label}: is not read: lists or tables lie more than {MOST_LEVELS} deep in each "
                "other"
            )
        if isinstance(value, dict):
            keys += 0 if listed else len(value)
            if keys > MOST_KEYS:
                raise ScenarioError(f"{label}: has more than {MOST_KEYS:,} keys")
            for key in value:
                _require_name(key, label)
            waiting += [(inner, level + 1, listed) for inner in value.values()]
        elif isinstance(value, list | tuple):
            nested = (inner for inner in value if isinstance(inner, dict | list | tuple))
            waiting += [(inner, level + 1, True) for inner in nested]


def _require_name(key: Any, label: str) -> None:
    if not isinstance(key, str):
        raise ScenarioError(f"{label}: the key {one_line(repr(key))} is no text")
    if len(key) > MOST_KEY_LENGTH or one_line(key) != key:
        shown = one_line(key[:60])
        what = "is too long" if len(key) > MOST_KEY_LENGTH else "holds control characters"
        raise ScenarioError(f'{label}: the key "{shown}" {what}')
