"""Views as tables for a terminal, cut into several where one would be too wide."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from netsim.views import Column, Columns, OnPage, Panel, Printed, Quantity, Sentences, Shown
from netsim.views.gathering.numbers import spelled

MOST_ROWS = 60
"""Of one panel; the rest is counted."""
_FOLD = 48  # a row's name takes no more columns than this where room is short


class WrappedTable:
    """A table for Rich to print: in parts below each other where it is wider than the terminal.

    Parameters
    ----------
    printed : Printed
    """

    def __init__(self, printed: Printed) -> None:
        self._names, self._columns = printed.names, printed.columns
        self._note = printed.note

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        def fits(shown: Sequence[Column], table: Table) -> bool:
            room = options.update(max_width=10_000)
            whole = len(shown) - sum(
                c.keep_with_previous for c in shown
            )  # what can't be cut any further
            return whole < 2 or (Measurement.get(console, room, table).maximum <= options.max_width)

        rest = list(self._columns)
        while rest:
            for end in range(len(rest), 0, -1):
                if end < len(rest) and any(c.cost for c in rest[:end]) and not rest[0].cost:
                    continue  # where the table is cut, what was reached and its cost part first
                if end < len(rest) and rest[end].keep_with_previous:
                    continue
                table = self._table(rest[:end], folded=end < len(self._columns))
                if fits(rest[:end], table):
                    break
            yield table
            rest = rest[end:]
        as_wide = options.update(no_wrap=False, overflow="fold")
        yield from console.render(Text(self._note, style="dim"), as_wide)

    def _table(self, shown: Sequence[Column], folded: bool) -> Table:
        found = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, name in enumerate(self._names):
            justify: Any = "right" if name == "seeds" else "left"
            fold = _FOLD if folded and i == 0 else None
            found.add_column(
                name, justify=justify, overflow="fold", no_wrap=fold is None, max_width=fold
            )
        for column in shown:
            if max(map(len, column.cells), default=0) > _FOLD:  # sentences
                found.add_column(column.title, overflow="fold")
            else:
                found.add_column(column.title, justify="right", no_wrap=True)
        above = None
        for number, cells in enumerate(zip(*self._names.values(), strict=True)):
            names = list(cells)
            if len(names) > 1 and names[0] == above:
                names[0] = ""
            above = cells[0]
            found.add_row(*names, *(column.cells[number] for column in shown))
        return found


class Speaker(Protocol):
    """A console: `netsim.terminal.consoles`."""

    def print(self, *objects: Any) -> None: ...

    def print_item(self, mark: str, text: str) -> None: ...

    def print_whole(self, *lines: str) -> None: ...


def say(shown: Shown, console: Speaker, with_queries: bool = False) -> None:
    """Print the sentences of a view.

    Parameters
    ----------
    shown : Shown
    console : Speaker
    with_queries : bool
        Whether also the lines of Python that give their numbers.
    """
    for mark in (panel.mark for panel in shown.panels):
        if not isinstance(mark, Sentences):
            continue
        for line in mark.head:
            console.print(line)
        for one in mark.lines:
            if one.mark:
                console.print_item(one.mark, one.text)
            else:
                console.print(Text(one.text))
            if with_queries:
                console.print_whole(*(f"    {query}" for query in one.queries))
        if with_queries:
            console.print("\nThe queries are Python. Run these lines before them, once:\n")
            console.print_whole(*mark.loading.rstrip().splitlines())


def tables(shown: Shown) -> list[WrappedTable]:
    """Tables of what a view shows, to be printed by Rich.

    A mark that is read is printed as it is; of what is drawn, the few numbers that a text cites, or
    the tidy table itself.

    Returns
    -------
    list of WrappedTable
        Empty where a view has controls of its own and no table.
    """
    if shown.printed is not None:
        return [WrappedTable(shown.printed)]
    if shown.short:
        names = list(dict.fromkeys(name for row in shown.short for name in row))
        cells = {name: [spelled(row.get(name)) for row in shown.short] for name in names}
        return [_table(cells, shown.about_printed)]
    made = [
        _of_panel(panel, shown.about_printed)
        for panel in shown.panels
        if panel.table and not isinstance(panel.mark, OnPage | Sentences)
    ]
    return made or [
        _table({k: [spelled(v) for v in cells.tolist()] for k, cells in panel.table.items()}, "")
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
    return [spelled(scale * v if is_number and scale != 1 else v) for v in cells.tolist()]


def _table(cells: dict[str, Sequence[str]] | dict[str, list[str]], note: str) -> WrappedTable:
    first, *others = cells
    columns = [Column(title, cells[title]) for title in others]
    return WrappedTable(Printed({first: cells[first]}, columns, note))
