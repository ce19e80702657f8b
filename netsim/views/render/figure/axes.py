"""Axes of all figures: where they begin and end, which are logarithmic, ticks and labels."""

import textwrap

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation, MaxNLocator
from numpy.typing import NDArray

from netsim.views.render.figure.style import FAINT, GRID

DECADES = 100.0
"""Ratio of the largest to the smallest value from which a vertical axis is logarithmic."""
_STEPS = [1, 2, 2.5, 5, 10]
_LONG = 30
"""A label of more letters is taller than a panel."""
_LONGEST_LABEL = 32
"""Characters of a word beside a tick."""


def lines_across(axes: Axes) -> None:
    """Draw a thin line at each tick of a vertical axis, in place of the tick's own mark."""
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.tick_params(axis="y", length=0)


def plain_ticks(axis: Axis) -> None:
    """Put at most seven plain numbers on an axis."""
    axis.set_major_locator(MaxNLocator(6, steps=_STEPS))
    axis.set_major_formatter(FuncFormatter(lambda v, _: tick_text(v)))


def share_axis(axes: Axes, drawn: NDArray[np.float64]) -> None:
    """Percent on a vertical axis around some shares, NaN left out, never beyond 0 and 100."""
    there = drawn[~np.isnan(drawn)]
    low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 1.0)
    margin = max(0.06 * (high - low), 0.01)
    axes.set_ylim(max(0.0, low - margin), min(1.0, high + margin))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=_STEPS))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:g}"))
    lines_across(axes)


def value_axis(axes: Axes, drawn: NDArray[np.float64]) -> None:
    """Plain numbers on a vertical axis around what is finite of them; logarithmic over decades."""
    drawn = drawn[np.isfinite(drawn)]
    lines_across(axes)
    if not len(drawn):
        return
    low, high = float(drawn.min()), float(drawn.max())
    if low > 0 and high > DECADES * low:
        axes.set_yscale("log")
        without_formulas(axes.yaxis)
        return
    margin = 0.06 * (high - low) or 0.01 * abs(high) or 1.0
    axes.set_ylim(max(0.0, low - margin) if low >= 0 else low - margin, high + margin)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: tick_text(y)))


class _PlainLog(LogFormatterSciNotation):
    """Labels a logarithmic axis where Matplotlib does, in plain numbers."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return tick_text(x) if super().__call__(x, pos) else ""


def without_formulas(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers: no text in a figure is read as a formula."""
    axis.set_major_formatter(_PlainLog())
    axis.set_minor_formatter(_PlainLog(minor_thresholds=(1, 0.4)))


def number_axis(axes: Axes, end: float) -> None:
    """Plain numbers on a horizontal axis, from zero to the largest number drawn."""
    axes.set_xlim(0, 1.015 * end if end > 0 else 1)
    plain_ticks(axes.xaxis)


def tick_text(x: float) -> str:
    """A tick's number: no needless digits, commas from ten thousand on."""
    return f"{x:,.0f}" if abs(x) >= 10_000 else f"{x:g}"


def difference_axis(axes: Axes, drawn: NDArray[np.float64], in_percent: bool) -> None:
    """Differences on a vertical axis around what is drawn and finite, and zero, which has a line.

    Parameters
    ----------
    in_percent : bool
        Whether ticks are a hundred times the values: points of percent.
    """
    axes.axhline(0.0, color=FAINT, linewidth=0.8, zorder=1)
    lines_across(axes)
    drawn = np.append(drawn[np.isfinite(drawn)], 0.0)
    low, high = float(drawn.min()), float(drawn.max())
    margin = 0.06 * (high - low) or 0.01
    axes.set_ylim(low - margin, high + margin)
    scale = 100.0 if in_percent else 1.0
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=_STEPS))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: tick_text(round(scale * y, 9))))


def wrapped(label: str, figure: Figure, columns: int) -> str:
    """A label below a panel in as many lines as the width of the panel needs.

    Parameters
    ----------
    columns : int
        Panels beside each other.
    """
    width_pt = 72 * 0.8 * figure.get_figwidth() / columns
    return textwrap.fill(label, int(width_pt / (0.52 * float(rcParams["font.size"]))))


def wrapped_once(label: str) -> str:
    """A label beside a panel, in two lines where it is long."""
    if len(label) <= _LONG or "\n" in label:
        return label
    return "\n".join(textwrap.wrap(label, -(-len(label) // 2) + 4))


def shorten(word: object) -> str:
    """Return a label, cut where an axis has no room for it."""
    text = str(word)
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 3]}..."
