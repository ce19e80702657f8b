"""A bar a row, divided into shares that add up to all of it."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from netsim.views import Shares, Table
from netsim.views.render.colours import FATES
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.axes import shorten
from netsim.views.render.figure.drawer import Drawer, Legend


class SharesDrawer(Drawer[Shares]):
    """Bars from top to bottom, with words upon those that are told more of."""

    mark, size_in = Shares, (6.2, 3.2)

    def draw(self, mark: Shares, table: Table, on: Axes, legend: Legend) -> None:
        rows = list(dict.fromkeys(table[mark.row].tolist()))
        left = np.zeros(len(rows))
        for k, word in enumerate(dict.fromkeys(table[mark.layer].tolist())):
            mine = table[mark.layer] == word
            place = [rows.index(row) for row in table[mark.row][mine].tolist()]
            width = mark.y.scale * np.bincount(place, table[mark.y.column][mine], len(rows))
            colour = FATES.get(word, plot_style.COLOURS[k % len(plot_style.COLOURS)])
            legend.add(word, on.barh(range(len(rows)), width, left=left, color=colour, height=0.62))
            left += width
        for row, words in mark.told.items():
            box: Any = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 1.5}
            on.text(2, rows.index(row), words, va="center_baseline", fontsize=7.5, bbox=box)
        on.set_yticks(range(len(rows)), [shorten(row) for row in rows])
        on.invert_yaxis()
        on.set_xlim(0, 100)
        on.set_xlabel(mark.y.title)
        on.tick_params(axis="y", length=0)
        on.spines["left"].set_visible(False)
