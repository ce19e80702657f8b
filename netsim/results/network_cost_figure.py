"""Cost of a network as a picture: accuracy over time in each world, and fates of messages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from netsim.recording.main_metric import is_share
from netsim.results import plot_axes, plot_style
from netsim.results.network_cost import ARRIVED, CAUSES, LATE, NetworkCost, Played

NAME = "network_cost.png"
_DASHES: Sequence[Any] = ("-", (0, (4, 2)), (0, (1, 1.2)))
"""Of the scenario's own world, of the one with a `set` next to it, and so on."""
_FATES = {"arrived": "#9fc5a8", LATE: "#E69F00"}
_LOST = ("#D55E00", "#7f3b08", "#CC79A7", "#6b6b6b", "#000000")


def draw(top: Path, cost: NetworkCost) -> Path:
    """Draw `figures/network_cost.png` in the folder of all runs.

    Parameters
    ----------
    top : Path
    cost : NetworkCost

    Returns
    -------
    Path
        The file.
    """
    with plot_style.style():
        return plot_style.save(figure(cost), top / "figures" / NAME)


def figure(cost: NetworkCost) -> Figure:
    """Accuracy over time, and beside it what became of messages; the latter alone with no metric.

    To be called, and the figure saved, inside `plot_style.style()`.
    """
    sending = [run for run in cost.runs if run.sent]
    learned = all(run.learned and len(run.curve.t_s) > 1 for run in cost.runs)
    found = plot_style.new_figure(8.0 if learned else 4.6, 3.5)
    if learned:
        _curves(found.add_subplot(1, 2, 1), cost)
    if sending:
        _fates(found.add_subplot(1, 2 if learned else 1, 2 if learned else 1), sending, cost.causes)
    first = cost.runs[0].summary
    plot_style.heading(found, f"{first['name']} · {int(first['nodes']):,} nodes")
    return found


def _curves(panel: Any, cost: NetworkCost) -> None:
    """One colour an algorithm, one dash a world."""
    drawn = []
    for colour, group in zip(plot_style.COLOURS * 9, cost.groups, strict=False):
        for place, run in enumerate(reversed(group)):
            over_time = run.curve
            drawn.append(over_time.mean)
            panel.plot(
                over_time.t_s,
                over_time.mean,
                color=colour,
                linestyle=_DASHES[min(place, len(_DASHES) - 1)],
                label=run.name,
            )
    metric, all_drawn = cost.runs[0].main.name, np.concatenate(drawn)
    label = f"Test {metric.replace('_', ' ')}"
    if is_share(metric):
        plot_axes.share_axis(panel, f"{label} [%]", all_drawn)
    else:
        plot_axes.value_axis(panel, label, all_drawn)
    end = max(float(run.curve.t_s[-1]) for run in cost.runs)
    plot_axes.number_axis(panel, "Virtual time [s]", end)
    panel.legend(loc="upper center", bbox_to_anchor=(0.45, -0.2), ncols=2)


def _fates(panel: Any, runs: Sequence[Played], causes: Sequence[str]) -> None:
    """A bar a run: shares of its messages by what became of them, and how long they took."""
    kinds = {"arrived": ARRIVED} | {CAUSES[cause]: (cause,) for cause in causes}
    lost = iter(_LOST)
    left = np.zeros(len(runs))
    for title, outcomes in kinds.items():
        shares = np.array([100 * run.share(*outcomes) for run in runs])
        colour = _FATES.get(outcomes[0] if title != "arrived" else title) or next(lost)
        panel.barh(range(len(runs)), shares, left=left, color=colour, label=title, height=0.62)
        left += shares
    for i, run in enumerate(runs):
        mean_s = run.delay_s("mean")
        if mean_s is not None:
            text = f"after {mean_s:.2g} s" if mean_s else "at once"
            panel.text(2, i, text, va="center", fontsize=8, color=plot_style.INK)
    panel.set_yticks(range(len(runs)), [run.name for run in runs])
    panel.invert_yaxis()
    panel.set_xlim(0, 100)
    panel.set_xlabel("Messages, once a receiver [%]")
    panel.tick_params(axis="y", length=0)
    panel.spines["left"].set_visible(False)
    panel.legend(loc="upper center", bbox_to_anchor=(0.4, -0.2), ncols=3, columnspacing=1.2)
