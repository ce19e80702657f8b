"""A map: where nodes are, the links between them, and walls."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from netsim.views import Places, Table
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.drawer import Drawer, Legend

_MOST_NUMBERED = 40
"""Nodes of which each has its id."""


class PlacesDrawer(Drawer[Places]):
    """Walls, links above them, and nodes above these."""

    mark, size_in = Places, (6.0, 4.4)

    def draw(self, mark: Places, table: Table, on: Axes, legend: Legend) -> None:
        places = np.stack([table[mark.x.column], table[mark.y.column]], axis=1)
        if mark.walls is not None:
            _draw_walls(mark.walls, on)
        if mark.links is not None and (mark.links > 0).any():
            _draw_links(mark, mark.links, places, on)
        on.plot(*places.T, "o", color=plot_style.COLOURS[1], markersize=4.5, zorder=3)
        for node, place in enumerate(places if len(places) <= _MOST_NUMBERED else ()):
            on.annotate(
                str(node), place, xytext=(4, 3), textcoords="offset points", fontsize=8, zorder=4
            )
        on.set_aspect("equal", adjustable="box")
        on.set_xlabel(mark.x.title)
        on.set_ylabel(mark.y.title)


def _draw_walls(walls: NDArray[np.float64], on: Axes) -> None:
    """Outlines of buildings; a row of NaN ends each."""
    ends = np.flatnonzero(np.isnan(walls).any(axis=1))
    for outline in np.split(walls, ends):
        corners = outline[~np.isnan(outline).any(axis=1)]
        if len(corners) > 2:
            on.fill(*corners.T, color=plot_style.BLANK, zorder=0)
            on.plot(*corners.T, color=plot_style.FAINT, linewidth=0.7, zorder=1)


def _draw_links(
    mark: Places, links: NDArray[np.float64], places: NDArray[np.float64], on: Axes
) -> None:
    """A line for each linked pair, with a colour bar."""
    i, j = np.nonzero(np.triu(np.nan_to_num(links) > 0, k=1))
    lines = LineCollection(
        np.stack([places[i], places[j]], axis=1).tolist(),
        array=mark.link.scale * links[i, j],
        cmap=plot_style.SEQUENTIAL,
        clim=(0.0, mark.link.scale),
        linewidths=1.1,
        zorder=2,
    )
    on.add_collection(lines)
    figure = on.figure
    assert isinstance(figure, Figure)
    plot_style.colour_bar(figure, lines, on, mark.link.title)
