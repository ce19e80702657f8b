"""A heat map: a square for each pair of nodes, or for each pair of two lists of words."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from netsim.views import Cells, Table
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.axes import shorten
from netsim.views.render.figure.drawer import Drawer, Legend

_MOST_NAMED = 24
"""Nodes of which each has its id on the axes of a map in an order of its own."""
_MOST_TICKS = 12
"""Rows or columns with words beside each."""
_MOST_GAPS = 60
"""Bars beside the map with gaps between them."""


class CellsDrawer(Drawer[Cells]):
    """Squares with a colour each, and bars of the nodes' own values beside them."""

    mark, size_in = Cells, (5.0, 4.5)

    def draw(self, mark: Cells, table: Table, on: Axes, legend: Legend) -> None:
        cells = mark.value.scale * _matrix(mark, table, mark.value.column)
        top = mark.top
        if top is None:
            top = (float(np.nanmax(cells)) if np.isfinite(cells).any() else 1.0) or 1.0
        plot_style.heatmap(on, cells, mark.block, top, mark.low)
        for axis, words in zip((on.yaxis, on.xaxis), mark.ticks or (), strict=False):
            step = -(-len(words) // _MOST_TICKS)
            axis.set_ticks(range(0, len(words), step), [shorten(word) for word in words[::step]])
        if mark.ticks is not None:
            on.set_aspect("auto")
        if mark.order:
            _label_nodes(mark, on)
        on.set_xlabel(mark.column.title)
        on.set_ylabel(mark.row.title)
        if mark.beside is not None:
            own = np.diag(_matrix(mark, table, mark.beside.column))
            _bars_beside(own, mark.beside.title, on)


def _matrix(mark: Cells, table: Table, name: str) -> NDArray[np.float64]:
    """A column of the table as a matrix of blocks; NaN where the table has no row."""
    made = np.full(mark.shape, np.nan)
    made[mark.places(table[mark.row.column]), mark.places(table[mark.column.column])] = table[name]
    return made


def _label_nodes(mark: Cells, on: Axes) -> None:
    """Ids of nodes that are in an order of their own, where there is room, and lines of groups."""
    count = len(mark.order)
    ids = [str(node) for node in mark.order] if count <= _MOST_NAMED else []
    for axis in (on.xaxis, on.yaxis):
        axis.set_ticks(range(len(ids)), ids)
    figure = on.figure
    assert isinstance(figure, Figure)
    room_pt = 72 * 0.7 * on.get_window_extent().width / figure.dpi / count
    on.tick_params(labelsize=max(min(7.0, room_pt), 4.5))
    on.tick_params(axis="x", rotation=90 if ids and count > 10 else 0)
    for cut in mark.cuts:
        for line in (on.axhline, on.axvline):
            line(cut - 0.5, color=plot_style.COLOURS[1], linewidth=0.7)


def _bars_beside(own: NDArray[np.float64], title: str, on: Axes) -> None:
    """A bar for each row, to the right of the map."""
    bars = on.inset_axes((1.04, 0.0, 0.22, 1.0), sharey=on)
    height = 0.75 if len(own) <= _MOST_GAPS else 1.0
    bars.barh(np.arange(len(own)), own, height=height, color=plot_style.FAINT)
    bars.set_xlim(0, max(1.0, float(np.nanmax(own))))
    bars.set_xlabel(title)
    bars.tick_params(axis="y", which="both", length=0, labelleft=False)
    bars.grid(which="both", visible=False)
    bars.spines["left"].set_visible(False)
