"""The figure of a sweep: a panel a measure, its mean against the swept key, a line an algorithm.

Bars are the 95 % intervals over seeds. The horizontal axis is the swept key with the most values;
where a grid has further keys, each of their combinations is a line of its own. Of a search each
trial is a mark, and each key that it drew has panels of its own. An axis is logarithmic where what
it shows spans decades.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from netsim.recording.summary_fields import MEASURES, definitions
from netsim.results import plot_axes, plot_style
from netsim.results.plot_sheets import SCREEN, Sheet
from netsim.results.plots import layout, names, swept
from netsim.results.plots.numbers import Drawn
from netsim.results.plots.swept import SweptAxis, swept_key
from netsim.results.sweep_comparison import LEVEL, Estimate, PointResult, tidy_rows
from netsim.results.terminal_tables import Row

_TALL = 100.0
"""Ratio of the largest to the smallest value from which a vertical axis is logarithmic."""


@dataclass(frozen=True)
class Way:
    """Way to draw a sweep.

    Attributes
    ----------
    heading : str
        Over the picture, where its sheet has one.
    minus : str
        What the differences of its lines are to; empty: they are not drawn.
    is_search : bool
        Whether its points are trials.
    """

    heading: str = ""
    minus: str = ""
    is_search: bool = False


def draw(
    lines: Sequence[PointResult], show: Sequence[str], way: Way, sheet: Sheet = SCREEN
) -> Drawn | None:
    """Draw a sweep.

    Parameters
    ----------
    lines : sequence of PointResult
        See `sweep_comparison.compare_points`.
    show : sequence of str
        Names of measures.
    way : Way
    sheet : Sheet

    Returns
    -------
    Drawn or None
        None where nothing is swept, or nothing was measured.
    """
    key = swept_key([line.values for line in lines])
    shown = [name for name in show if any(name in line.estimates for line in lines)]
    if key is None or not shown:
        return None
    keys = [k for k in lines[0].values if _varies(lines, k)] if way.is_search else [key]
    groups = _groups(lines, keys)
    wanted = [
        (name, along, is_difference)
        for name in shown
        for along in keys
        for is_difference in ((False, True) if way.minus else (False,))
    ]
    figure, panels, columns = _sheet(len(wanted), sheet)
    handles: dict[str, Any] = {}
    for panel, (name, along, is_difference) in zip(panels, wanted, strict=True):
        axis = SweptAxis.of(along, [line.values[along] for line in lines])
        at = axis.set_up(panel, narrow=sheet.width_in is not None)
        places = {id(line): x for line, x in zip(lines, at, strict=True)}
        joined = axis.is_number and not way.is_search
        for k, (label, group) in enumerate(groups.items()):
            # kinds have no order, so no line joins them
            estimates = [(m, _seen(m.estimates.get(name), is_difference)) for m in group]
            cells = [(places[id(m)], cell) for m, cell in estimates if cell is not None]
            if cells:
                x = swept.beside(panel, [x for x, _ in cells], k, len(groups))
                drawn = _marks(panel, (name, is_difference), x, [c for _, c in cells], k, joined)
                handles.setdefault(label, drawn)
        _vertical(panel, name, lines, way.minus if is_difference else "")
        if sheet.width_in is not None:
            panel.set_xlabel(layout.wrapped(panel.get_xlabel(), figure, columns))
            panel.set_ylabel(layout.wrapped_once(panel.get_ylabel()))
    about = _about(lines, way)
    told = definitions(shown)
    if sheet.has_heading:
        plot_style.heading(figure, way.heading)
        plot_style.legend(figure, list(handles.values()), list(handles), told)
    else:
        layout.finish(figure, list(handles.values()), list(handles), about)
    rows = [
        {**row, "diff_to": way.minus or lines[0].point}
        for row in tidy_rows(lines)
        if row["metric"] in shown
    ]
    return Drawn(figure, rows, _short(groups, keys, shown, way), f"{about}\n{told}".strip())


def _varies(lines: Sequence[PointResult], key: str) -> bool:
    return len({str(line.values[key]) for line in lines}) > 1


def _sheet(count: int, sheet: Sheet) -> tuple[Figure, list[Axes], int]:
    columns = layout.columns_of(count, sheet)
    if sheet.width_in is not None:
        return *layout.panels(count, columns, sheet), columns
    rows = -(-count // columns)
    figure = plot_style.new_figure(max(4.6, 3.3 * columns), 0.7 + 2.7 * rows)
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(count)], columns


def _groups(lines: Sequence[PointResult], keys: Sequence[str]) -> dict[str, list[PointResult]]:
    """Lines of the picture: by algorithm, and by what else is swept."""
    several = len({line.algorithm for line in lines}) > 1
    found: dict[str, list[PointResult]] = {}
    for line in lines:
        others = [
            swept.with_name(k, v)
            for k, v in line.values.items()
            if k not in keys and _varies(lines, k)
        ]
        parts = ([names.method(line.algorithm)] if several or not others else []) + others
        found.setdefault(", ".join(parts), []).append(line)
    return found


def _seen(cell: Estimate | None, is_difference: bool) -> tuple[float, float] | None:
    """A mean, or a difference, and half its interval; None where there is none."""
    if cell is None or not is_difference:
        return None if cell is None else (cell.mean, cell.half_width or 0.0)
    return None if cell.diff is None else (cell.diff, cell.diff_half_width or 0.0)


def _scale(name: str) -> float:
    return MEASURES[name].scale


def _marks(
    panel: Axes,
    what: tuple[str, bool],
    x: Sequence[float],
    cells: Sequence[tuple[float, float]],
    k: int,
    joined: bool,
) -> Any:
    """The marks of one line with their bars; bars of shares end at 0 and at 100 %.

    Parameters
    ----------
    panel : Axes
    what : tuple of (str, bool)
        The measure, and whether differences are drawn.
    x : sequence of float
    cells : sequence of (float, float)
        Mean and half the interval.
    k : int
        Which line it is.
    joined : bool
        Whether a line joins them.
    """
    scale = _scale(what[0])
    order = np.argsort(x, kind="stable") if joined else np.arange(len(x))
    y, half = (scale * np.array([cell[i] for cell in cells])[order] for i in (0, 1))
    below, above = half, half
    if MEASURES[what[0]].unit == "%" and not what[1]:
        below, above = np.minimum(half, y), np.minimum(half, np.maximum(scale - y, 0.0))
    look = plot_style.curve_style(k, len(x))
    del look["markevery"], look["clip_on"]
    look["linestyle"] = look["linestyle"] if joined else "none"
    thin = float(panel.xaxis.label.get_fontsize()) / 9.5
    return panel.errorbar(
        np.array(x)[order], y, [below, above], capsize=2.5 * thin, elinewidth=1.0 * thin, **look
    )


def _vertical(panel: Axes, name: str, lines: Sequence[PointResult], minus: str) -> None:
    measure, scale, label = MEASURES[name], _scale(name), names.measure(name)
    cells = [line.estimates[name] for line in lines if name in line.estimates]
    seen = [pair for cell in cells if (pair := _seen(cell, bool(minus))) is not None]
    means = np.array([mean for mean, _ in seen])
    lows = means - np.array([half for _, half in seen])
    highs = means + np.array([half for _, half in seen])
    if minus or measure.unit == "pp":
        ends = scale * np.concatenate([lows, highs])
        told = names.difference(label, names.method(minus)) if minus else label
        plot_axes.difference_axis(panel, told, ends, False)
        return
    if measure.unit != "%" and means.min() > 0 and means.max() >= _TALL * means.min():
        panel.set_yscale("log")
        plot_axes.without_formulas(panel.yaxis)
        if lows.min() <= 0:  # bars that reach below nought would stretch the axis without end
            panel.set_ylim(bottom=0.5 * means.min())
    else:
        margin = 0.06 * (highs.max() - lows.min()) or 0.01 * max(abs(means).max(), 1e-12)
        low, high = lows.min() - margin, highs.max() + margin
        if means.min() >= 0:
            low = max(low, 0.0)
        if measure.unit == "%":
            if high - low < 0.04:  # hardly any change should look like it
                low, high = max(low - 0.05, 0.0), high + 0.05
            low, high = 100 * low, 100 * min(high, 1.0 + 0.02 * (1.0 - low))
        panel.set_ylim(low, high)
        panel.yaxis.set_major_formatter(FuncFormatter(lambda y, _: plot_axes.tick_text(y)))
    panel.set_ylabel(label)
    panel.grid(axis="y", color=plot_style.GRID, linewidth=0.8)
    panel.tick_params(axis="y", length=0)


def _about(lines: Sequence[PointResult], way: Way) -> str:
    """Describe the marks and bars."""
    counts = sorted({line.seeds for line in lines})
    seeds = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    what = "each mark a trial: " if way.is_search else ""
    if counts[-1] == 1:
        return f"{what}one seed"
    bars = f"{what}mean over {seeds} seeds; bars: {100 * LEVEL:g} % interval"
    return f"{bars}; differences paired by seed" if way.minus else bars


def _short(
    groups: Mapping[str, Sequence[PointResult]], keys: Sequence[str], shown: Sequence[str], way: Way
) -> list[Row]:
    """A row a mark."""
    found = []
    every = [line for group in groups.values() for line in group]
    axes = {key: SweptAxis.of(key, [line.values[key] for line in every]) for key in keys}
    places = {id(line): i for i, line in enumerate(every)}
    for label, group in groups.items():
        for line in group:
            row: Row = {"curve": label}
            row |= {axis.axis.label: axis.spelled(places[id(line)]) for axis in axes.values()}
            for name in shown:
                cell = line.estimates.get(name)
                if cell is None:
                    continue
                title = names.measure(name)
                row[title] = MEASURES[name].spelled(cell.mean, cell.half_width)
                if way.minus and cell.diff is not None:
                    minus = names.difference(title, names.method(way.minus), alone=True)
                    row[minus] = MEASURES[name].spelled(cell.diff, cell.diff_half_width, "+")
            found.append(row)
    return found
