"""Bars of layers, one upon another, over time."""

import numpy as np
from matplotlib.axes import Axes

from netsim.views import Layers, Table
from netsim.views.render.colours import COLOURS_OF
from netsim.views.render.figure import axes as plot_axes
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.drawer import Drawer, Legend


class LayersDrawer(Drawer[Layers]):
    """Bars of layers, in the order in which the table first names them."""

    mark, size_in = Layers, (6.2, 3.8)

    def draw(self, mark: Layers, table: Table, on: Axes, legend: Legend) -> None:
        x = np.unique(table[mark.x.column])
        below = np.zeros(len(x))
        for k, word in enumerate(dict.fromkeys(table[mark.layer].tolist())):
            mine = table[mark.layer] == word
            place = np.searchsorted(x, table[mark.x.column][mine])
            height = mark.y.scale * np.bincount(place, table[mark.y.column][mine], len(x))
            colour = COLOURS_OF[mark.colours].get(word, plot_style.COLOURS[k % 7])
            legend.add(word, on.bar(x, height, mark.width, below, color=colour, linewidth=0))
            below += height
        on.set_xlim(float(x[0]) - mark.width / 2, float(x[-1]) + mark.width / 2)
        on.set_ylim(0, 1.04 * float(below.max()) or 1.0)
        on.set_xlabel(mark.x.title)
        on.set_ylabel(plot_axes.wrapped_once(mark.y.title))
        plot_axes.lines_across(on)
        plot_axes.plain_ticks(on.xaxis)
        plot_axes.plain_ticks(on.yaxis)
