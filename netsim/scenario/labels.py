"""Keys and values in short, for error messages, labels of sweeps and tables."""

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

from netsim.errors import one_line
from netsim.registry import TAGS

_LONGEST = 60
"""Letters of a value that is shown."""


def shown(value: Any) -> str:
    """A value as TOML would write it, shortened."""
    return _toml_line(value, _LONGEST)


def toml_text(value: Any) -> str:
    """A value as TOML would write it, in full: two values of different text differ."""
    return _toml_line(value, None)


def _toml_line(value: Any, most: int | None) -> str:
    """A value as TOML would write it on one line, in at most so many letters."""
    if isinstance(value, dict):
        few = itertools.islice(value.items(), most)
        inside = (f"{_key(k)} = {_toml_line(v, most)}" for k, v in few)
        text = "{" + ", ".join(inside) + "}"
    elif isinstance(value, list | tuple):
        inside = (_toml_line(v, most) for v in itertools.islice(value, most))
        text = "[" + ", ".join(inside) + "]"
    elif isinstance(value, float) and not math.isfinite(value):
        text = str(value)
    else:
        cut = value[:most] if isinstance(value, str) else value
        text = json.dumps(cut, ensure_ascii=False, default=str)
    text = one_line(text)
    return text if most is None or len(text) <= most else text[: most - 3] + "..."


def _key(name: Any) -> str:
    """A key as TOML would write it."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", str(name)) else json.dumps(name, default=str)


def short_key(path: str) -> str:
    """Return a key path's name in labels: its last part, of a `kind` that before it."""
    table, _, last = path.rpartition(".")
    return table.rpartition(".")[2] if last in TAGS and table else last


def short_path(text: str) -> str:
    """Shorten an absolute path to its last two parts; another text stays as it is."""
    path = Path(text)
    return "/".join(path.parts[-2:]) if path.is_absolute() else text


def csv_cell(value: Any) -> Any:
    """A swept value as one cell: tables and lists as text, in full, as it tells points apart."""
    return value if isinstance(value, int | float | str) else toml_text(value)
