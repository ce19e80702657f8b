"""Tables of runs for a terminal, cut into several where one would be too wide."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from netsim.recording.summary_fields import MEASURES, definitions

Row = dict[str, Any]
"""Cells by column name; None where a run does not say."""

_FOLD = 48  # a row's name takes no more columns than this where room is short


@dataclass(frozen=True, slots=True)
class Column:
    """Numbers below a title.

    Attributes
    ----------
    title : str
    cells : sequence of str
    cost : bool
        Tells what was spent from what was reached.
    keep_with_previous : bool
        Whether it stays beside the column before it.
    """

    title: str
    cells: Sequence[str]
    cost: bool = False
    keep_with_previous: bool = False


_SHOWN = {
    "accuracy": "_std_nodes",
    "accuracy_all_classes": "_std_nodes",
    "best": "",
    "main_metric": "_std_nodes",
    "main_metric_common": "_std_nodes",
    "main_metric_best": "",
    "time_to_target_s": "",
    "megabytes_to_target": "",
    "airtime_to_target_s": "",
    "messages": "",
    "delivered_share": "",
    "used_share": "",
    "offered_megabytes": "",
    "transmitted_megabytes": "",
    "delivered_megabytes": "",
    "sent_megabytes": "",
    "local_steps": "",
    "virtual_s": "",
    "wall_s": "",
}
"""Measures by which the terminal compares runs, with the columns of their spread."""

_OPTIONAL = (
    "accuracy_all_classes",
    "main_metric",
    "main_metric_common",
    "main_metric_best",
    "time_to_target_s",
    "megabytes_to_target",
    "airtime_to_target_s",
    "sent_megabytes",
    "used_share",
)
_ACCURACIES = ("accuracy", "best")
_REACHED = tuple(_SHOWN)[: tuple(_SHOWN).index("messages")]


def comparison(rows: Sequence[Row]) -> "WrappedTable":
    """Runs side by side: `run` and the measures, one row a run."""
    columns, names_shown = [], []
    main = {r["metric"] for r in rows if "metric" in r}  # of runs that are not judged by accuracy
    by_accuracy = any("metric" not in r for r in rows)
    for name, spread in _SHOWN.items():
        is_left_out = name in _OPTIONAL or (name in _ACCURACIES and not by_accuracy)
        if is_left_out and all(r.get(name) is None for r in rows):
            continue
        cells = [
            _spelled(name, r.get(name), r.get(name + spread) if spread else None) for r in rows
        ]
        titled, is_named = title(name), name == "main_metric" and len(main) == 1
        if is_named:
            titled = f"{next(iter(main)).replace('_', ' ')}\n"
        columns.append(Column(titled, cells, name not in _REACHED))
        names_shown += [] if is_named else [name]
    names = {"run": [str(r["run"]) for r in rows]}
    notes = ["± is the standard deviation over nodes", definitions(names_shown)]
    uncounted = [str(r["run"]) for r in rows if r.get("sent_megabytes") is not None]
    for r in rows:
        broke, caught = r.get("nodes_diverged"), r.get("nodes_caught")
        if broke or caught:
            notes.append(
                f"{r['run']}: {broke or 0} nodes diverged, {caught or 0} caught it by a message; "
                "a mean over nodes with a model that is not finite is -"
            )
    if uncounted:
        notes.append(
            f"{', '.join(uncounted)}: recorded before bits offered and transmitted were counted"
        )
    return WrappedTable(names, columns, "\n".join(notes))


def title(name: str) -> str:
    """A measure's title over its unit."""
    measure = MEASURES[name]
    return f"{measure.title}\n{measure.unit.replace('#', '')}"


def _spelled(name: str, value: float | None, around: float | None) -> str:
    if value is None:
        return "-"
    spelled = MEASURES[name].spelled
    return spelled(value) + ("" if around is None else f" ± {spelled(around)}")


class WrappedTable:
    """A table for Rich to print: in parts below each other where it is wider than the terminal.

    Parameters
    ----------
    names : mapping of str to sequence of str
        The columns that name a row; every part has them.
    columns : sequence of Column
    note : str
        What the spreads are, and what is counted.
    """

    def __init__(
        self, names: Mapping[str, Sequence[str]], columns: Sequence[Column], note: str
    ) -> None:
        self._names, self._columns, self._note = names, columns, note

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
            found.add_column(column.title, justify="right", no_wrap=True)
        above = None
        for number, cells in enumerate(zip(*self._names.values(), strict=True)):
            names = list(cells)
            if len(names) > 1 and names[0] == above:
                names[0] = ""
            above = cells[0]
            found.add_row(*names, *(column.cells[number] for column in shown))
        return found
