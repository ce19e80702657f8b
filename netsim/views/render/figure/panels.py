"""A view as one figure with a panel for each of its tables, drawn by the files of `marks`."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netsim.errors import ScenarioError
from netsim.registry import public_modules
from netsim.views import Cells, Lines, Panel, Places, Response, Shown
from netsim.views.gathering.numbers import evenly, rows_of
from netsim.views.render.figure import axes as plot_axes
from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.drawer import Drawer, Legend
from netsim.views.render.figure.files import Drawn
from netsim.views.render.figure.marks.lines import MOST_BANDS
from netsim.views.render.figure.sheets import SCREEN, Sheet

_NARROW_IN = 5.0
"""In a narrower figure panels stand below each other."""
_SHORT = 12
"""Rows of the small table of a view that names none."""


class OnPageOnlyError(ScenarioError):
    """A view that no figure can show: a table, or a mark with controls."""


@cache
def _drawers() -> dict[type, Drawer[Any]]:
    """The drawing of each sort of mark."""
    public_modules("netsim.views.render.figure.marks")  # imports them
    return {found.mark: found() for found in Drawer.__subclasses__()}


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
    panels = [panel for panel in shown.panels if type(panel.mark) in _drawers()]
    if not panels:
        raise OnPageOnlyError("is drawn on a page alone; netsim report writes it")
    figure, axes = _panels(panels, sheet)
    columns = _columns(len(axes), sheet, type(panels[0].mark))
    legend = Legend(_places_of(panels))
    for panel, on in zip(panels, axes, strict=True):
        if panel.title and len(panels) > 1:
            on.set_title(plot_axes.wrapped(panel.title, figure, columns))
        _drawers()[type(panel.mark)].draw(panel.mark, panel.table, on, legend)
        if sheet.width_in is not None:
            on.set_xlabel(plot_axes.wrapped(on.get_xlabel(), figure, columns))
            on.set_ylabel(plot_axes.wrapped_once(on.get_ylabel()))
    _colour_bars(panels, axes, figure)
    spreads = shown.spreads_in_words(MOST_BANDS, of_more=("dots", "bars"))
    about = shown.about_with([*spreads, *shown.blocks_in_words])
    note = _note(shown, about)
    tall = figure.get_figheight()
    if legend.entries or note:
        plot_style.legend(figure, list(legend.entries.values()), list(legend.entries), note)
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
    wide, tall = _drawers()[kind].size_in
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


def _colour_bars(panels: Sequence[Panel], axes: Sequence[Axes], figure: Figure) -> None:
    """A colour bar beside each heat map; a single one where all have the same colours."""
    maps = [(p.mark, on) for p, on in zip(panels, axes, strict=True) if isinstance(p.mark, Cells)]
    scales = {(mark.value.title, mark.low, mark.top) for mark, _ in maps}
    beside: list[Any] = [on for _, on in maps]
    if len(scales) == 1 and next(iter(scales))[-1] is not None:
        maps, beside = maps[:1], [beside]
    for (mark, on), where in zip(maps, beside, strict=True):
        plot_style.colour_bar(figure, on.images[0], where, mark.value.title)
