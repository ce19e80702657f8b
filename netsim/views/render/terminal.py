"""Views as tables for a terminal, cut into several where one would be too wide."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from netsim.views import Column, Columns, OnPage, Panel, Printed, Quantity, Sentences, Shown
from netsim.views.gathering.numbers import cell_text

MOST_ROWS = 60
"""Of one panel; the rest is counted."""
_MOST_FOR_NAMES = 0.6  # of a terminal's columns; wider names stand above their table
_TITLE = 24  # a title of more columns is broken, where a table is wider than the terminal
_SENTENCE = 48  # a cell of more columns is a sentence, which is broken between words


class WrappedTable:
    """A table for Rich to print: in parts below each other where it is wider than the terminal.

    No part cuts a name or a number. Names that leave too little room are listed above the table,
    each with the number of its row.
    """

    def __init__(self, printed: Printed) -> None:
        self._names, self._columns = printed.names, printed.columns
        self._note = printed.note

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width
        names, rest = self._names, list(self._columns)

        def width(shown: Sequence[Column]) -> int:
            endless = options.update(max_width=10_000)
            return Measurement.get(console, endless, _rows(names, shown)).minimum

        if width(rest) > room:
            rest = [replace(c, title=_in_lines(c.title, _TITLE)) for c in rest]
            names = {_in_lines(title, _TITLE): cells for title, cells in names.items()}
            if max(width(group) for group in [[], *_groups(rest)]) > room or (
                width([]) > _MOST_FOR_NAMES * room
            ):
                names, listed = _numbered(self._names, room)
                yield Text(listed)
        while rest:
            whole = [k for k in range(1, len(rest)) if not rest[k].keep_with_previous]
            if not rest[0].cost:  # where the table is cut, what was reached and its cost part first
                whole = [k for k in whole if not any(c.cost for c in rest[:k])]
            ends = [len(rest), *reversed(whole), *range(len(rest) - 1, 0, -1)]
            end = next((k for k in ends if width(rest[:k]) <= room), 1)
            yield _rows(names, rest[:end])
            rest = rest[end:]
        yield Text(_in_lines(self._note, room), style="dim")


def _groups(columns: Sequence[Column]) -> list[list[Column]]:
    """Columns that stay beside each other."""
    found: list[list[Column]] = []
    for column in columns:
        if found and column.keep_with_previous:
            found[-1].append(column)
        else:
            found.append([column])
    return found


def _in_lines(text: str, width: int, hanging: int = 0) -> str:
    """Break lines at blanks, but neither a word nor a number from its deviation.

    `hanging`: blanks before the later lines of a broken one.
    """
    return "\n".join(
        textwrap.fill(
            line.replace(" ± ", "\u00a0±\u00a0"),
            width,
            subsequent_indent=" " * hanging,
            break_long_words=False,
            break_on_hyphens=False,
        ).replace("\u00a0±\u00a0", " ± ")
        for line in text.split("\n")
    )


def _numbered(
    names: Mapping[str, Sequence[str]], width: int
) -> tuple[dict[str, Sequence[str]], str]:
    """Names of rows as numbers, and the list of what each number stands for."""
    worded = [name for name in names if name != "seeds"]
    rows = list(zip(*(names[name] for name in worded), strict=True))
    numbers = [str(1 + k) for k in range(len(rows))]
    lines = [
        _in_lines(f"{number}  {', '.join(row)}", width, len(number) + 2)
        for number, row in zip(numbers, rows, strict=True)
    ]
    kept = {name: cells for name, cells in names.items() if name not in worded}
    return {"row": numbers, **kept}, "\n".join(lines)


def _rows(names: Mapping[str, Sequence[str]], shown: Sequence[Column]) -> Table:
    """The table of some columns; its least width is the one at which nothing in it is cut."""
    found = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    titles = [*names, *(column.title for column in shown)]
    for title, cells in zip(titles, [*names.values(), *(c.cells for c in shown)], strict=True):
        lines = [*title.split("\n"), *cells]
        widest = max(map(cell_len, lines))
        if widest > _SENTENCE and any(" " in cell for cell in cells):
            words = [word for line in lines for word in line.split()]
            found.add_column(title, min_width=max(_SENTENCE // 2, *map(cell_len, words)))
        else:
            is_name = title in names and title not in ("row", "seeds")
            justify: Any = "left" if is_name else "right"
            found.add_column(title, justify=justify, no_wrap=True, min_width=widest)
    above = None
    for number, cells in enumerate(zip(*names.values(), strict=True)):
        called = list(cells)
        if len(called) > 1 and called[0] == above:
            called[0] = ""
        above = cells[0]
        found.add_row(*called, *(column.cells[number] for column in shown))
    return found


def say(shown: Shown, console: Any, with_queries: bool = False) -> None:
    """Print the sentences of a view.

    Parameters
    ----------
    console
        Of `netsim.terminal.consoles`.
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
    """Tables of what a view shows, to be printed by Rich; none where it has controls alone.

    A mark that is read is printed as it is; of what is drawn, the few numbers that a text cites, or
    the tidy table itself.
    """
    if shown.printed is not None:
        return [WrappedTable(shown.printed)]
    if shown.short:
        names = list(dict.fromkeys(name for row in shown.short for name in row))
        cells = {name: [cell_text(row.get(name)) for row in shown.short] for name in names}
        return [_table(cells, shown.about_printed)]
    made = [
        _of_panel(panel, shown.about_printed)
        for panel in shown.panels
        if panel.table and not isinstance(panel.mark, OnPage | Sentences)
    ]
    return made or [
        _table({k: [cell_text(v) for v in cells.tolist()] for k, cells in panel.table.items()}, "")
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
    return [cell_text(scale * v if is_number and scale != 1 else v) for v in cells.tolist()]


def _table(cells: dict[str, Sequence[str]] | dict[str, list[str]], note: str) -> WrappedTable:
    first, *others = cells
    columns = [Column(title, cells[title]) for title in others]
    return WrappedTable(Printed({first: cells[first]}, columns, note))
