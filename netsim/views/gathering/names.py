"""Names of axes, metrics and methods in figures.

Names follow from what the code says of them already, so that a new key, metric or method has one:
a key's words, with the unit that its name ends with; a measure's title;
a method's own name, as the first line of its file spells it.
"""

import ast
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from netsim.recording.main_metric import is_share
from netsim.recording.summary_fields import MEASURES
from netsim.registry import TAGS
from netsim.scenario import shipped
from netsim.units import without_unit
from netsim.views import Quantity

_PREFIXES = (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0), ("m", 1e-3), ("µ", 1e-6), ("n", 1e-9))
_DOWN_ONLY = ("s",)
"""Units without kilo and mega."""
_UP_ONLY = ("Hz", "bps", "bits", "bytes")
"""Units without milli: 0.1 Hz."""
_NEVER = ("dB", "dBm", "K", "1/dB")
_TITLE = re.compile(r"([^:,.]+)[:,.]")
_TITLES = {"accuracy": "Test accuracy", "accuracy_all_classes": "Test accuracy, all classes"}


@dataclass(frozen=True)
class Axis:
    """A label with its unit, and by what numbers are divided to be in it."""

    label: str
    per: float = 1.0


def metric(name: str) -> str:
    """A metric as the label of an axis."""
    percent = " [%]" if is_share(name) else ""
    if name in _TITLES or "accuracy" in name:
        return _TITLES.get(name, sentence(name)) + percent
    where = ", common samples" if name.endswith("_common") else ""
    return f"Test {name.removesuffix('_common').replace('_', ' ')}{where}{percent}"


def measure(name: str) -> str:
    """A measure of `summary_fields` as the label of an axis."""
    unit = MEASURES[name].unit
    told = MEASURES[name].title
    if "_" in told:  # of the spreads, which tables show beside their means
        told = name.replace("_std_nodes", ", std over nodes").replace("_", " ")
    return told[:1].upper() + told[1:] + (f" [{unit}]" if unit not in ("#", "") else "")


def difference(label: str, reference: str, alone: bool = False) -> str:
    """The label of an axis of differences: points of percent, where values are percent.

    Parameters
    ----------
    label : str
        Of the axis of the values.
    reference : str
        What is subtracted.
    alone : bool
        Whether it says what of, as it need not below the axis of the values.
    """
    unit = re.search(r" (\[.*\])$", label)
    told = {"[%]": "[pp]"}.get(unit[1], unit[1]) if unit else ""
    if not alone:
        return f"Difference to\n{reference} {told}".rstrip()
    what = label.removesuffix(unit[0]) if unit else label
    return f"{what}, difference to {reference} {told}".rstrip()


@cache
def method(name: str) -> str:
    """A method as its file spells it: `KD-PDFL` for `kd_pdfl`; any other name as it is."""
    try:
        folder = Path(str(shipped.algorithms_package().__path__[0]))
        text = (folder / f"{name}.py").read_text(encoding="utf-8")
        found = _TITLE.match(ast.get_docstring(ast.parse(text)) or "")
    except (OSError, ValueError, SyntaxError):
        return name
    title = found[1] if found else name
    return title if _plain(title) == _plain(name) else name


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().replace("+", "plus"))


def key(path: str, values: Sequence[Any] = ()) -> Axis:
    """A scenario key as the label of an axis: `Bandwidth [MHz]` for `radio.bandwidth_hz`.

    Numbers among the values that are drawn along it choose the prefix of the unit.
    """
    table, _, last = path.rpartition(".")
    if last in TAGS and table:
        table, _, last = table.rpartition(".")
    words, unit = without_unit(last)
    named = sentence(words)
    if "_" not in words and not unit and table:  # one word says little: count, alpha, loss
        named = f"{sentence(table.rpartition('.')[2])}: {_words(words)}"
    return quantity(named, unit, values)


def quantity(named: str, unit: str, values: Sequence[Any]) -> Axis:
    """A quantity as the label of an axis, with the prefix of its unit that suits some values.

    Parameters
    ----------
    named : str
    unit : str
        Empty: it has none.
    values : sequence
        What is drawn along the axis.
    """
    if not unit:
        return Axis(named)
    prefix, per = _prefix(unit, values)
    return Axis(f"{named} [{prefix}{unit}]", per)


def _prefix(unit: str, values: Sequence[Any]) -> tuple[str, float]:
    """The prefix with which the largest of some numbers is above one."""
    sizes = [abs(v) for v in values if _is_number(v) and v and math.isfinite(v)]
    if not sizes or unit in _NEVER or not unit[0].isalpha() or "flop" in unit:
        return "", 1.0
    for prefix, size in _PREFIXES:
        if unit.startswith(_DOWN_ONLY) and size > 1:
            continue
        if unit.startswith(_UP_ONLY) and size == 1:
            return prefix, size
        if max(sizes) >= 0.999 * size:
            return prefix, size
    return _PREFIXES[-1]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def sentence(name: str) -> str:
    """A name in words, the first one with a capital; what has no vowel is an abbreviation."""
    text = _words(name)
    return text[:1].upper() + text[1:]


def _words(name: str) -> str:
    parts = name.replace("_", " ").split(" ")
    return " ".join(
        w.upper() if len(w) > 1 and w.isalpha() and not set(w.lower()) & set("aeiouy") else w
        for w in parts
    )


def as_quantity(column: str, label: str) -> Quantity:
    """A column of a table by the label of its axis, which may end with its unit in brackets."""
    found = re.fullmatch(r"(.*) \[([^\]]*)\]", label, re.DOTALL)
    return Quantity(column, found[1], found[2]) if found else Quantity(column, label)
