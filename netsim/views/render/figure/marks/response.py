"""A measure over a swept key: means with intervals, and single seeds, a line a method."""

from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from netsim.views import Response, Table
from netsim.views.render.figure import axes as plot_axes
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure import swept_axis
from netsim.views.render.figure.drawer import Drawer, Legend

Floats = NDArray[np.float64]


class ResponseDrawer(Drawer[Response]):
    """A line a method: its means with intervals, or its seeds where there is none."""

    mark, size_in = Response, (3.3, 2.7)

    def draw(self, mark: Response, table: Table, on: Axes, legend: Legend) -> None:
        narrow = plot_style.sheet_of(on.figure).width_in is not None
        swept_axis.set_up(mark, on, narrow=narrow)
        has_seeds = np.array([bool(values) for values in mark.each], dtype=np.bool_)
        half = np.where(has_seeds, np.nan, mark.y.scale * table["half_width"])
        for k, name in enumerate(mark.curves):
            mine = table["curve"] == name
            if mine.any():
                at = table[mark.x.column][mine].tolist()
                x = np.array(swept_axis.offset_marks(on, at, k, len(mark.curves)))
                means = mark.y.scale * table[mark.y.column][mine]
                place = legend.places[name]
                legend.add(name, _draw_means(mark, on, x, means, half[mine], place))
                _draw_seeds(mark, on, x, np.flatnonzero(mine).tolist(), place)
        _set_vertical_axis(mark, on, table, half)


def _draw_means(mark: Response, on: Axes, x: Floats, y: Floats, half: Floats, place: int) -> Any:
    """Draw the means and intervals of one line; bars of shares end at 0 and at 100 %."""
    if mark.joined:
        order = np.argsort(x, kind="stable")
        x, y, half = x[order], y[order], half[order]
    below, above = half, half
    if mark.y.unit == "%" and not mark.is_difference:
        below, above = np.minimum(half, y), np.minimum(half, np.maximum(100.0 - y, 0.0))
    look = plot_style.curve_style(place, len(x))
    del look["markevery"], look["clip_on"]
    look["linestyle"] = look["linestyle"] if mark.joined else "none"
    thin = float(on.xaxis.label.get_fontsize()) / 9.5
    made = on.errorbar(x, y, [below, above], capsize=2.5 * thin, elinewidth=1.0 * thin, **look)
    return made if np.isfinite(half).any() else made.lines[0]  # the legend has no bar, either


def _draw_seeds(mark: Response, on: Axes, x: Floats, rows: list[int], place: int) -> None:
    """Draw the seeds of some rows as dots."""
    each = [mark.each[row] for row in rows]
    dots: dict[str, Any] = {
        "marker": "o",
        "markersize": 0.6 * float(rcParams["lines.markersize"]),
        "markeredgecolor": "white",
        "markeredgewidth": 0.3,
        "color": plot_style.curve_style(place, 1)["color"],
    }
    at = np.repeat(x, [len(seeds) for seeds in each])
    values = [mark.y.scale * value for seeds in each for value in seeds]
    on.plot(at, values, linestyle="none", zorder=4, **dots)


def _set_vertical_axis(mark: Response, on: Axes, table: Table, half: Floats) -> None:
    """The vertical axis around means, bars and seeds; logarithmic over two decades."""
    means = mark.y.scale * table[mark.y.column]
    seeds = mark.y.scale * np.array([value for values in mark.each for value in values])
    bars = np.nan_to_num(half)
    lows = np.concatenate([means - bars, seeds])
    highs = np.concatenate([means + bars, seeds])
    on.set_ylabel(mark.y.title)
    if mark.is_difference:
        plot_axes.difference_axis(on, np.concatenate([lows, highs]), False)
        return
    if mark.y.unit != "%" and means.min() > 0 and means.max() >= plot_axes.DECADES * means.min():
        on.set_yscale("log")
        plot_axes.without_formulas(on.yaxis)
        if lows.min() <= 0:  # bars that reach below nought would stretch the axis without end
            on.set_ylim(bottom=0.5 * means.min())
    else:
        margin = 0.06 * (highs.max() - lows.min()) or 0.01 * abs(means).max() or 1.0
        low, high = lows.min() - margin, highs.max() + margin
        if means.min() >= 0:
            low = max(low, 0.0)
        if mark.y.unit == "%":
            if high - low < 4.0:  # hardly any change should look like it
                low, high = max(low - 5.0, 0.0), high + 5.0
            high = min(high, 100.0 + 0.02 * (100.0 - low))
        on.set_ylim(low, high)
        on.yaxis.set_major_formatter(FuncFormatter(lambda y, _: plot_axes.tick_text(y)))
    plot_axes.lines_across(on)
