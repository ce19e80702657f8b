"""Panels of a figure: how many beside each other, and how tall the figure is for its width."""

import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netsim.views.render.figure import style as plot_style
from netsim.views.render.figure.sheets import Sheet

_LONG = 30
"""A label of more letters is taller than a panel."""
_NARROW_IN = 5.0
"""In a narrower figure panels stand below each other."""


def columns_of(count: int, sheet: Sheet) -> int:
    """Panels beside each other on a sheet of paper."""
    if sheet.width_in is None or sheet.width_in >= _NARROW_IN:
        return {1: 1, 2: 2, 4: 2}.get(count, 3)
    return 1


def panels(
    count: int, columns: int, sheet: Sheet, height_in: float | None = None
) -> tuple[Figure, list[Axes]]:
    """A figure on a sheet of paper, with empty panels in rows.

    Parameters
    ----------
    count, columns : int
    sheet : Sheet
        With a width.
    height_in : float, optional
        Of a panel; None: two thirds of its width, within what reads well.
    """
    assert sheet.width_in is not None
    rows = -(-count // columns)
    if height_in is None:
        height_in = min(2.5, max(1.75, 0.66 * sheet.width_in / columns))
    figure = plot_style.new_figure(sheet.width_in, rows * height_in, sheet)
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(count)]


def finish(figure: Figure, handles: Sequence[Any], names: Sequence[str], note: str) -> None:
    """Put the legend below the panels, and make the figure as much taller.

    Parameters
    ----------
    figure : Figure
    handles : sequence of Matplotlib artists
    names : sequence of str
        One a handle; a single one is left out where it says nothing.
    note : str
        What lines and bands are.
    """
    if not handles and not note:
        return
    before = figure.get_figheight()
    plot_style.legend(figure, handles, names, note)
    box = figure.legends[-1].get_window_extent(figure.canvas.get_renderer())  # type: ignore[attr-defined]
    figure.set_figheight(before + box.height / figure.dpi)


def wrapped(label: str, figure: Figure, columns: int) -> str:
    """A label below a panel in as many lines as the width of the panel needs.

    Parameters
    ----------
    label : str
    figure : Figure
    columns : int
        Panels beside each other.
    """
    width_pt = 72 * 0.8 * figure.get_figwidth() / columns
    return textwrap.fill(label, int(width_pt / (0.52 * float(rcParams["font.size"]))))


def wrapped_once(label: str) -> str:
    """A label beside a panel, in two lines where it is long."""
    if len(label) <= _LONG or "\n" in label:
        return label
    return "\n".join(textwrap.wrap(label, -(-len(label) // 2) + 4))
