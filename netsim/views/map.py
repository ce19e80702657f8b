"""Map of where nodes are at the start, and of the links between them.

A link is a line, darker the greater the share of its messages that was delivered, both directions
together. Footprints of buildings are drawn where the file of the path loss states them
(`outline_m`, (points, 2) in m, NaN between two outlines).
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.reader import RunFolder
from netsim.traces.arrays import Arrays
from netsim.views import Panel, Places, Quantity, Shown
from netsim.views.gathering import pairs

TITLE = "Map"
PLACE = None
NOTHING = "nodes have no places"

_MOST_WITH_LINKS = 200


def of_run(run: RunFolder) -> Shown | None:
    """Return the map at the start; None where nodes have no places."""
    table = run.nodes
    if not {"x_m", "y_m"} <= set(table):
        return None
    places = np.stack([table["x_m"], table["y_m"]], axis=1)
    share = None
    if len(places) <= _MOST_WITH_LINKS and run.messages:
        rows, nodes = run.messages, len(places)
        came = rows["outcome"].isin(("delivered",))
        sent = pairs.sums(rows["src"], rows["dst"], nodes, 1)
        delivered = pairs.sums(rows["src"][came], rows["dst"][came], nodes, 1)
        both = sent + sent.T
        with np.errstate(invalid="ignore"):
            share = (delivered + delivered.T) / np.where(both > 0, both, np.nan)
    mark = Places(
        Quantity("x_m", "x", "m"),
        Quantity("y_m", "y", "m"),
        Quantity("delivered_share", "Delivered of those sent, both ways", "%"),
        share,
        outlines(run.folder),
    )
    columns = {"node": np.arange(len(places)), "x_m": places[:, 0], "y_m": places[:, 1]}
    short = [{"node": k, "x_m": x, "y_m": y} for k, (x, y) in enumerate(places.tolist())]
    return Shown([Panel(mark, columns, on_page=False)], "places at the start", short)


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
