"""Keys and values in short, for error messages, labels of sweeps and tables."""

import json
import math
from pathlib import Path
from typing import Any

from netsim.scenario.draft import TAGS


def shown(value: Any) -> str:
    """A value as TOML would write it, shortened."""
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{k} = {shown(v)}" for k, v in value.items()) + "}"
    elif isinstance(value, list | tuple):
        text = "[" + ", ".join(shown(v) for v in value) + "]"
    elif isinstance(value, float) and not math.isfinite(value):
        text = str(value)
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def short_key(path: str) -> str:
    """What a key path is called in labels: its last part, of a `kind` that before it."""
    table, _, last = path.rpartition(".")
    return table.rpartition(".")[2] if last in TAGS and table else last


def short_path(text: str) -> str:
    """Of an absolute path its last two parts; another text as it is."""
    path = Path(text)
    return "/".join(path.parts[-2:]) if path.is_absolute() else text
