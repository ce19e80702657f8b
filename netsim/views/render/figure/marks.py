"""Marks drawn with Matplotlib: one figure of all panels of a view."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.views import Cells, Layers, Lines, Panel, Places, Points, Response, Shares, Shown, Table
from netsim.views.gathering.numbers import evenly, rows_of
from netsim.views.render.colours import COLOURS_OF, FATES
from netsim.views.render.figure import axes as plot_axes
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure import swept_axis
from netsim.views.render.figure.files import Drawn
from netsim.views.render.figure.sheets import SCREEN, Sheet

Entries = dict[str, Any]
"""Artists of the legend by what they are called."""

_SIZES_IN: dict[type, tuple[float, float]] = {
    Cells: (5.0, 4.5), Lines: (3.9, 3.6), Points: (5.6, 3.8), Layers: (6.2, 3.8),
    Response: (3.3, 2.7), Shares: (6.2, 3.2), Places: (6.0, 4.4),
}  # fmt: skip
"""Width and height of a panel on a screen [in]."""
_NARROW_IN = 5.0
"""In a narrower figure panels stand below each other."""
_SHORT = 12
"""Rows of the small table of a view that names none."""
_MOST_BANDS = 4  # more bands than this hide each other; they become bars beside each other
_BARS, _BESIDE = 5, 0.012  # so many, each a part of the axis before the next curve's
_SILENT = 0.005  # of the busiest run's traffic; such a curve would lie on the vertical axis
Floats = NDArray[np.float64]

_LONGEST_LABEL = 32
"""Characters of a label on an axis."""
_MOST_NAMED = 24
"""Nodes of which each has its id on the axes of a heat map in an order of its own."""
_MOST_NUMBERED = 40
"""Nodes of which each has its id on a map."""
_MOST_TICKS = 12
"""Rows or columns of a heat map with words beside each."""


class OnPageOnlyError(ScenarioError):
    """A view that no figure can show: a table, or a mark with controls."""


def draw(shown: Shown, heading: str = "", sheet: Sheet = SCREEN) -> Drawn:
    """Draw a view; to be called, and the figure saved, inside `style.style(sheet)`.

    Parameters
    ----------
    heading : str
        Over the picture, on a screen.

    Raises
    ------
    OnPageOnlyError
        If it is drawn on a page alone, or is a table.
    """
    panels = [panel for panel in shown.panels if type(panel.mark) in _DRAWERS]
    if not panels:
        raise OnPageOnlyError("is drawn on a page alone; netsim report writes it")
    figure, axes = _panels(panels, sheet)
    columns = _columns(len(axes), sheet, type(panels[0].mark))
    entries: Entries = {}
    places = _places_of(panels)
    for panel, on in zip(panels, axes, strict=True):
        if panel.title and len(panels) > 1:
            on.set_title(plot_axes.wrapped(panel.title, figure, columns))
        _DRAWERS[type(panel.mark)](panel.mark, panel.table, on, entries, places)
        if sheet.width_in is not None:
            on.set_xlabel(plot_axes.wrapped(on.get_xlabel(), figure, columns))
            on.set_ylabel(plot_axes.wrapped_once(on.get_ylabel()))
    _colour_bars(panels, axes, figure)
    spreads = shown.spreads_in_words(_MOST_BANDS, of_more=("dots", "bars"))
    about = shown.about_with([*spreads, *shown.blocks_in_words])
    note = _note(shown, about)
    tall = figure.get_figheight()
    if entries or note:
        plot_style.legend(figure, list(entries.values()), list(entries), note)
        if sheet.width_in is not None:  # panels keep their height
            box = figure.legends[-1].get_window_extent(figure.canvas.get_renderer())  # type: ignore[attr-defined]
            figure.set_figheight(tall + box.height / figure.dpi)
    if heading and sheet.has_heading:
        plot_style.heading(figure, heading)
    rows = [dict(row) for row in shown.rows] or [
        ({"panel": panel.title} if panel.title and len(panels) > 1 else {}) | row
        for panel in panels
        for row in _rows(panel)
    ]
    short = [dict(row) for row in shown.short] or [rows[k] for k in evenly(len(rows), _SHORT)]
    return Drawn(figure, rows, short, shown.about_printed)


def _note(shown: Shown, told: str) -> str:
    """The meaning of marks, missing cells included."""
    grey = [p.mark.missing for p in shown.panels if isinstance(p.mark, Cells) and _has_grey(p)]
    return "; ".join(filter(None, [told, *(f"grey: {word}" for word in grey[:1])]))


def _has_grey(panel: Panel) -> bool:
    """Return whether a cell of a heat map has no number."""
    mark = panel.mark
    assert isinstance(mark, Cells)
    return int(np.isfinite(panel.table[mark.value.column]).sum()) < math.prod(mark.shape)


def _places_of(panels: Sequence[Panel]) -> dict[str, int]:
    """The look of each curve, the same in every panel."""
    words = [word for panel in panels for word in _curves(panel)]
    return {word: k for k, word in enumerate(dict.fromkeys(words))}


def _curves(panel: Panel) -> Sequence[str]:
    if isinstance(panel.mark, Response):
        return panel.mark.curves
    return panel.table[panel.mark.curve].tolist() if isinstance(panel.mark, Lines) else ()


def _rows(panel: Panel) -> list[dict[str, Any]]:
    """Rows for files: None where a number is missing."""
    return [{k: None if v != v else v for k, v in row.items()} for row in rows_of(panel.table)]


def _columns(count: int, sheet: Sheet, kind: type) -> int:
    """Panels beside each other: on a screen all, but for those of a sweep; squares close by."""
    is_narrow = sheet.width_in is not None and sheet.width_in < _NARROW_IN
    if sheet.width_in is None and kind is not Response:
        return count
    if sheet.width_in is not None and kind is Cells:
        return min(count, 2 if is_narrow else 3)
    return 1 if is_narrow else {1: 1, 2: 2, 4: 2}.get(count, 3)


def _panels(panels: Sequence[Panel], sheet: Sheet) -> tuple[Figure, list[Axes]]:
    """A figure with an empty panel for each; a square one for each heat map."""
    columns = _columns(len(panels), sheet, type(panels[0].mark))
    rows = math.ceil(len(panels) / columns)
    kind = type(panels[0].mark)
    wide, tall = _SIZES_IN[kind]
    if kind is Lines and len(panels) == 1:
        wide = 5.0
    elif kind is Response:
        wide, tall = max(4.6, 3.3 * columns) / columns, (0.7 + 2.7 * rows) / rows
    if sheet.width_in is not None:
        wide, tall = sheet.width_in / columns, tall * sheet.width_in / columns / wide
        if kind not in (Cells, Places):
            tall = min(2.5, max(1.75, 0.66 * wide))
    figure = plot_style.new_figure(columns * wide, rows * tall, sheet)
    return figure, [figure.add_subplot(rows, columns, k + 1) for k in range(len(panels))]


def _matrix(mark: Cells, table: Table, name: str) -> NDArray[np.float64]:
    """A column of the table as a matrix of blocks; NaN where the table has no row."""
    made = np.full(mark.shape, np.nan)
    made[mark.places(table[mark.row.column]), mark.places(table[mark.column.column])] = table[name]
    return made


def _colour_bars(panels: Sequence[Panel], axes: Sequence[Axes], figure: Figure) -> None:
    """A colour bar beside each heat map; a single one where all have the same colours."""
    maps = [(p.mark, on) for p, on in zip(panels, axes, strict=True) if isinstance(p.mark, Cells)]
    scales = {(mark.value.title, mark.low, mark.top) for mark, _ in maps}
    beside: list[Any] = [on for _, on in maps]
    if len(scales) == 1 and next(iter(scales))[-1] is not None:
        maps, beside = maps[:1], [beside]
    for (mark, on), where in zip(maps, beside, strict=True):
        plot_style.colour_bar(figure, on.images[0], where, mark.value.title)


def _cells(
    mark: Cells, table: Table, on: Axes, _entries: Entries, _places: Mapping[str, int]
) -> None:
    cells = mark.value.scale * _matrix(mark, table, mark.value.column)
    top = mark.top
    if top is None:
        top = (float(np.nanmax(cells)) if np.isfinite(cells).any() else 1.0) or 1.0
    plot_style.heatmap(on, cells, mark.block, top, mark.low)
    for axis, words in zip((on.yaxis, on.xaxis), mark.ticks or (), strict=False):
        step = -(-len(words) // _MOST_TICKS)
        axis.set_ticks(range(0, len(words), step), [_shorten(word) for word in words[::step]])
    if mark.ticks is not None:
        on.set_aspect("auto")
    if mark.order:
        _node_ticks(mark, on)
    on.set_xlabel(mark.column.title)
    on.set_ylabel(mark.row.title)
    if mark.beside is not None:
        bars = on.inset_axes((1.04, 0.0, 0.22, 1.0), sharey=on)
        own = np.diag(_matrix(mark, table, mark.beside.column))
        tall = 0.75 if len(own) <= 60 else 1.0
        bars.barh(np.arange(len(own)), own, height=tall, color=plot_style.FAINT)
        bars.set_xlim(0, max(1.0, float(np.nanmax(own))))
        bars.set_xlabel(mark.beside.title)
        bars.tick_params(axis="y", which="both", length=0, labelleft=False)
        bars.grid(which="both", visible=False)
        bars.spines["left"].set_visible(False)


def _node_ticks(mark: Cells, on: Axes) -> None:
    """Ids of nodes that are in an order of their own, where there is room, and lines of groups."""
    count = len(mark.order)
    ids = [str(node) for node in mark.order] if count <= _MOST_NAMED else []
    for axis in (on.xaxis, on.yaxis):
        axis.set_ticks(range(len(ids)), ids)
    figure = on.figure
    assert isinstance(figure, Figure)
    room_pt = 72 * 0.7 * on.get_window_extent().width / figure.dpi / count
    on.tick_params(labelsize=max(min(7.0, room_pt), 4.5))
    on.tick_params(axis="x", rotation=90 if ids and count > 10 else 0)
    for cut in mark.cuts:
        for line in (on.axhline, on.axvline):
            line(cut - 0.5, color=plot_style.COLOURS[1], linewidth=0.7)


def _points(
    mark: Points, table: Table, on: Axes, entries: Entries, _places: Mapping[str, int]
) -> None:
    x, y, half = table[mark.x.column], table[mark.y.column], table[mark.around]
    # what is not negative has no bar below nought
    below = np.minimum(half, np.maximum(y, 0.0))
    entries[mark.bars] = on.errorbar(
        x, y, yerr=[below, half], color=plot_style.COLOURS[0], marker="o", capsize=3, zorder=3
    )
    entries[mark.level] = on.axhline(mark.over_all, color=plot_style.FAINT, linestyle=(0, (4, 2)))
    on.set_ylim(
        min(0.0, float(np.nanmin(y - below))), 1.06 * float(np.nanmax([*(y + half), 0.0])) or 1.0
    )
    on.set_ylabel(mark.y.title)
    on.grid(axis="y", color=plot_style.GRID, linewidth=0.8)
    on.set_xlim(x[0] - 0.5, x[-1] + 0.5)
    step = max(1, round((x[-1] - x[0]) / 12))
    of = dict(zip(x.tolist(), table[mark.of.column].tolist(), strict=True))
    on.set_xticks(x[np.round(x - x[0]) % step == 0])
    on.xaxis.set_major_formatter(FuncFormatter(lambda k, _: f"{k:g}\n{of.get(k, 0):,.0f}"))
    on.set_xlabel(f"{mark.x.title}; below: {mark.of.label}")


def _layers(
    mark: Layers, table: Table, on: Axes, entries: Entries, _places: Mapping[str, int]
) -> None:
    x = np.unique(table[mark.x.column])
    below = np.zeros(len(x))
    words = list(dict.fromkeys(table[mark.layer].tolist()))
    for k, word in enumerate(words):
        mine = table[mark.layer] == word
        place = np.searchsorted(x, table[mark.x.column][mine])
        tall = mark.y.scale * np.bincount(place, table[mark.y.column][mine], len(x))
        colour = COLOURS_OF[mark.colours].get(word, plot_style.COLOURS[k % 7])
        bars = on.bar(x, tall, mark.width, below, color=colour, linewidth=0)
        entries.setdefault(word, bars)
        below += tall
    on.set_xlim(float(x[0]) - mark.width / 2, float(x[-1]) + mark.width / 2)
    on.set_ylim(0, 1.04 * float(below.max()) or 1.0)
    on.set_xlabel(mark.x.title)
    on.set_ylabel(plot_axes.wrapped_once(mark.y.title))
    plot_axes.lines_across(on)
    plot_axes.plain_ticks(on.xaxis)
    plot_axes.plain_ticks(on.yaxis)


def _lines(
    mark: Lines, table: Table, on: Axes, entries: Entries, places: Mapping[str, int]
) -> None:
    curves = list(dict.fromkeys(table[mark.curve].tolist()))
    is_distribution = mark.axis == "distribution"
    scale = mark.y.scale if is_distribution else 1.0  # ticks of the others are percent
    all_x = mark.x.scale * table[mark.x.column]
    end, extent = float(all_x.max()), []
    for name in curves:
        mine = table[mark.curve] == name
        x, y = all_x[mine], scale * table[mark.y.column][mine]
        look = plot_style.curve_style(places[name], len(x))
        if name in mark.looks:
            colour, dash = mark.looks[name]
            look["color"] = plot_style.COLOURS[colour % 7]
            look["marker"] = "" if len(x) > 1 else look["marker"]  # a point alone has no line
            look["linestyle"] = plot_style.LINES[dash % len(plot_style.LINES)]
        label = f"{name}: {mark.told[name]}" if name in mark.told else str(name)
        if mark.silent and x.max() < _SILENT * end:
            # a curve over traffic needs traffic; a level can still be compared with
            entry = on.axhline(float(y[-1]), color=look["color"], linestyle=(0, (4, 2)))
            entries.setdefault(f"{label} ({mark.silent})", entry)
            extent.append(y[-1:])
            continue
        if is_distribution:
            x = np.concatenate([[x[0] if mark.is_log else min(x[0], all_x.min())], x, [end]])
            y = np.concatenate([[0.0], y, [scale]])
            look |= {"clip_on": True, "drawstyle": "steps-post"}
        entries.setdefault(label, on.plot(x, y, **look)[0])
        extent.append(y)
        if name in mark.each:
            extent.append(np.ravel(mark.each[name]))
            _seeds(on, x, mark.each[name], look, (places[name], len(curves)))
        elif mark.low and np.isfinite(table[mark.low][mine]).any():
            ends = [table[mark.low][mine], table[mark.high][mine]]
            if mark.axis == "share":  # bands of shares stay shares
                ends = [np.maximum(ends[0], 0.0), np.minimum(ends[1], 1.0)]
            extent += _band(on, x, y, ends, look, (places[name], len(curves)))
    values = np.concatenate(extent)
    if is_distribution:
        _distribution_axes(mark, on)
        return
    on.set_xlabel(mark.x.title)
    on.set_ylabel(mark.y.title)
    if mark.axis == "difference":
        plot_axes.difference_axis(on, values, mark.y.unit == "pp")
    elif mark.axis == "share":
        plot_axes.share_axis(on, values)
    else:
        plot_axes.value_axis(on, values)
    plot_axes.number_axis(on, end)


def _band(
    on: Axes, x: Floats, y: Floats, ends: Sequence[Floats], look: dict[str, Any],
    place: tuple[int, int],
) -> list[Floats]:  # fmt: skip
    """Draw a band between two ends, or, of many curves, bars beside those of the others.

    `place`: which of how many curves it is. Returns the ends that are drawn.
    """
    colour = look["color"]
    if place[1] <= _MOST_BANDS:
        # where bands lie over each other, their edges tell them apart
        fill: dict[str, Any] = {"facecolor": (colour, 0.12), "edgecolor": (colour, 0.6)}
        on.fill_between(x, ends[0], ends[1], linewidth=0.5, linestyle=look["linestyle"], **fill)
        return [*ends]
    at, aside = _marked_points(x, place)
    below, above = y - ends[0], ends[1] - y
    on.errorbar(
        x[at] + aside, y[at], [below[at], above[at]], linestyle="none", color=colour,
        elinewidth=0.9, capsize=1.5, zorder=2,
    )  # fmt: skip
    return [ends[0][at], ends[1][at]]


def _seeds(on: Axes, x: Floats, each: Floats, look: dict[str, Any], place: tuple[int, int]) -> None:
    """Thin lines of single seeds, or, of many curves, dots beside those of the others."""
    colour = look["color"]
    if place[1] <= _MOST_BANDS:
        on.plot(x, each.T, color=colour, alpha=0.55, linewidth=0.7, zorder=2)
        return
    at, aside = _marked_points(x, place)
    dots: dict[str, Any] = {"marker": ".", "markersize": 3.5, "linestyle": "none", "zorder": 2}
    on.plot(x[at] + aside, each[:, at].T, color=colour, **dots)


def _marked_points(x: Floats, place: tuple[int, int]) -> tuple[NDArray[np.intp], float]:
    """Choose the points with marks around them, and how far these stand from the curve."""
    step = max(1, len(x) // _BARS)
    at = np.arange(len(x) - 1, 0, -step)  # the first one would stand on the axis
    return at, _BESIDE * float(np.ptp(x)) * (place[0] - place[1] + 1)


def _distribution_axes(mark: Lines, on: Axes) -> None:
    on.set_xlabel(mark.x.title)
    on.set_ylabel(plot_axes.wrapped_once(mark.y.title))
    on.set_ylim(0, 101.5)
    on.set_yticks([0, 25, 50, 75, 100])
    on.grid(color=plot_style.GRID, linewidth=0.8)
    on.tick_params(length=0)
    if mark.x.unit == "pp":
        on.axvline(0.0, color=plot_style.FAINT, linewidth=0.8, zorder=1)
    if mark.is_log:
        on.set_xscale("log")
        plot_axes.without_formulas(on.xaxis)
        on.xaxis.set_major_formatter(FuncFormatter(lambda v, _: plot_axes.tick_text(v)))
        return
    plot_axes.plain_ticks(on.xaxis)
    if mark.x.unit == "%":
        left, right = on.get_xlim()
        on.set_xlim(max(0.0, left), min(100.5, right))


def _response(
    mark: Response, table: Table, on: Axes, entries: Entries, places: Mapping[str, int]
) -> None:
    narrow = plot_style.sheet_of(on.figure).width_in is not None
    swept_axis.set_up(mark, on, narrow=narrow)
    scale = mark.y.scale
    has_seeds = np.array([bool(values) for values in mark.each], dtype=np.bool_)
    half = np.where(has_seeds, np.nan, scale * table["half_width"])
    size = 0.6 * float(rcParams["lines.markersize"])
    for k, name in enumerate(mark.curves):
        mine = table["curve"] == name
        if mine.any():
            at = table[mark.x.column][mine].tolist()
            x = np.array(swept_axis.offset_marks(on, at, k, len(mark.curves)))
            values = scale * table[mark.y.column][mine], half[mine]
            entries.setdefault(name, _marks(mark, on, x, values, places[name]))
            each = [mark.each[row] for row in np.flatnonzero(mine).tolist()]
            dots = np.repeat(x, [len(seeds) for seeds in each])
            on.plot(
                dots, [scale * value for seeds in each for value in seeds], linestyle="none",
                marker="o", markersize=size, markeredgecolor="white", markeredgewidth=0.3,
                color=plot_style.curve_style(places[name], 1)["color"], zorder=4,
            )  # fmt: skip
    _vertical(mark, on, table, half)


def _marks(mark: Response, on: Axes, x: Floats, values: tuple[Floats, Floats], place: int) -> Any:
    """The marks of one line, means and half intervals; bars of shares end at 0 and at 100 %."""
    order = np.argsort(x, kind="stable") if mark.joined else np.arange(len(x))
    y, half = values[0][order], values[1][order]
    below, above = half, half
    if mark.y.unit == "%" and not mark.is_difference:
        below, above = np.minimum(half, y), np.minimum(half, np.maximum(100.0 - y, 0.0))
    look = plot_style.curve_style(place, len(x))
    del look["markevery"], look["clip_on"]
    look["linestyle"] = look["linestyle"] if mark.joined else "none"
    thin = float(on.xaxis.label.get_fontsize()) / 9.5
    made = on.errorbar(
        x[order], y, [below, above], capsize=2.5 * thin, elinewidth=1.0 * thin, **look
    )
    return made if np.isfinite(half).any() else made.lines[0]  # the legend has no bar, either


def _vertical(mark: Response, on: Axes, table: Table, half: Floats) -> None:
    """The vertical axis around means, bars and seeds; logarithmic over two decades."""
    means = mark.y.scale * table[mark.y.column]
    seeds = mark.y.scale * np.array([value for values in mark.each for value in values])
    bars = np.nan_to_num(half)
    lows = np.concatenate([means - bars, seeds])
    highs = np.concatenate([means + bars, seeds])
    on.set_ylabel(mark.y.title)
    if mark.is_difference:
        plot_axes.difference_axis(on, np.concatenate([lows, highs]), False)
        return
    if mark.y.unit != "%" and means.min() > 0 and means.max() >= plot_axes.DECADES * means.min():
        on.set_yscale("log")
        plot_axes.without_formulas(on.yaxis)
        if lows.min() <= 0:  # bars that reach below nought would stretch the axis without end
            on.set_ylim(bottom=0.5 * means.min())
    else:
        margin = 0.06 * (highs.max() - lows.min()) or 0.01 * abs(means).max() or 1.0
        low, high = lows.min() - margin, highs.max() + margin
        if means.min() >= 0:
            low = max(low, 0.0)
        if mark.y.unit == "%":
            if high - low < 4.0:  # hardly any change should look like it
                low, high = max(low - 5.0, 0.0), high + 5.0
            high = min(high, 100.0 + 0.02 * (100.0 - low))
        on.set_ylim(low, high)
        on.yaxis.set_major_formatter(FuncFormatter(lambda y, _: plot_axes.tick_text(y)))
    plot_axes.lines_across(on)


def _shares(
    mark: Shares, table: Table, on: Axes, entries: Entries, _places: Mapping[str, int]
) -> None:
    rows = list(dict.fromkeys(table[mark.row].tolist()))
    left = np.zeros(len(rows))
    for k, word in enumerate(dict.fromkeys(table[mark.layer].tolist())):
        mine = table[mark.layer] == word
        place = [rows.index(row) for row in table[mark.row][mine].tolist()]
        wide = mark.y.scale * np.bincount(place, table[mark.y.column][mine], len(rows))
        colour = FATES.get(word, plot_style.COLOURS[k % len(plot_style.COLOURS)])
        bars = on.barh(range(len(rows)), wide, left=left, color=colour, height=0.62)
        entries.setdefault(word, bars)
        left += wide
    for row, words in mark.told.items():
        box: Any = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 1.5}
        on.text(2, rows.index(row), words, va="center_baseline", fontsize=7.5, bbox=box)
    on.set_yticks(range(len(rows)), [_shorten(row) for row in rows])
    on.invert_yaxis()
    on.set_xlim(0, 100)
    on.set_xlabel(mark.y.title)
    on.tick_params(axis="y", length=0)
    on.spines["left"].set_visible(False)


def _map(mark: Places, table: Table, on: Axes, _: Entries, _places: Mapping[str, int]) -> None:
    places = np.stack([table[mark.x.column], table[mark.y.column]], axis=1)
    if mark.walls is not None:
        ends = np.flatnonzero(np.isnan(mark.walls).any(axis=1))
        for outline in np.split(mark.walls, ends):
            corners = outline[~np.isnan(outline).any(axis=1)]
            if len(corners) > 2:
                on.fill(*corners.T, color=plot_style.BLANK, zorder=0)
                on.plot(*corners.T, color=plot_style.FAINT, linewidth=0.7, zorder=1)
    if mark.links is not None and (mark.links > 0).any():
        i, j = np.nonzero(np.triu(np.nan_to_num(mark.links) > 0, k=1))
        lines = LineCollection(
            np.stack([places[i], places[j]], axis=1).tolist(),
            array=mark.link.scale * mark.links[i, j],
            cmap=plot_style.SEQUENTIAL,
            clim=(0.0, mark.link.scale),
            linewidths=1.1,
            zorder=2,
        )
        on.add_collection(lines)
        figure = on.figure
        assert isinstance(figure, Figure)
        plot_style.colour_bar(figure, lines, on, mark.link.title)
    on.plot(*places.T, "o", color=plot_style.COLOURS[1], markersize=4.5, zorder=3)
    for node, place in enumerate(places if len(places) <= _MOST_NUMBERED else ()):
        on.annotate(
            str(node), place, xytext=(4, 3), textcoords="offset points", fontsize=8, zorder=4
        )
    on.set_aspect("equal", adjustable="box")
    on.set_xlabel(mark.x.title)
    on.set_ylabel(mark.y.title)


_DRAWERS: dict[type, Callable[[Any, Table, Axes, Entries, Mapping[str, int]], None]] = {
    Cells: _cells, Points: _points, Layers: _layers, Lines: _lines, Response: _response,
    Shares: _shares, Places: _map,
}  # fmt: skip


def _shorten(word: object) -> str:
    """Return a label, cut where an axis has no room for it."""
    text = str(word)
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 3]}..."
