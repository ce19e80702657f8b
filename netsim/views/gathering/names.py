"""Names of axes, metrics and methods in figures.

A name comes from the thing itself, so that a new key, metric or method has one without an entry
here: a key's words and the unit at its end; a measure's title; a method's name as the first line
of its file spells it.
"""

import ast
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from netsim.errors import one_line
from netsim.recording.main_metric import is_share
from netsim.recording.summary_fields import MEASURES
from netsim.registry import TAGS
from netsim.scenario import shipped
from netsim.units import is_number, without_unit
from netsim.views import Quantity

_PREFIXES = (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0), ("m", 1e-3), ("µ", 1e-6), ("n", 1e-9))
_DOWN_ONLY = ("s",)
"""Units without kilo and mega."""
_UP_ONLY = ("Hz", "bps", "bits", "bytes")
"""Units without milli: 0.1 Hz."""
_NEVER = ("dB", "dBm", "K", "1/dB", "deg", "Mbit/s", "MHz", "GB")
_TITLE = re.compile(r"([^:,.]+)[:,.]")
_TITLES = {"accuracy": "Test accuracy", "accuracy_all_classes": "Test accuracy, all classes"}


def metric(name: str, column: str = "mean") -> Quantity:
    """A metric as an axis."""
    unit = "%" if is_share(name) else ""
    if name in _TITLES or "accuracy" in name:
        return Quantity(column, _TITLES.get(name, sentence(name)), unit)
    where = ", common samples" if name.endswith("_common") else ""
    return Quantity(column, f"Test {name.removesuffix('_common').replace('_', ' ')}{where}", unit)


def measure(name: str) -> Quantity:
    """A measure of `summary_fields` as an axis."""
    unit = MEASURES[name].unit.replace("#", "")
    title = MEASURES[name].title
    if "_" in title:  # of the spreads, which tables show beside their means
        title = name.replace("_std_nodes", ", std over nodes").replace("_", " ")
    return Quantity("mean", title[:1].upper() + title[1:], unit)


def difference(axis: Quantity, reference: str, alone: bool = False) -> Quantity:
    """An axis of differences: points of percent, where values are percent.

    Parameters
    ----------
    axis : Quantity
        Of the values.
    reference : str
        What is subtracted.
    alone : bool
        Whether it says what of, as it need not below the axis of the values.
    """
    label = f"{axis.label}, difference to {reference}" if alone else f"Difference to\n{reference}"
    return replace(axis, label=label, unit="pp" if axis.unit == "%" else axis.unit)


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


def key(path: str, values: Sequence[Any] = (), column: str = "x") -> Quantity:
    """A scenario key as an axis: `Bandwidth [MHz]` for `radio.bandwidth_hz`.

    Parameters
    ----------
    values : sequence
        The values drawn along the axis; the numbers among them choose the prefix of the unit.
    column : str
        Of the table that is drawn.
    """
    table, _, last = path.rpartition(".")
    if last in TAGS and table:
        table, _, last = table.rpartition(".")
    words, unit = without_unit(last)
    named = sentence(words)
    if "_" not in words and not unit and table:  # one word says little: count, alpha, loss
        named = f"{sentence(table.rpartition('.')[2])}: {_words(words)}"
    return quantity(named, unit, values, column)


def quantity(named: str, unit: str, values: Sequence[Any], column: str = "x") -> Quantity:
    """A quantity as an axis, with the prefix of its unit that suits some values.

    Parameters
    ----------
    unit : str
        Empty: it has none.
    values : sequence
        What is drawn along the axis.
    """
    prefix, per = _prefix(unit, values) if unit else ("", 1.0)
    return Quantity(column, named, prefix + unit, per)


def _prefix(unit: str, values: Sequence[Any]) -> tuple[str, float]:
    """The prefix with which the largest of some numbers is above one."""
    sizes = [abs(v) for v in values if is_number(v) and v and math.isfinite(v)]
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


def full_stop(line: str) -> str:
    """A line as a sentence: a capital, unless it begins with a path, and a full stop."""
    is_path = "/" in line.partition(" ")[0]
    return one_line(f"{line[:1] if is_path else line[:1].upper()}{line[1:]}.")
