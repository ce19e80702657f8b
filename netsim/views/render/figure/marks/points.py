"""Means with bars around them over a few values, and their level over all."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from netsim.views import Points, Table
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.drawer import Drawer, Legend


class PointsDrawer(Drawer[Points]):
    """Means with bars over a few values; below each stands how many are behind it."""

    mark, size_in = Points, (5.6, 3.8)

    def draw(self, mark: Points, table: Table, on: Axes, legend: Legend) -> None:
        x, y, half = table[mark.x.column], table[mark.y.column], table[mark.around]
        # what is not negative has no bar below nought
        below = np.minimum(half, np.maximum(y, 0.0))
        bars = on.errorbar(
            x, y, yerr=[below, half], color=plot_style.COLOURS[0], marker="o", capsize=3, zorder=3
        )
        legend.add(mark.bars, bars)
        level = on.axhline(mark.over_all, color=plot_style.FAINT, linestyle=(0, (4, 2)))
        legend.add(mark.level, level)
        top = 1.06 * float(np.nanmax([*(y + half), 0.0])) or 1.0
        on.set_ylim(min(0.0, float(np.nanmin(y - below))), top)
        on.set_ylabel(mark.y.title)
        on.grid(axis="y", color=plot_style.GRID, linewidth=0.8)
        on.set_xlim(x[0] - 0.5, x[-1] + 0.5)
        step = max(1, round((x[-1] - x[0]) / 12))
        of = dict(zip(x.tolist(), table[mark.of.column].tolist(), strict=True))
        on.set_xticks(x[np.round(x - x[0]) % step == 0])
        on.xaxis.set_major_formatter(FuncFormatter(lambda k, _: f"{k:g}\n{of.get(k, 0):,.0f}"))
        on.set_xlabel(f"{mark.x.title}; below: {mark.of.label}")
