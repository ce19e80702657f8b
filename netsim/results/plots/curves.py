"""Metrics over virtual time, over what was transmitted, or over airtime: a panel a metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netsim.recording import run_folder
from netsim.recording.main_metric import is_share
from netsim.recording.summary_fields import Measure
from netsim.results import metrics as measured
from netsim.results import plot_axes, plot_style
from netsim.results.plot_sheets import SCREEN, Sheet
from netsim.results.plots import layout, names
from netsim.results.plots import runs as of_runs
from netsim.results.plots.estimates import AGAINST, BANDS, Band, Line, difference, over_seeds, worst
from netsim.results.plots.numbers import Drawn
from netsim.results.plots.runs import Run
from netsim.results.terminal_tables import Row

_MOST_BANDS = 4  # more bands than this hide each other; they become bars beside each other
_BARS, _BESIDE = 5, 0.012  # so many, each a part of the axis before the next curve's
_SILENT = 0.005  # of the busiest run's traffic; such a curve would lie on the vertical axis


@dataclass(frozen=True, eq=False)
class Panel:
    """The curves of one panel.

    Attributes
    ----------
    metric, against : str
    lines : sequence of Line
    minus : str
        The curve that is subtracted; empty: none is.
    """

    metric: str
    against: str
    lines: Sequence[Line]
    minus: str = ""

    @property
    def what(self) -> str:
        """The metric, or the difference, in a table of numbers."""
        return f"{self.metric} minus {self.minus}" if self.minus else self.metric


def recorded(runs: Sequence[Run]) -> list[str]:
    """The abscissae that every run has recorded: older ones did not count what they transmitted."""
    counted = all(run_folder.has(run.folder, "traffic") for run in runs)
    return [name for name in AGAINST if counted or name == "time"]


def draw(
    runs: Sequence[Run],
    metrics: Sequence[str],
    against: Sequence[str] = ("time",),
    sheet: Sheet = SCREEN,
    band: Band | None = None,
    paired_to: str | None = None,
) -> Drawn | None:
    """Draw metrics of one run, or of several over each other.

    Parameters
    ----------
    runs : sequence of Run
    metrics : sequence of str
        A panel each; runs that have not measured one are left out of its panel.
    against : sequence of {"time", "megabytes", "airtime"}
        A panel each.
    sheet : Sheet
    band : {"interval", "std", "nodes", "none"}, optional
        None: of several seeds the standard deviation over them on a screen, the interval on paper;
        of one seed the spread over nodes.
    paired_to : str, optional
        A curve from which the others' differences are drawn in a panel more.

    Returns
    -------
    Drawn or None
        None where there is nothing to draw: one evaluation alone.

    Raises
    ------
    ScenarioError
        If there is no curve that `paired_to` means, or there are no pairs.
    """
    found = of_runs.groups(runs)
    seeds = sorted({len(group) for group in found.values()})
    if band is None:
        band = "nodes" if seeds[-1] == 1 else "std" if sheet.has_heading else "interval"
    drawn = []
    for metric in metrics:
        having = {
            title: mine
            for title, group in found.items()
            if (mine := [run for run in group if metric in measured.names(run.metrics)])
        }
        for axis in against:
            if len(runs) == 1:
                drawn.append(Panel(metric, axis, _single(runs[0], metric, axis, band)))
            else:
                lines = [over_seeds(t, mine, metric, axis, band) for t, mine in having.items()]
                drawn.append(Panel(metric, axis, lines))
        if paired_to is not None:
            minus = of_runs.reference(having, paired_to)
            lines = [
                difference(title, of_runs.pairs(mine, having[minus]), metric, band)
                for title, mine in having.items()
                if title != minus
            ]
            drawn.append(Panel(metric, "time", lines, minus))
    mark = "bars" if any(len(panel.lines) > _MOST_BANDS for panel in drawn) else "band"
    note = _note(seeds, band, mark, paired_to is not None) if len(runs) > 1 else ""
    figure = _figure(drawn, sheet, note, list(found) if len(runs) > 1 else [])
    if figure is None:
        return None
    if sheet.has_heading:
        plot_style.heading(figure, of_runs.title_of(runs[0].summary, algorithm=len(runs) == 1))
    about = note or "mean over nodes; band: ± standard deviation over nodes"
    rows = [row for panel in drawn for row in _rows(panel, band)]
    return Drawn(figure, rows, [row for panel in drawn for row in _short(panel)], about)


def _single(run: Run, metric: str, against: str, band: Band) -> list[Line]:
    name = "mean over nodes ± std" if band == "nodes" else "mean over nodes"
    line = over_seeds(name, [run], metric, against, band)
    if measured.curve(run.metrics, metric, run.main).nodes < 10:
        return [line]
    return [line, worst("worst 10 % of nodes", run, metric, against)]


def _note(seeds: Sequence[int], band: Band, mark: str, is_paired: bool) -> str:
    """Describe the lines and bands, which are called by the word `mark`."""
    count = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])
    over = "mean over nodes" if seeds[-1] == 1 else f"mean over nodes and {count} seeds"
    told = f"{over}; {mark}: {BANDS[band]}" if BANDS[band] else over
    by = "node" if seeds[-1] == 1 else "seed"
    return f"{told}; differences paired by {by}" if is_paired else told


def _figure(drawn: Sequence[Panel], sheet: Sheet, note: str, order: Sequence[str]) -> Figure | None:
    """The panels with one legend; None if there is no extent to draw.

    Parameters
    ----------
    drawn : sequence of Panel
    sheet : Sheet
    note : str
    order : sequence of str
        Names of curves: the same one looks the same in every panel.
    """
    every = [line for panel in drawn for line in panel.lines]
    if not every or max(float(line.x.max()) for line in every) == 0:
        return None
    if sheet.width_in is None:
        columns = len(drawn)
        figure = plot_style.new_figure(5.0 if columns == 1 else 3.9 * columns, 3.6, sheet)
        axes = [figure.add_subplot(1, columns, i + 1) for i in range(columns)]
    else:
        columns = layout.columns_of(len(drawn), sheet)
        figure, axes = layout.panels(len(drawn), columns, sheet)
    names_of = [*order, *(line.label for line in every)]
    places = {label: i for i, label in enumerate(dict.fromkeys(names_of))}
    entries: dict[str, Any] = {}
    for panel, on in zip(drawn, axes, strict=True):
        _draw_panel(panel, on, places, entries)
        if sheet.width_in is not None:
            on.set_xlabel(layout.wrapped(on.get_xlabel(), figure, columns))
            on.set_ylabel(layout.wrapped_once(on.get_ylabel()))
    if sheet.width_in is None:
        plot_style.legend(figure, list(entries.values()), list(entries), note)
    else:
        layout.finish(figure, list(entries.values()), list(entries), note)
    return figure


def _draw_panel(panel: Panel, on: Axes, places: dict[str, int], entries: dict[str, Any]) -> None:
    """Draw one panel; new kinds of lines are added to the entries of the legend.

    Parameters
    ----------
    panel : Panel
    on : Axes
    places : dict of str to int
        The look of each curve.
    entries : dict
        Grows.
    """
    end = max(float(line.x.max()) for line in panel.lines)
    share, extent = is_share(panel.metric), []
    for line in panel.lines:
        look = plot_style.curve_style(places[line.label], len(line.x))
        if panel.against != "time" and line.x.max() < _SILENT * end:
            # a curve over traffic needs traffic; a level can still be compared with
            level = float(line.y[-1])
            entry = on.axhline(level, color=look["color"], linestyle=(0, (4, 2)))
            entries.setdefault(f"{line.label} (at the end; hardly sends)", entry)
            extent.append(np.array([level]))
            continue
        entries.setdefault(line.label, on.plot(line.x, line.y, **look)[0])
        extent.append(line.y)
        if line.half is not None:
            ends = line.ends("" if panel.minus else panel.metric)
            extent += _draw_band(on, line, ends, look, (places[line.label], len(panel.lines)))
    label, values = names.metric(panel.metric), np.concatenate(extent)
    if panel.minus:
        label = names.difference(label, panel.minus)
        plot_axes.difference_axis(on, label, values, share)
    elif share:
        plot_axes.share_axis(on, label, values)
    else:
        plot_axes.value_axis(on, label, values)
    plot_axes.number_axis(on, AGAINST[panel.against][0], end)


def _draw_band(
    on: Axes, line: Line, ends: tuple[Any, Any], look: dict[str, Any], place: tuple[int, int]
) -> list[Any]:
    """A band, or, of many curves, bars beside those of the others.

    Parameters
    ----------
    on : Axes
    line : Line
    ends : tuple of (T,) array
        Low and high.
    look : dict
        Of the curve.
    place : tuple of (int, int)
        Which of how many curves it is.

    Returns
    -------
    list of array
        The ends that are drawn.
    """
    colour = look["color"]
    if place[1] <= _MOST_BANDS:
        # where bands lie over each other, their edges tell them apart
        fill: dict[str, Any] = {"facecolor": (colour, 0.12), "edgecolor": (colour, 0.6)}
        on.fill_between(line.x, *ends, linewidth=0.5, linestyle=look["linestyle"], **fill)
        return [*ends]
    step = max(1, len(line.x) // _BARS)
    at = np.arange(len(line.x) - 1, 0, -step)  # the first one would stand on the axis
    aside = _BESIDE * float(np.ptp(line.x)) * (place[0] - place[1] + 1)
    below, above = line.y - ends[0], ends[1] - line.y
    on.errorbar(
        line.x[at] + aside, line.y[at], [below[at], above[at]], linestyle="none", color=colour,
        elinewidth=0.9, capsize=1.5, zorder=2,
    )  # fmt: skip
    return [ends[0][at], ends[1][at]]


def _rows(panel: Panel, band: Band) -> list[Row]:
    found: list[Row] = []
    for line in panel.lines:
        half = line.half
        found += [
            {
                "curve": line.label,
                "metric": panel.what,
                "against": AGAINST[panel.against][1],
                "x": float(line.x[i]),
                "mean": float(line.y[i]),
                "low": None if half is None else float(line.y[i] - half[i]),
                "high": None if half is None else float(line.y[i] + half[i]),
                "band": "none" if half is None else band,
                "seeds": line.seeds,
            }
            for i in range(len(line.x))
        ]
    return found


def _short(panel: Panel) -> list[Row]:
    """Return the ends of curves."""
    spelled = Measure("", "%" if is_share(panel.metric) else "", lambda _: None).spelled
    label, title = AGAINST[panel.against][0], names.metric(panel.metric)
    if panel.minus:
        title = names.difference(title, panel.minus, alone=True)
    return [
        {
            "curve": line.label,
            "what": title,
            label: float(line.x[-1]),
            "at the end": spelled(
                line.y[-1], None if line.half is None else line.half[-1], "+" if panel.minus else ""
            ),
        }
        for line in panel.lines
    ]
