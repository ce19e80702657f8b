"""A swept key along an axis: its name, its unit, and its values in words."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

from netsim.registry import TAGS
from netsim.scenario.labels import short_path, toml_text
from netsim.units import is_number, without_unit
from netsim.views import Quantity
from netsim.views.gathering import names

_LONGEST = 60
"""Letters of a point's name."""
_WIDE = 10.0
"""Ratio of the largest to the smallest value from which the axis is logarithmic."""


def swept_key(values: Sequence[Mapping[str, Any]]) -> str | None:
    """The key with the most values, the first of equals; None where none has two."""
    counts = {key: len(set(texts)) for key, texts in _toml_texts(values).items()}
    most = max(counts.values(), default=0)
    return next((key for key, n in counts.items() if n == most), None) if most > 1 else None


def varied_keys(values: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys that have two values or more, from those of all points."""
    return [key for key, texts in _toml_texts(values).items() if len(set(texts)) > 1]


def _toml_texts(values: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The values of each key as TOML has them, so that "1", 1 and true stay apart."""
    keys = dict.fromkeys(key for of_point in values for key in of_point)
    return {key: [toml_text(v[key]) for v in values if key in v] for key in keys}


@dataclass(frozen=True, eq=False)
class SweptAxis:
    """One swept key along a horizontal axis."""

    axis: Quantity
    """The key in its unit."""
    values: Sequence[Any]
    """Of all points, as drawn: a number inside a table stands for the table."""
    is_number: bool

    @staticmethod
    def of(key: str, values: Sequence[Any]) -> "SweptAxis":
        """That of a key, from its values at all points."""
        inner = _number_inside(values)
        if inner:
            values = [value[inner] for value in values]
        is_number_axis = all(map(is_number, values))
        if inner:
            inside = names.key(inner, values)
            axis = replace(inside, label=f"{names.key(key).title}: {_lowered(inside.label)}")
        else:
            axis = names.key(key, values if is_number_axis else ())
        return SweptAxis(axis, values, is_number_axis)

    @property
    def at(self) -> list[float]:
        """Places of all values, in the unit of the axis; words lie at whole numbers from 0."""
        if self.is_number:
            return [float(value) / self.axis.per for value in self.values]
        words = list(map(toml_text, self.values))
        places = {text: float(i) for i, text in enumerate(dict.fromkeys(words))}
        return [places[text] for text in words]

    @property
    def words(self) -> list[str]:
        """Different values that are no numbers, as ticks; empty for numbers."""
        if self.is_number:
            return []
        different = list({toml_text(value): value for value in self.values}.values())
        return telling_apart(different, [partial(value_label, named=False), *_IN_FULL])

    @property
    def scale(self) -> Literal["linear", "log", "symlog"]:
        """Logarithmic where values span a decade; linear up to the first step where one is 0."""
        at = self.at if self.is_number else []
        positive = [v for v in at if v > 0]
        if positive and min(at) >= 0 and max(positive) >= _WIDE * min(positive):
            return "log" if min(at) > 0 else "symlog"
        return "linear"

    @cached_property
    def texts(self) -> list[str]:
        """The values in the unit of the axis, unlike texts for unlike values."""
        if not self.is_number:
            return telling_apart(self.values, _IN_FULL)
        return number_texts([value / self.axis.per for value in self.values])


def value_label(value: Any, named: bool = True) -> str:
    """A swept value in short: a table by its kind and its other keys' values."""
    if isinstance(value, Mapping):
        kind = [str(value[k]) for k in TAGS if k in value]
        rest = {
            k: f"{value_label(v)} {without_unit(k)[1] if is_number(v) else ''}".rstrip()
            for k, v in value.items()
            if k not in TAGS
        }
        others = ", ".join(
            f"{without_unit(k)[0].replace('_', ' ')} {text}" if named else text
            for k, text in rest.items()
        )
        return (", " if named else "\n").join([*kind, others] if others else kind)
    if isinstance(value, bool):
        return str(value).lower()
    return tick(value) if isinstance(value, int | float) else short_path(str(value))


def with_name(key: str, values: Sequence[Any]) -> list[str]:
    """A key and each of its values: `bandwidth 5 MHz`, unlike texts for unlike values."""

    def named(
        value: Any, of_number: Callable[[float], str], of_other: Callable[[Any], str] = value_label
    ) -> str:
        axis = names.key(key, [value])
        if not is_number(value):
            return f"{_lowered(axis.label)} {of_other(value)}"
        return f"{_lowered(axis.label)} {of_number(value / axis.per)} {axis.unit}".rstrip()

    in_full = partial(named, of_number=_NUMBERS[-1], of_other=toml_text)
    return telling_apart(values, [*(partial(named, of_number=way) for way in _NUMBERS), in_full])


def telling_apart(values: Sequence[Any], ways: Iterable[Callable[[Any], str]]) -> list[str]:
    """Texts of values by the first way that gives unlike ones to unlike values, else as in TOML."""
    different = len(set(map(toml_text, values)))
    for way in ways:
        texts = [way(value) for value in values]
        if len(set(texts)) == different:
            return texts
    return list(map(toml_text, values))


def point_names(points: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Points of a sweep in words, `bandwidth 5 MHz, period 20 s`, by their labels.

    Points keep their labels where two would be called the same, or one of them in more than
    `_LONGEST` characters, as in a search of many keys.
    """
    parts: dict[str, list[str]] = {label: [] for label in points}
    for key in dict.fromkeys(key for values in points.values() for key in values):
        having = [label for label, values in points.items() if key in values]
        told = with_name(key, [points[label][key] for label in having])
        for label, text in zip(having, told, strict=True):
            parts[label].append(text)
    made = {label: ", ".join(texts) or label for label, texts in parts.items()}
    is_clear = len(set(made.values())) == len(made)
    return (
        made
        if is_clear and max(map(len, made.values()), default=0) <= _LONGEST
        else {label: label for label in points}
    )


def tick(x: float, digits: int = 4) -> str:
    """A number without needless digits; thousands, millions and billions in short."""
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(x) >= max(size, 1e4):
            return f"{x / size:.{digits}g}{prefix}"
    return f"{x:.{digits}g}"


def number_texts(values: Sequence[float]) -> list[str]:
    """Numbers in as few digits as tell them apart."""
    return telling_apart(values, _NUMBERS)


_NUMBERS = (tick, partial(tick, digits=7), partial(tick, digits=12))
_IN_FULL = (value_label,)
"""Ways to write numbers, and any value, the shortest first."""


def _lowered(label: str) -> str:
    """A label in the middle of a text; abbreviations stay."""
    return label if label[:2].isupper() else label[:1].lower() + label[1:]


def _number_inside(values: Sequence[Any]) -> str | None:
    """The key whose numbers tell tables of one kind apart; None for anything else."""
    if not all(isinstance(v, Mapping) and v.keys() == values[0].keys() for v in values):
        return None
    differing = [k for k in values[0] if len({str(v[k]) for v in values}) > 1]
    if not all(is_number(v[k]) for k in differing for v in values):
        return None
    tables = len({str(v) for v in values})
    return next((k for k in differing if len({v[k] for v in values}) == tables), None)
