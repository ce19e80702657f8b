"""Weight given to a peer against the number of classes that both nodes have."""

import numpy as np

from netsim.recording import graph_metrics
from netsim.recording.reader import RunFolder
from netsim.views import Panel, Points, Quantity, Shown

TITLE = "Weight and shared classes"
PLACE = None
NOTHING = "no weights, or all pairs of nodes share as many classes"


def of_run(run: RunFolder) -> Shown | None:
    """Return mean and spread over pairs; None without weights, or where no two pairs differ."""
    graph = graph_metrics.load(run.folder)
    rows = graph_metrics.by_shared_classes(graph) if graph is not None else []
    if len(rows) < 2:
        return None
    columns = ("shared_classes", "pairs", "mean_weight", "std_weight")
    table = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in columns}
    pairs, mean = table["pairs"], table["mean_weight"]
    mark = Points(
        Quantity("shared_classes", "Classes that both nodes have"),
        Quantity("mean_weight", "Weight given to the peer"),
        "std_weight",
        Quantity("pairs", "pairs of nodes"),
        float((pairs * mean).sum() / pairs.sum()),
        "mean ± std over pairs of nodes",
        "mean over all pairs",
    )
    return Shown([Panel(mark, table)])
