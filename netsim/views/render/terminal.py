"""Views as tables for a terminal, cut into several where one would be too wide."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.views import Columns, OnPage, OnPaper, Panel, Quantity, Shown
from netsim.views.render.terminal_tables import Column, WrappedTable

MOST_ROWS = 60
"""Of one panel; the rest is counted."""


def tables(shown: Shown) -> list[WrappedTable]:
    """Tables of what a view shows, to be printed by Rich.

    A mark that is read is printed as it is; of what is drawn, the few numbers that a text cites, or
    the tidy table itself.

    Parameters
    ----------
    shown : Shown

    Returns
    -------
    list of WrappedTable
        Empty where a view has controls of its own and no table.
    """
    if shown.short:
        names = list(dict.fromkeys(name for row in shown.short for name in row))
        cells = {name: [_spelled(row.get(name)) for row in shown.short] for name in names}
        return [_table(cells, shown.about)]
    made = [
        _of_panel(panel, shown.about)
        for panel in shown.panels
        if panel.table and not isinstance(panel.mark, OnPage | OnPaper)
    ]
    return made or [
        _table({k: [_spelled(v) for v in cells.tolist()] for k, cells in panel.table.items()}, "")
        for panel in shown.panels
        if panel.table
    ]


def _of_panel(panel: Panel, about: str) -> WrappedTable:
    mark, table = panel.mark, panel.table
    chosen = (
        list(mark.quantities)
        if isinstance(mark, Columns)
        else [_named(panel, name) for name in table]
    )
    order = np.arange(len(next(iter(table.values()))))
    if isinstance(mark, Columns) and mark.sort:
        order = np.argsort(table[mark.sort], kind="stable")[:: -1 if mark.descending else 1]
    left_out = max(0, len(order) - MOST_ROWS)
    cells = {
        quantity.title.replace(" [", "\n["): _column(
            table[quantity.column][order[:MOST_ROWS]], quantity.scale
        )
        for quantity in chosen
    }
    caption = mark.caption.replace(" A heading sorts.", "") if isinstance(mark, Columns) else about
    notes = [panel.title, caption, f"{left_out:,} further rows" if left_out else ""]
    return _table(cells, "\n".join(filter(None, notes)))


def _named(panel: Panel, name: str) -> Quantity:
    """A column of a tidy table as its mark names it, else by its own name."""
    known = [one for one in vars(panel.mark).values() if isinstance(one, Quantity)]
    return next(
        (one for one in known if one.column == name), Quantity(name, name.replace("_", " "))
    )


def _column(cells: NDArray[Any], scale: float) -> list[str]:
    is_number = cells.dtype.kind in "iuf"
    return [_spelled(scale * v if is_number and scale != 1 else v) for v in cells.tolist()]


def _spelled(value: Any) -> str:
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _table(cells: dict[str, Sequence[str]] | dict[str, list[str]], note: str) -> WrappedTable:
    first, *others = cells
    columns = [Column(title, cells[title]) for title in others]
    return WrappedTable({first: cells[first]}, columns, note)
