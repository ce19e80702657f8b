"""Points of a sweep's grid and their names, which are those of their folders."""

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netsim.registry import TAGS
from netsim.scenario.labels import short_key, short_path, shown


@dataclass(frozen=True)
class Point:
    """One setting of the swept keys."""

    label: str
    values: dict[str, Any]


def points_of(over: Mapping[str, Sequence[Any]]) -> list[Point]:
    """The grid of some keys' values, in the order of the file; one point where nothing is varied.

    No two points have one label, whatever case a file system tells apart: alike ones are numbered.
    """
    grid = [dict(zip(over, c, strict=True)) for c in itertools.product(*over.values())]
    labels = [_label(values, over) for values in grid]
    counts = Counter(label.casefold() for label in labels)
    taken = set(counts)
    labelled = []
    for i, (label, values) in enumerate(zip(labels, grid, strict=True)):
        if counts[label.casefold()] > 1:
            numbered = (f"{label}-{k}" for k in itertools.count(i))
            label = next(name for name in numbered if name.casefold() not in taken)
            taken.add(label.casefold())
        labelled.append(Point(label, values))
    return labelled


def _label(values: dict[str, Any], over: Mapping[str, Sequence[Any]]) -> str:
    """A folder's name: `mu1=0.1,fading=rayleigh`."""
    lasts = [short_key(key) for key in values]
    parts = []
    for (key, value), last in zip(values.items(), lasts, strict=True):
        name = last if lasts.count(last) == 1 else key
        text = f"{name}={_short(value, over[key])}"
        parts.append(re.sub(r"[^A-Za-z0-9_.=-]+", "_", text))
    return ",".join(parts)[:120] or "base"


def _short(value: Any, others: Sequence[Any] = ()) -> str:
    """A value in a label: of a table its kind, and what tells it from others of that kind."""
    if isinstance(value, float):
        return f"{value:.6g}".replace("e+", "e")
    if not isinstance(value, dict):
        return short_path(str(value))
    tag = next((t for t in TAGS if t in value), None)
    if tag is None:
        return shown(value)
    alike = [v for v in others if isinstance(v, dict) and v.get(tag) == value[tag]]
    differing = [k for k in value if any(v.get(k) != value[k] for v in alike)]
    return "-".join([str(value[tag]), *(f"{k}={_short(value[k])}" for k in differing)])


def place_of(label: str, seed: int) -> str:
    """Path of a run in its sweep's folder; each algorithm has a folder in it."""
    return f"{label}/seed-{seed}"
