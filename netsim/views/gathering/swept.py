"""A swept key along an axis: its name, its unit, and its values in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from netsim.registry import TAGS
from netsim.scenario.labels import short_path
from netsim.units import is_number, without_unit
from netsim.views import Quantity
from netsim.views.gathering import names

_LONGEST = 60
"""Letters of a point's name."""
_WIDE = 10.0
"""Ratio of the largest to the smallest value from which the axis is logarithmic."""


def swept_key(values: Sequence[Mapping[str, Any]]) -> str | None:
    """The key with the most values, the first of equals; None where none has two."""
    counts = {key: len({str(v[key]) for v in values}) for key in (values[0] if values else ())}
    most = max(counts.values(), default=0)
    return next((key for key, n in counts.items() if n == most), None) if most > 1 else None


@dataclass(frozen=True, eq=False)
class SweptAxis:
    """One swept key along a horizontal axis.

    Attributes
    ----------
    axis : Quantity
        The key in its unit.
    values : sequence
        Of all points, as drawn: a number inside a table stands for the table.
    is_number : bool
    """

    axis: Quantity
    values: Sequence[Any]
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
        places = {text: float(i) for i, text in enumerate(dict.fromkeys(map(str, self.values)))}
        return [places[str(value)] for value in self.values]

    @property
    def words(self) -> list[str]:
        """Different values that are no numbers, as ticks; empty for numbers."""
        if self.is_number:
            return []
        different = list({str(value): value for value in self.values}.values())
        ticks = [value_label(value, named=False) for value in different]
        if len(set(ticks)) < len(ticks):  # only the names of keys tell some apart
            ticks = [value_label(value) for value in different]
        return ticks

    @property
    def scale(self) -> Literal["linear", "log", "symlog"]:
        """Logarithmic where values span a decade; linear up to the first step where one is 0."""
        at = self.at if self.is_number else []
        positive = [v for v in at if v > 0]
        if positive and min(at) >= 0 and max(positive) >= _WIDE * min(positive):
            return "log" if min(at) > 0 else "symlog"
        return "linear"

    def text(self, place: int) -> str:
        """One of the values in the unit of the axis."""
        value = self.values[place]
        return tick(value / self.axis.per) if self.is_number else value_label(value)


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


def with_name(key: str, value: Any) -> str:
    """A key and its value: `bandwidth 5 MHz`."""
    axis = names.key(key, [value])
    number = is_number(value)
    words = tick(value / axis.per) if number else value_label(value)
    return f"{_lowered(axis.label)} {words}" + (f" {axis.unit}" if axis.unit and number else "")


def point_names(points: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Points of a sweep in words, `bandwidth 5 MHz, period 20 s`, by their labels.

    Points keep their labels where two would be called the same, or one of them in more than
    `_LONGEST` characters, as in a search of many keys.

    Parameters
    ----------
    points : mapping of str to mapping
        The swept keys and their values, by label.
    """
    made = {
        label: ", ".join(with_name(key, value) for key, value in values.items()) or label
        for label, values in points.items()
    }
    is_clear = len(set(made.values())) == len(made)
    return (
        made
        if is_clear and max(map(len, made.values()), default=0) <= _LONGEST
        else {label: label for label in points}
    )


def tick(x: float) -> str:
    """A number without needless digits; thousands, millions and billions in short."""
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(x) >= max(size, 1e4):
            return f"{x / size:.4g}{prefix}"
    return f"{x:.4g}"


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
