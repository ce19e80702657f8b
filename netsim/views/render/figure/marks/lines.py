"""Curves over a common axis, each with a band, bars or single seeds around it; distributions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from netsim.views import Lines, Table
from netsim.views.render.figure import axes as plot_axes
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.drawer import Drawer, Legend

MOST_BANDS = 4
"""More bands than this hide each other; they become bars beside each other."""
_BARS, _BESIDE = 5, 0.012
"""So many bars a curve, each a part of the axis before the next curve's."""
_SILENT = 0.005
"""Part of the busiest run's traffic; a curve of less would lie on the vertical axis."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Curve:
    """One curve as it is drawn: `number` of `count` of them."""

    x: Floats
    y: Floats
    look: dict[str, Any]
    number: int
    count: int

    @property
    def is_crowded(self) -> bool:
        """True where too many curves are drawn for a band around each."""
        return self.count > MOST_BANDS

    def marked_points(self) -> tuple[NDArray[np.intp], float]:
        """Choose the points with marks around them, and how far these stand from the curve."""
        step = max(1, len(self.x) // _BARS)
        at = np.arange(len(self.x) - 1, 0, -step)  # the first one would stand on the axis
        return at, _BESIDE * float(np.ptp(self.x)) * (self.number - self.count + 1)


class LinesDrawer(Drawer[Lines]):
    """Curves, in the order in which the table first names them."""

    mark, size_in = Lines, (3.9, 3.6)

    def draw(self, mark: Lines, table: Table, on: Axes, legend: Legend) -> None:
        names = list(dict.fromkeys(table[mark.curve].tolist()))
        is_distribution = mark.axis == "distribution"
        scale = mark.y.scale if is_distribution else 1.0  # ticks of the others are percent
        all_x = mark.x.scale * table[mark.x.column]
        end, drawn = float(all_x.max()), []
        for name in names:
            mine = table[mark.curve] == name
            x, y = all_x[mine], scale * table[mark.y.column][mine]
            look = _look(mark, name, legend.places[name], len(x))
            label = f"{name}: {mark.told[name]}" if name in mark.told else str(name)
            if mark.silent and x.max() < _SILENT * end:
                # a curve over traffic needs traffic; a level can still be compared with
                level = on.axhline(float(y[-1]), color=look["color"], linestyle=(0, (4, 2)))
                legend.add(f"{label} ({mark.silent})", level)
                drawn.append(y[-1:])
                continue
            if is_distribution:
                first = x[0] if mark.is_log else min(x[0], all_x.min())
                x = np.concatenate([[first], x, [end]])
                y = np.concatenate([[0.0], y, [scale]])
                look |= {"clip_on": True, "drawstyle": "steps-post"}
            legend.add(label, on.plot(x, y, **look)[0])
            curve = _Curve(x, y, look, legend.places[name], len(names))
            drawn += [y, *_draw_spread(mark, table, name, on, curve)]
        _set_axes(mark, on, np.concatenate(drawn), end)


def _look(mark: Lines, name: str, place: int, points: int) -> dict[str, Any]:
    """Colour, line and marker of a curve."""
    look = plot_style.curve_style(place, points)
    if name in mark.looks:
        colour, dash = mark.looks[name]
        look["color"] = plot_style.COLOURS[colour % 7]
        look["marker"] = "" if points > 1 else look["marker"]  # a point alone has no line
        look["linestyle"] = plot_style.LINES[dash % len(plot_style.LINES)]
    return look


def _draw_spread(mark: Lines, table: Table, name: str, on: Axes, curve: _Curve) -> Sequence[Floats]:
    """Draw what is around a curve, if anything is; gives the values that are drawn."""
    if name in mark.each:
        _draw_seeds(on, mark.each[name], curve)
        return [np.ravel(mark.each[name])]
    mine = table[mark.curve] == name
    if not mark.low or not np.isfinite(table[mark.low][mine]).any():
        return []
    low, high = table[mark.low][mine], table[mark.high][mine]
    if mark.axis == "share":  # bands of shares stay shares
        low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    return _draw_band(on, low, high, curve)


def _draw_band(on: Axes, low: Floats, high: Floats, curve: _Curve) -> Sequence[Floats]:
    """Draw a band between two ends, or, of many curves, bars beside those of the others."""
    colour = curve.look["color"]
    if not curve.is_crowded:
        # where bands lie over each other, their edges tell them apart
        fill: dict[str, Any] = {"facecolor": (colour, 0.12), "edgecolor": (colour, 0.6)}
        line = curve.look["linestyle"]
        on.fill_between(curve.x, low, high, linewidth=0.5, linestyle=line, **fill)
        return [low, high]
    at, aside = curve.marked_points()
    x, y = curve.x[at] + aside, curve.y[at]
    ends = [y - low[at], high[at] - y]
    bars: dict[str, Any] = {"elinewidth": 0.9, "capsize": 1.5, "zorder": 2}
    on.errorbar(x, y, ends, linestyle="none", color=colour, **bars)
    return [low[at], high[at]]


def _draw_seeds(on: Axes, each: Floats, curve: _Curve) -> None:
    """Thin lines of single seeds, or, of many curves, dots beside those of the others."""
    colour = curve.look["color"]
    if not curve.is_crowded:
        on.plot(curve.x, each.T, color=colour, alpha=0.55, linewidth=0.7, zorder=2)
        return
    at, aside = curve.marked_points()
    dots: dict[str, Any] = {"marker": ".", "markersize": 3.5, "linestyle": "none", "zorder": 2}
    on.plot(curve.x[at] + aside, each[:, at].T, color=colour, **dots)


def _set_axes(mark: Lines, on: Axes, drawn: Floats, end: float) -> None:
    """Set labels, limits and ticks; `end` is that of the horizontal axis."""
    on.set_xlabel(mark.x.title)
    if mark.axis == "distribution":
        _distribution_axes(mark, on)
        return
    on.set_ylabel(mark.y.title)
    if mark.axis == "difference":
        plot_axes.difference_axis(on, drawn, mark.y.unit == "pp")
    elif mark.axis == "share":
        plot_axes.share_axis(on, drawn)
    else:
        plot_axes.value_axis(on, drawn)
    plot_axes.number_axis(on, end)


def _distribution_axes(mark: Lines, on: Axes) -> None:
    on.set_ylabel(plot_axes.wrapped_once(mark.y.title))
    on.set_ylim(0, 101.5)
    on.set_yticks([0, 25, 50, 75, 100])
    on.grid(color=plot_style.GRID, linewidth=0.8)
    on.tick_params(length=0)
    if mark.x.unit == "pp":
        on.axvline(0.0, color=plot_style.FAINT, linewidth=0.8, zorder=1)
    if mark.is_log:
        on.set_xscale("log")
        plot_axes.without_formulas(on.xaxis)
        on.xaxis.set_major_formatter(FuncFormatter(lambda v, _: plot_axes.tick_text(v)))
        return
    plot_axes.plain_ticks(on.xaxis)
    if mark.x.unit == "%":
        left, right = on.get_xlim()
        on.set_xlim(max(0.0, left), min(100.5, right))
