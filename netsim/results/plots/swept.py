"""The axis of a swept key: its name, scale and ticks, and where values lie on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from netsim.registry import TAGS
from netsim.results.plots import names
from netsim.results.plots.names import Axis
from netsim.scenario.labels import short_path
from netsim.units import without_unit

_WIDE = 10.0
"""Ratio of the largest to the smallest value from which the axis is logarithmic."""
_BESIDE, _OF_GAP = 0.018, 0.6
"""Marks at one value stand so far apart: a part of the axis, and of the gap between values."""
_MOST_TICKS = 7
_CLOSE = 0.1
"""Ticks that are nearer to each other, as a part of the axis, would write over each other."""
_SUBS = (1.0, 2.0, 5.0)


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
    axis : Axis
        Its label and the factor of its unit.
    values : sequence
        Of all points, as drawn: a number inside a table stands for the table.
    is_number : bool
    """

    axis: Axis
    values: Sequence[Any]
    is_number: bool

    @staticmethod
    def of(key: str, values: Sequence[Any]) -> "SweptAxis":
        """That of a key, from its values at all points."""
        inner = _number_inside(values)
        if inner:
            values = [value[inner] for value in values]
        is_number = all(_is_number(value) for value in values)
        if inner:
            inside = names.key(inner, values)
            axis = Axis(f"{names.key(key).label}: {_lowered(inside.label)}", inside.per)
        else:
            axis = names.key(key, values if is_number else ())
        return SweptAxis(axis, values, is_number)

    def spelled(self, place: int) -> str:
        """One of the values in the unit of the axis."""
        value = self.values[place]
        return tick(value / self.axis.per) if self.is_number else value_label(value)

    def set_up(self, panel: Axes, narrow: bool = False) -> list[float]:
        """Label, scale, ticks and limits of a panel's axis; where each value lies.

        Parameters
        ----------
        panel : Axes
        narrow : bool
            Whether words have little room.
        """
        panel.set_xlabel(self.axis.label)
        return self._numbers(panel) if self.is_number else self._words(panel, narrow)

    def _numbers(self, panel: Axes) -> list[float]:
        at = [float(value) / self.axis.per for value in self.values]
        positive = [v for v in at if v > 0]
        if positive and min(at) >= 0 and max(positive) >= _WIDE * min(positive):
            if min(at) > 0:
                panel.set_xscale("log")
            else:  # a key that may be nought, such as a latency: linear up to its first step
                panel.set_xscale("symlog", linthresh=min(positive), linscale=0.5)
        different = sorted(set(at))
        change = panel.xaxis.get_transform()
        places = change.transform(np.array(different))
        low, high = float(places[0]), float(places[-1])
        margin = 0.07 * (high - low) or 0.5
        if len(different) <= _MOST_TICKS and np.all(np.diff(places) >= _CLOSE * (high - low)):
            panel.set_xticks(different, [tick(v) for v in different])
            panel.xaxis.set_minor_formatter(NullFormatter())
            panel.minorticks_off()
        else:
            plain = FuncFormatter(lambda v, _: tick(v))
            panel.xaxis.set_major_formatter(plain)
            if panel.get_xscale() == "log":
                panel.xaxis.set_major_locator(LogLocator(subs=_SUBS))
                panel.xaxis.set_minor_formatter(NullFormatter())
        ends = change.inverted().transform(np.array([low - margin, high + margin]))
        panel.set_xlim(*(float(v) for v in ends))
        return at

    def _words(self, panel: Axes, narrow: bool) -> list[float]:
        different = {str(value): value for value in self.values}
        ticks = [value_label(value, named=False) for value in different.values()]
        if len(set(ticks)) < len(ticks):  # only the names of keys tell some apart
            ticks = [value_label(value) for value in different.values()]
        panel.set_xticks(range(len(ticks)), ticks)
        letters = len(ticks) * max(len(line) for text in ticks for line in text.split("\n"))
        if letters > (26 if narrow else 40):
            panel.tick_params(axis="x", labelsize=7, rotation=20)
        panel.set_xlim(-0.5, len(ticks) - 0.5)
        places = {text: float(i) for i, text in enumerate(different)}
        return [places[str(value)] for value in self.values]


def beside(panel: Axes, x: Sequence[float], place: int, count: int) -> list[float]:
    """Return the places of marks whose bars do not hide those of others at the same values.

    Parameters
    ----------
    panel : Axes
        With its scale and limits.
    x : sequence of float
        Values on its axis.
    place, count : int
        Which of how many marks at each value.
    """
    change = panel.xaxis.get_transform()
    at = change.transform(np.asarray(x, dtype=np.float64))
    low, high = (float(v) for v in change.transform(np.array(panel.get_xlim())))
    every = np.unique(np.round(at, 9))
    gap = float(np.diff(every).min()) if len(every) > 1 else high - low
    step = min(_BESIDE * (high - low), _OF_GAP * gap / max(count, 1))
    moved = at + step * (place - (count - 1) / 2)
    return [float(v) for v in change.inverted().transform(moved)]


def value_label(value: Any, named: bool = True) -> str:
    """A swept value in short: a table by its kind and its other keys' values."""
    if isinstance(value, Mapping):
        kind = [str(value[k]) for k in TAGS if k in value]
        rest = {
            k: f"{value_label(v)} {without_unit(k)[1] if _is_number(v) else ''}".rstrip()
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
    label, _, unit = axis.label.removesuffix("]").partition(" [")
    number = _is_number(value)
    told = tick(value / axis.per) if number else value_label(value)
    return f"{_lowered(label)} {told}" + (f" {unit}" if unit and number else "")


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
    if not all(_is_number(v[k]) for k in differing for v in values):
        return None
    tables = len({str(v) for v in values})
    return next((k for k in differing if len({v[k] for v in values}) == tables), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
