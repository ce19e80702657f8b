"""How tables of runs look in a terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

Row = dict[str, Any]
"""Cells by column name; None where a run does not say."""


_FOLD = 26  # a row's name takes no more columns than this where room is short


@dataclass(frozen=True, slots=True)
class _Shown:
    """A column in the terminal."""

    title: str
    column: str
    spell: Callable[[float], str]
    spread: str = ""
    always: bool = True
    cost: bool = False


def _percent(x: float) -> str:
    return f"{100 * x:.1f}"


def _few(x: float) -> str:
    """Three digits, or all before the point."""
    return f"{x:.3g}" if abs(x) < 100 else f"{x:,.0f}"


def _whole(x: float) -> str:
    return f"{x:,.0f}"


_SHOWN = (
    _Shown("accuracy\n%", "accuracy", _percent, "_std_nodes"),
    _Shown("all classes\n%", "accuracy_all_classes", _percent, "_std_nodes", always=False),
    _Shown("best\n%", "best", _percent),
    _Shown("target\ns", "target_t_s", _few, always=False),
    _Shown("target\nMB", "target_megabytes", _few, always=False),
    _Shown("target\n%", "target_reached", _percent, always=False),
    _Shown("messages\n", "messages", _whole, cost=True),
    _Shown("delivered\n%", "delivered_share", _percent, cost=True),
    _Shown("sent\nMB", "sent_megabytes", _few, cost=True),
    _Shown("local\nsteps", "local_steps", _whole, cost=True),
    _Shown("virtual\ns", "virtual_s", _few, cost=True),
    _Shown("wall\ns", "wall_s", _few, cost=True),
)


class Comparison:
    """A table for Rich to print: in pieces below each other where one would be too wide.

    Parameters
    ----------
    rows : sequence of dict
    keys : sequence of str
        The columns that name a row.
    note : str
        What the spreads are.
    """

    def __init__(self, rows: Sequence[Row], keys: Sequence[str], note: str) -> None:
        self._rows, self._keys, self._note = rows, keys, note
        self._shown: list[tuple[_Shown, str]] = []
        seeds = "seeds" in keys
        for column in _SHOWN:
            if not column.always and all(r.get(column.column) is None for r in rows):
                continue
            spread = "_std_seeds" if seeds and column.spread else column.spread
            self._shown.append((column, spread))
            if seeds and column.spread:
                nodes = _Shown("std_nodes\n%", column.column + column.spread, _percent)
                self._shown.append((nodes, ""))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        def fits(shown: Sequence[tuple[_Shown, str]], table: Table) -> bool:
            room = options.update(max_width=10_000)
            return len(shown) < 2 or (
                Measurement.get(console, room, table).maximum <= options.max_width
            )

        rest = list(self._shown)
        while rest:
            for end in range(len(rest), 0, -1):
                if end < len(rest) and any(c.cost for c, _ in rest[:end]) and not rest[0][0].cost:
                    continue  # where the table is cut, accuracy and cost part first
                table = self._table(rest[:end], folded=end < len(self._shown))
                if fits(rest[:end], table):
                    break
            yield table
            rest = rest[end:]
        yield Text(self._note, style="dim")

    def _table(self, shown: Sequence[tuple[_Shown, str]], folded: bool) -> Table:
        found = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, key in enumerate(self._keys):
            justify: Any = "right" if key == "seeds" else "left"
            fold = _FOLD if folded and i == 0 else None
            found.add_column(
                key, justify=justify, overflow="fold", no_wrap=fold is None, max_width=fold
            )
        for column, _ in shown:
            found.add_column(column.title, justify="right", no_wrap=True)
        above = None
        for r in self._rows:
            names = [_key(r, key) for key in self._keys]
            if len(names) > 1 and names[0] == above:
                names[0] = ""
            above = names[0] or above
            found.add_row(*names, *(_cell(r, column, spread) for column, spread in shown))
        return found


def _key(r: Row, key: str) -> str:
    if key == "seeds" and r["seeds_failed"]:
        return f"{r['seeds']} of {r['seeds'] + r['seeds_failed']}"
    return str(r[key])


def _cell(r: Row, column: _Shown, spread: str) -> str:
    value = r[column.column]
    if value is None:
        return "-"
    around = r[column.column + spread] if spread else None
    return column.spell(value) + ("" if around is None else f" ± {column.spell(around)}")
