"""Costs of a network: accuracy in each world, paired differences, and fates of messages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.main_metric import is_share
from netsim.views import Ask, Columns, OnPage, OnPaper, Panel, Quantity, Shown
from netsim.views.gathering import network_cost
from netsim.views.gathering.network_cost import (
    ARRIVED,
    CAUSES,
    LATE,
    NetworkCost,
    Played,
    difference,
)
from netsim.views.gathering.runs import Run
from netsim.views.render.figure.sheets import SCREEN, Sheet

TITLE = "What the network costs"
PLACE = 5
NOTHING = "no algorithm was played in several worlds: none has a set"

NAME = "network_cost.png"
_DASHES: Sequence[Any] = ("-", (0, (4, 2)), (0, (1, 1.2)))
"""Of the scenario's own world, of the one with a `set` next to it, and so on."""
_FATES = {"arrived": "#9fc5a8", LATE: "#E69F00"}
_LOST = ("#D55E00", "#7f3b08", "#CC79A7", "#6b6b6b", "#000000")


def of_runs(runs: Sequence[Run], _: Ask) -> Shown | None:
    """Return sentences and paired differences; None where no algorithm has several worlds."""
    top = runs[0].folder.parent
    if not all(run.summary and run.folder.parent == top for run in runs):
        return None
    try:
        entries = run_folder.scenario(top).get("algorithm", [])
    except ScenarioError:
        return None
    tables = {str(one.get("name")): one for one in entries} if isinstance(entries, list) else {}
    if not all(run.folder.name in tables for run in runs):
        return None
    cost = network_cost.of_runs(
        [run.folder for run in runs], [tables[run.folder.name] for run in runs]
    )
    if cost is None:
        return None
    sentences = network_cost.sentences(cost)
    return Shown(
        [
            Panel(OnPaper(lambda sheet: _drawn(cost, sheet))),
            Panel(OnPage("sentences", {"sentences": sentences})),
            _table(cost),
        ]
    )


def _drawn(cost: NetworkCost, sheet: Sheet) -> Any:
    """The figure with its rows."""
    from netsim.views.render.figure.files import Drawn  # here: a page does without Matplotlib

    return Drawn(figure(cost, sheet), _rows(cost), _rows(cost), "")


def _rows(cost: NetworkCost) -> list[dict[str, Any]]:
    table = _table(cost).table
    columns = {name: cells.tolist() for name, cells in table.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _table(cost: NetworkCost) -> Panel:
    """Results of each world, fates of its messages, and differences to the world above."""
    runs, main = cost.runs, cost.runs[0].main
    gaps = [difference(run, above) if above else None for run, above in cost.with_the_one_above()]
    unit = "%" if is_share(main.name) else ""
    points = "pp" if unit else ""
    nan = float("nan")
    table: dict[str, Any] = {
        "run": np.array([run.name for run in runs]),
        "value": np.array([run.curve.mean[-1] if run.learned else nan for run in runs]),
        "difference": np.array([nan if gap is None else gap.mean for gap in gaps]),
        "half_width": np.array(
            [nan if gap is None or gap.half is None else gap.half for gap in gaps]
        ),
        "messages": np.array([run.sent for run in runs]),
    }
    columns = [
        Quantity("run", "run"),
        Quantity("value", main.name.replace("_", " "), unit),
        Quantity("difference", "to the row above", points),
        Quantity("half_width", "± half its 95 % interval", points),
        Quantity("messages", "messages"),
    ]
    for title, outcomes in ({"arrived": ARRIVED} | {CAUSES[c]: (c,) for c in cost.causes}).items():
        table[title] = np.array([run.share(*outcomes) if run.sent else nan for run in runs])
        columns.append(Quantity(title, title, "%"))
    delays = [run.delay_s("mean") for run in runs]
    table["delay_s"] = np.array([nan if delay is None else delay for delay in delays])
    columns.append(Quantity("delay_s", "delay", "s"))
    caption = (
        "Differences to the row above, node by node, with the 95 % interval over the nodes of this "
        "seed; messages once a receiver, of which the shares are; delay: mean of those arrived."
    )
    return Panel(Columns(columns, caption), table)


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
    from netsim.views.render.figure import style as plot_style

    with plot_style.style():
        return plot_style.save(figure(cost), top / "figures" / NAME)


def figure(cost: NetworkCost, sheet: Sheet = SCREEN) -> Any:
    """Accuracy over time, and beside it what became of messages; the latter alone with no metric.

    To be called, and the figure saved, inside `plot_style.style()`.
    """
    from netsim.views.render.figure import style as plot_style

    sending = [run for run in cost.runs if run.sent]
    learned = all(run.learned and len(run.curve.t_s) > 1 for run in cost.runs)
    wide = 8.0 if learned else 4.6
    found = plot_style.new_figure(sheet.width_in or wide, 3.5, sheet)
    if learned:
        _curves(found.add_subplot(1, 2, 1), cost)
    if sending:
        _fates(found.add_subplot(1, 2 if learned else 1, 2 if learned else 1), sending, cost.causes)
    first = cost.runs[0].summary
    if sheet.has_heading:
        plot_style.heading(found, f"{first['name']} · {int(first['nodes']):,} nodes")
    return found


def _curves(panel: Any, cost: NetworkCost) -> None:
    """One colour an algorithm, one dash a world."""
    from netsim.views.render.figure import axes as plot_axes
    from netsim.views.render.figure import style as plot_style

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
    from netsim.views.render.figure import style as plot_style

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
