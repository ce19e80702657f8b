"""Figures of the study of age and loss."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from netsim import figures as plot_style
from papers.sweep_pages.age_study import (
    DATA,
    LATENCY,
    LOSS,
    NAMES,
    NETWORKS,
    Foretold,
    Study,
    lead,
)

COLUMNS, WIDTH_IN, PANEL_IN = 5, 9.0, 1.75
DIALS: dict[str, tuple[Any, str, str]] = {
    LATENCY: ("-", "o", "later and later"),
    LOSS: ("--", "s", "lost more and more"),
}
MARKS = dict(zip(NETWORKS, "^Dv", strict=True))
LEAST_AGE = 1.0
"""Up to this age the axis is linear, since an age may be 0."""


def leads_by_age(study: Study) -> Figure:
    """Draw each method's lead by the age at which models were used, within `plot_style.style`."""
    methods = study.methods
    rows = -(-len(methods) // COLUMNS)
    figure = plot_style.new_figure(WIDTH_IN, PANEL_IN * rows + 0.8)
    panels = list(figure.subplots(rows, COLUMNS, sharex=True, squeeze=False).flat)
    for panel, method in zip(panels, methods, strict=False):
        panel.set_title(method, loc="left")
        _quiet(panel)
        for colour, data in zip(plot_style.COLOURS, DATA, strict=False):
            for dial, (line, mark, _) in DIALS.items():
                places = study.values(dial)
                _points(panel, study, dial, places, (data, method), (colour, line, mark))
            for network in NETWORKS:
                look = (colour, "", MARKS[network])
                _points(panel, study, network, [""], (data, method), look)
    for panel in panels[len(methods) :]:
        panel.set_axis_off()
    for panel in panels[max(0, len(methods) - COLUMNS) : len(methods)]:
        panel.tick_params(labelbottom=True)
        panel.set_xlabel("age [wake-ups]")
    for panel in panels[::COLUMNS]:
        panel.set_ylabel("lead [pp]")
    shown = [
        Line2D([], [], color=colour) for colour, _ in zip(plot_style.COLOURS, DATA, strict=False)
    ]
    names = list(DATA.values())
    for line, mark, name in DIALS.values():
        shown.append(Line2D([], [], color=plot_style.INK, linestyle=line, marker=mark))
        names.append(name)
    shown += [Line2D([], [], color=plot_style.INK, linestyle="", marker=m) for m in MARKS.values()]
    plot_style.legend(figure, shown, [*names, *(NAMES[n] for n in MARKS)], "")
    return figure


def _points(
    panel: Axes,
    study: Study,
    sweep: str,
    places: Sequence[str],
    what: tuple[str, str],
    look: tuple[str, str, str],
) -> None:
    """Draw the leads of one sweep: of a data set and method, in a colour, line and marker."""
    (data, method), (colour, line, mark) = what, look
    ages = [study.age(sweep, data, place, method) for place in places]
    leads = [lead(study.runs(sweep, data, place, method)) for place in places]
    panel.errorbar(
        ages,
        [100 * one.mean for one in leads],
        [100 * (one.half or 0.0) for one in leads],
        color=colour,
        linestyle=line,
        marker=mark,
        markersize=4 if line else 6,
        markerfacecolor=colour if line else "white",
        linewidth=1.0,
        elinewidth=0.8,
        zorder=3 if line else 4,
    )


def _quiet(panel: Any) -> None:
    panel.axhline(0.0, color=plot_style.FAINT, linewidth=0.9, zorder=1)
    panel.grid(axis="y", color=plot_style.GRID, linewidth=0.8)
    panel.set_xscale("symlog", linthresh=LEAST_AGE)
    panel.set_xticks([0, 1, 3, 10], ["0", "1", "3", "10"])
    panel.minorticks_off()


def foretold(found: Sequence[Foretold]) -> Figure:
    """Draw the leads over networks by those foretold, within `plot_style.style`.

    Parameters
    ----------
    found : sequence of Foretold
    """
    figure = plot_style.new_figure(WIDTH_IN, 3.9)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for panel, way, by in zip(panels, ("by_age", "by_loss"), ("age at use", "losses"), strict=True):
        panel.axline((0.0, 0.0), slope=1.0, color=plot_style.FAINT, linewidth=0.9)
        panel.grid(color=plot_style.GRID, linewidth=0.8)
        for colour, network in zip(plot_style.COLOURS, NETWORKS, strict=False):
            those = [x for x in found if x.network == network]
            panel.errorbar(
                [100 * getattr(x, way) for x in those],
                [100 * x.found.mean for x in those],
                [100 * (x.found.half or 0.0) for x in those],
                color=colour,
                linestyle="",
                marker=MARKS[network],
                elinewidth=0.7,
            )
        panel.set_xlabel(f"lead foretold from {by} [pp]")
    panels[0].set_ylabel("lead found [pp]")
    looks = zip(plot_style.COLOURS, NETWORKS, strict=False)
    shown = [Line2D([], [], color=c, linestyle="", marker=MARKS[n]) for c, n in looks]
    plot_style.legend(figure, shown, [NAMES[n] for n in NETWORKS], "")
    return figure
