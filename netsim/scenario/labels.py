"""Keys and values in short, for error messages, labels of sweeps and tables."""

import itertools
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from netsim.errors import one_line
from netsim.registry import TAGS

T = TypeVar("T")
_LONGEST = 60


def shown(value: Any) -> str:
    """A value as TOML would write it, shortened."""
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{k} = {shown(v)}" for k, v in _first(value.items())) + "}"
    elif isinstance(value, list | tuple):
        text = "[" + ", ".join(shown(v) for v in _first(value)) + "]"
    elif isinstance(value, float) and not math.isfinite(value):
        text = str(value)
    else:
        cut = value[:_LONGEST] if isinstance(value, str) else value
        text = json.dumps(cut, ensure_ascii=False, default=str)
    text = one_line(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _first(values: Iterable[T]) -> Iterable[T]:
    """More of them than are shown."""
    return itertools.islice(values, _LONGEST)


def short_key(path: str) -> str:
    """Return a key path's name in labels: its last part, of a `kind` that before it."""
    table, _, last = path.rpartition(".")
    return table.rpartition(".")[2] if last in TAGS and table else last


def short_path(text: str) -> str:
    """Shorten an absolute path to its last two parts; another text stays as it is."""
    path = Path(text)
    return "/".join(path.parts[-2:]) if path.is_absolute() else text


def csv_cell(value: Any) -> Any:
    """A swept value as one cell: tables and lists as text."""
    return value if isinstance(value, int | float | str) else shown(value)
