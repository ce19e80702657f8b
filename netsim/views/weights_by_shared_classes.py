"""Figure: weight given to a peer against the number of classes that both nodes have."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from netsim.results import graph_metrics, plot_style


def draw(folder: Path, title: str) -> Figure | None:
    """The figure of a run folder; None if it has no weights, or no two pairs differ."""
    graph = graph_metrics.load(folder)
    rows = graph_metrics.by_shared_classes(graph) if graph is not None else []
    return weight_by_shared_classes(rows, title) if len(rows) > 1 else None


def weight_by_shared_classes(rows: Sequence[Mapping[str, Any]], title: str) -> Figure:
    """Mean weight and its spread over pairs, by number of shared classes.

    Parameters
    ----------
    rows : sequence of dict
        See `graph_metrics.by_shared_classes`.
    title : str
    """
    figure = plot_style.new_figure(5.6, 3.8)
    panel = figure.add_subplot()
    x, pairs, mean, std = (
        np.array([row[name] for row in rows], dtype=np.float64)
        for name in ("shared_classes", "pairs", "mean_weight", "std_weight")
    )
    # a weight is not negative, and neither is what the bar says of it
    below = np.minimum(std, np.maximum(mean, 0.0))
    found = panel.errorbar(
        x, mean, yerr=[below, std], color=plot_style.COLOURS[0], marker="o", capsize=3, zorder=3
    )
    every = panel.axhline(
        float((pairs * mean).sum() / pairs.sum()), color=plot_style.FAINT, linestyle=(0, (4, 2))
    )
    top = 1.06 * float(np.nanmax([*(mean + std), 1e-9]))
    panel.set_ylim(min(0.0, float(np.nanmin(mean - below))), top)
    panel.set_ylabel("Weight given to the peer")
    panel.grid(axis="y", color=plot_style.GRID, linewidth=0.8)
    panel.set_xlim(x[0] - 0.5, x[-1] + 0.5)
    step = max(1, round((x[-1] - x[0]) / 12))
    shown = x[np.round(x - x[0]) % step == 0]
    of = dict(zip(x.tolist(), pairs.tolist(), strict=True))
    panel.set_xticks(shown)
    panel.xaxis.set_major_formatter(FuncFormatter(lambda k, _: f"{k:g}\n{of.get(k, 0):,.0f}"))
    panel.set_xlabel("Classes that both nodes have; below: pairs of nodes")
    names = ["mean ± std over pairs of nodes", "mean over all pairs"]
    plot_style.legend(figure, [found, every], names, "")
    plot_style.heading(figure, f"Weight and shared classes · {title}")
    return figure
