"""Map of where nodes are at the start, and of the links between them.

A link is a line, darker the greater the share of its messages that was delivered, both directions
together. Footprints of buildings are drawn where the file of the path loss states them
(`outline_m`, (points, 2) in m, NaN between two outlines).
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.reader import RunFolder
from netsim.traces.arrays import Arrays
from netsim.views import OnPaper, Panel, Shown
from netsim.views.gathering import pairs
from netsim.views.render.figure.sheets import SCREEN, Sheet

TITLE = "Map"
PLACE = None
NOTHING = "nodes have no places"

_MOST_WITH_LINKS = 200
_MOST_WITH_NUMBERS = 40


def of_run(run: RunFolder) -> Shown | None:
    """Return the map at the start; None where nodes have no places."""
    table = run.nodes
    if not {"x_m", "y_m"} <= set(table):
        return None
    places = np.stack([table["x_m"], table["y_m"]], axis=1)
    share = None
    if len(places) <= _MOST_WITH_LINKS and run.messages:
        rows, nodes = run.messages, len(places)
        came = rows["outcome"].among(("delivered",))
        sent = pairs.sums(rows["src"], rows["dst"], nodes, 1)
        delivered = pairs.sums(rows["src"][came], rows["dst"][came], nodes, 1)
        both = sent + sent.T
        with np.errstate(invalid="ignore"):
            share = (delivered + delivered.T) / np.where(both > 0, both, np.nan)
    walls = outlines(run.folder)

    def draw(sheet: Sheet) -> Any:
        from netsim.views.render.figure.files import Drawn  # here: a page does without Matplotlib

        rows = [
            {"node": node, "x_m": float(x), "y_m": float(y)} for node, (x, y) in enumerate(places)
        ]
        return Drawn(node_map(places, share, walls, sheet), rows, rows, "places at the start")

    return Shown([Panel(OnPaper(draw))])


def outlines(folder: Path) -> NDArray[np.float64] | None:
    """Footprints in the file of the path loss that a run named; None: it has none."""
    try:
        scenario = run_folder.scenario(folder)
        path = scenario["radio"]["path_loss"]["path"]
        arrays = Arrays("radio.path_loss", path, None)
        found = arrays.get("outline_m", ndims=(2,)) if "outline_m" in arrays else None
    except (KeyError, TypeError, ScenarioError):
        return None  # a picture without walls is better than none
    return None if found is None or found.shape[1] != 2 else found.astype(np.float64)


def node_map(
    places: NDArray[np.float64],
    share: NDArray[np.float64] | None,
    walls: NDArray[np.float64] | None,
    sheet: Sheet = SCREEN,
) -> Any:
    """Nodes as dots, links as lines, footprints in grey.

    Parameters
    ----------
    places : (N, 2) array
        [m]
    share : (N, N) array or None
        Delivered share of what was sent, symmetric; NaN where nothing was.
    walls : (points, 2) array or None
        Outlines [m], with NaN between them.
    sheet : Sheet
    """
    from matplotlib.collections import LineCollection  # here: a page does without Matplotlib

    from netsim.views.render.figure import style as plot_style

    wide = sheet.width_in or 6.0
    figure = plot_style.new_figure(wide, wide * 4.4 / 6.0, sheet)
    panel = figure.add_subplot()
    if walls is not None:
        ends = np.flatnonzero(np.isnan(walls).any(axis=1))
        for outline in np.split(walls, ends):
            corners = outline[~np.isnan(outline).any(axis=1)]
            if len(corners) > 2:
                panel.fill(*corners.T, color=plot_style.BLANK, zorder=0)
                panel.plot(*corners.T, color=plot_style.FAINT, linewidth=0.7, zorder=1)
    if share is not None and (share > 0).any():
        i, j = np.nonzero(np.triu(np.nan_to_num(share) > 0, k=1))
        lines = LineCollection(
            np.stack([places[i], places[j]], axis=1).tolist(),
            array=100.0 * share[i, j],
            cmap=plot_style.SEQUENTIAL,
            clim=(0.0, 100.0),
            linewidths=1.1,
            zorder=2,
        )
        panel.add_collection(lines)
        plot_style.colour_bar(figure, lines, panel, "Delivered of those sent, both ways [%]")
    panel.plot(*places.T, "o", color=plot_style.COLOURS[1], markersize=4.5, zorder=3)
    if len(places) <= _MOST_WITH_NUMBERS:
        for node, place in enumerate(places):
            panel.annotate(
                str(node), place, xytext=(4, 3), textcoords="offset points", fontsize=8, zorder=4
            )
    panel.set_aspect("equal", adjustable="box")
    panel.set_xlabel("x [m]")
    panel.set_ylabel("y [m]")
    return figure
