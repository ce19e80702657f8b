"""Views: one file a figure or table, for the terminal, for paper and for the page alike.

A view is a module of this folder, found by the name of its file, which is also its name on the
command line (`netsim plot RUN --as NAME`), in Python (`run.plot.NAME()`) and on the page. It states

- `TITLE`: its heading, without the name of what was run;
- `PLACE`: a number, by which the page orders what it shows; None keeps a view off the page;
- `of_run(run)`, from the `RunFolder` of one run; `of_runs(runs, ask)`, from several `Run`s over
  each other; `of_sweep(sweep)`, from the `SweepTables` of a sweep: one of them at least. Each
  returns a `Shown`, or None where nothing of the kind was recorded, for which `NOTHING` has words;
- `ON_REQUEST`: True where only `netsim report` shows it, as a run's end would have to wait for it;
- `TAKES`: the fields of `Ask` that it heeds, where it heeds any.

A view gathers a tidy table and names the mark by which it is drawn. The renderers in `render/` draw
marks and know no view: `terminal` prints tables, `figure` draws with Matplotlib, `page` writes what
`render/page/assets/marks/` draws in a browser. Subfolders and names that begin with `_` are no
views.
"""

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.registry import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

Table = Mapping[str, NDArray[Any]]
"""A tidy table: columns of one length by name; numbers in SI units, shares in [0, 1]."""
Row = dict[str, Any]
"""Cells by column name; None where a run does not say."""


@dataclass(frozen=True)
class Quantity:
    """A column as people read it."""

    column: str
    """Its name in the table."""
    label: str
    unit: str = ""
    """Empty: none. `%` (of differences `pp`) of a share, drawn a hundred times as large."""
    per: float = 1.0
    """The unit in SI units: 1e-3 of `ms`."""

    @property
    def scale(self) -> float:
        """Factor from the table to what is drawn."""
        return 100.0 if self.unit in ("%", "pp") else 1 / self.per

    @property
    def title(self) -> str:
        """The label with its unit: `Age at use [s]`."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label


@dataclass(frozen=True)
class Cells:
    """A heat map: a coloured cell a row of the table, ticks are ids of nodes or words."""

    row: Quantity
    column: Quantity
    value: Quantity
    nodes: int
    """0 where ticks are words."""
    missing: str
    """The meaning of a grey cell."""
    block: int = 1
    """Nodes a cell; ids in the table are those of a block's first node."""
    top: float | None = None
    """The value of the darkest colour, as drawn; None: the largest cell."""
    beside: Quantity | None = None
    """A value of each row of the map, drawn as bars at its side."""
    ticks: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """Words of rows and columns, of which the table has the numbers from 0; None: ids of nodes."""
    low: float = 0.0
    """The value of the lightest colour, as drawn."""
    order: tuple[int, ...] = ()
    """Ids in the table of rows and columns, in the order in which they are drawn; empty: by id."""
    cuts: tuple[float, ...] = ()
    """Rows and columns before which a group begins."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        if self.ticks is not None:
            return len(self.ticks[0]), len(self.ticks[1])
        side = len(self.order) or -(-self.nodes // self.block)
        return side, side

    def places(self, ids: NDArray[Any]) -> NDArray[Any]:
        """Rows or columns of ids in the table."""
        if not self.order:
            return ids // self.block
        by_id = np.argsort(self.order)
        return by_id[np.searchsorted(np.asarray(self.order)[by_id], ids)]


@dataclass(frozen=True)
class Around:
    """The meaning of what is drawn around means, in words."""

    spread: str
    """Of bands and bars, and of what tables write behind "±"."""
    seeds: str = ""
    """Of single seeds, which are drawn where they are few; empty: none are."""
    is_mixed: bool = False
    """True where others have bands or bars, and some have single seeds."""

    def drawn(self, seeds_as: str, spread_as: str) -> str:
        """Words of a figure that draws single seeds as `dots`, and the spread as `bars`."""
        if not self.seeds:
            return f"{spread_as}: {self.spread}"
        more = f"; {spread_as}: {self.spread}, of four seeds and more" if self.is_mixed else ""
        return f"{seeds_as}: {self.seeds}{more}"

    @property
    def printed(self) -> str:
        """Words of a table."""
        return f"±: {self.spread.removeprefix('± ')}"


@dataclass(frozen=True)
class Lines:
    """Curves over a common axis, with bands where there are any."""

    x: Quantity
    y: Quantity
    curve: str
    """The column whose words tell curves apart."""
    low: str = ""
    high: str = ""
    """Columns of a band's ends, NaN where there is none; empty: no curve has one."""
    axis: Literal["share", "value", "difference", "distribution"] = "value"
    """Percent around what is drawn; plain numbers; differences around a line at zero; shares at or
    below x, from 0 to 100 %, in steps."""
    is_log: bool = False
    """True of a logarithmic horizontal axis."""
    silent: str = ""
    """Words on a curve that ends near x = 0, which is drawn as a level; empty: none is."""
    told: Mapping[str, str] = field(default_factory=dict)
    """Words of the legend on a curve, beside its name."""
    each: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Values of single seeds by curve, in the order of its rows, drawn in place of its band."""
    around: Around | None = None
    """None where nothing is drawn around curves."""
    looks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Colour and dash of curves that share one of both; others have a look of their own."""


@dataclass(frozen=True)
class Points:
    """Points with bars around them."""

    x: Quantity
    y: Quantity
    around: str
    """The column of half the length of a bar."""
    of: Quantity
    """A count of what each point stands for, told below its tick."""
    over_all: float
    """A level to compare with, as in the table."""
    bars: str
    level: str
    """The meaning of points with their bars, and of the level."""


@dataclass(frozen=True)
class Layers:
    """Columns stacked on each other: shares or counts, over time or by node."""

    x: Quantity
    """In the middle of a column."""
    y: Quantity
    layer: str
    """The column whose words are the layers, from the bottom up as they come."""
    colours: Literal["outcomes", "states"]
    """The set of colours of the words."""
    width: float
    """Of a column, in units of x."""
    by: Quantity | None = None
    """A column by whose words the reader of a page chooses among rows."""
    order: bool = False
    """True: that reader can order columns by a layer; False: heights can become shares."""
    whole: float | None = None
    """The whole of the legend's shares; None: all that is drawn."""


@dataclass(frozen=True)
class Shares:
    """A bar a word, from 0 to 100 %, in parts."""

    row: str
    """The column whose words have a bar each."""
    y: Quantity
    """The parts."""
    layer: str
    """The column whose words are the parts, from left to right as they come."""
    counts: str
    """The column of what the parts are, told beside their shares."""
    told: Mapping[str, str] = field(default_factory=dict)
    """Words on the bar of a word."""


@dataclass(frozen=True)
class Response:
    """Means with their intervals over a swept key, one line per method."""

    x: Quantity
    """The key as the table has it, in the unit of its label."""
    y: Quantity
    curves: tuple[str, ...]
    """Names of lines, also of those that have no mark here."""
    at: tuple[float, ...]
    """Places of all points along the key."""
    words: tuple[str, ...]
    """Ticks at 0, 1, ... of values that are no numbers; empty: they are."""
    scale: Literal["linear", "log", "symlog"]
    joined: bool
    """True: lines join the marks."""
    is_difference: bool
    each: Sequence[Sequence[float]]
    """Values of single seeds by row of the table, drawn in place of its interval."""
    around: Around | None
    """None where nothing is drawn around means."""


@dataclass(frozen=True)
class Columns:
    """A table that is read."""

    quantities: Sequence[Quantity]
    """In their order; the first names a row."""
    caption: str = ""
    sort: str = ""
    """The column that rows are ordered by at first; empty: as they come."""
    descending: bool = False
    picks: bool = False
    """True: the first column is a node that the page can pick out in its figures."""
    marked: frozenset[int] = frozenset()
    """Rows that stand out."""
    about: Mapping[str, str] = field(default_factory=dict)
    """Definitions of columns."""


@dataclass(frozen=True)
class Sentence:
    """A sentence or two."""

    text: str
    mark: str = ""
    """Words before it, such as `1.`."""
    queries: tuple[str, ...] = ()
    """Lines of Python that give its numbers."""


@dataclass(frozen=True)
class Sentences:
    """Sentences below each other."""

    lines: Sequence[Sentence]
    head: tuple[str, ...] = ()
    """The run that they are of, where they stand alone."""
    loading: str = ""
    """Lines of Python that load what the queries name."""


@dataclass(frozen=True)
class OnPage:
    """A mark of a view's own, with controls, that only a browser draws."""

    script: str
    """`render/page/assets/marks/SCRIPT.js` draws it."""
    data: Mapping[str, Any]
    """For JSON."""


@dataclass(frozen=True, eq=False)
class Places:
    """A map: nodes as dots, links as lines, footprints of buildings in grey."""

    x: Quantity
    y: Quantity
    link: Quantity
    """The meaning of a line's colour."""
    links: NDArray[np.float64] | None = None
    """(N, N) float64. Its value, symmetric, as in a table; NaN and 0 are not drawn."""
    walls: NDArray[np.float64] | None = None
    """(points, 2) float64. Outlines [m], with NaN between them."""


Mark = Cells | Lines | Points | Layers | Shares | Response | Places | Columns | Sentences | OnPage


@dataclass(frozen=True, eq=False)
class Panel:
    """One table with its mark."""

    mark: Mark
    table: Table = field(default_factory=dict)
    """Empty for a mark of a view's own."""
    title: str = ""
    """Empty where the view's heading says it all."""
    on_page: bool = True
    """False: no page draws it, as another section of it shows the same."""


@dataclass(frozen=True, slots=True)
class Column:
    """Spelled numbers below a title, in a terminal."""

    title: str
    cells: Sequence[str]
    cost: bool = False
    """Tells what was spent from what was reached."""
    keep_with_previous: bool = False
    """True: it stays beside the column before it."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A table as a terminal prints it; `render.terminal.WrappedTable` draws it."""

    names: Mapping[str, Sequence[str]]
    """The columns that name a row; every part of a table that is cut has them."""
    columns: Sequence[Column]
    note: str
    """The meaning of spreads and counts."""


@dataclass(frozen=True, eq=False)
class Shown:
    """All that a view shows."""

    panels: Sequence[Panel]
    about: str = ""
    """The meaning of marks and numbers, in a line or two."""
    short: Sequence[Mapping[str, Any]] = ()
    """The few numbers that a text cites, in the units of the axes, as rows of a table."""
    printed: Printed | None = None
    """The terminal's table, where it is not made of the panels."""
    rows: Sequence[Row] = ()
    """Rows of the file beside a figure, where they are not those of the panels."""

    def about_with(self, words: Sequence[str]) -> str:
        """Return `about` with more words in its first line, each of them once."""
        first, line, rest = self.about.partition("\n")
        return "; ".join(filter(None, dict.fromkeys([first, *words]))) + line + rest

    @property
    def about_printed(self) -> str:
        """The meaning of the numbers in a table."""
        around = [p.mark.around for p in self.panels if isinstance(p.mark, Lines | Response)]
        return self.about_with([*(one.printed for one in around if one), *self.blocks_in_words])

    def spreads_in_words(
        self, most_bands: int, of_more: tuple[str, str] | None = None
    ) -> list[str]:
        """The meaning of what a figure draws around means.

        Up to `most_bands` curves of a panel have bands and thin lines, more have what the words
        `of_more` say; None: nothing.
        """
        found = []
        for mark, table in ((panel.mark, panel.table) for panel in self.panels):
            if not isinstance(mark, Lines | Response) or mark.around is None:
                continue
            drawn: tuple[str, str] | None = ("dots", "bars")
            if isinstance(mark, Lines):
                is_few = len(set(table[mark.curve].tolist())) <= most_bands
                drawn = ("thin lines", "band") if is_few else of_more
            if drawn is not None:
                found.append(mark.around.drawn(*drawn))
        return found

    @property
    def blocks_in_words(self) -> list[str]:
        """Sentences on maps whose ids stand for several nodes each."""
        blocks = [p.mark.block for p in self.panels if isinstance(p.mark, Cells)]
        return [f"a cell is {b} × {b} nodes, and an id that of the first" for b in blocks if b > 1]

    def frame(self) -> "pd.DataFrame":
        """The tables of all panels below each other; of several, a column `panel` names each."""
        import pandas as pd  # here: pages and figures do without

        frames = [pd.DataFrame(dict(panel.table)) for panel in self.panels]
        if len(frames) > 1:
            for panel, made in zip(self.panels, frames, strict=True):
                made.insert(0, "panel", panel.title)
        return pd.concat(frames, ignore_index=True)


@dataclass(frozen=True)
class Ask:
    """Choices of who asks for a figure; a view names those that it takes in `TAKES`."""

    metrics: tuple[str, ...] = ()
    band: Any = None
    paired_to: str | None = None
    against: tuple[str, ...] = ()
    on_paper: bool = False
    """True: for a paper, where all that is asked for has to be there; False: for a screen."""


class View(Protocol):
    """A module of this folder; see above."""

    TITLE: str
    PLACE: float | None
    of_run: Callable[[Any], Shown | None]
    of_runs: Callable[[Any, Ask], Shown | None]
    of_sweep: Callable[[Any], Shown | None]


def names() -> list[str]:
    """The names of all views, none of which is imported for it."""
    return sorted(
        found.name
        for found in pkgutil.iter_modules(__path__)
        if not found.ispkg and not found.name.startswith("_")
    )


def find(name: str, before: str = "view = ") -> View:
    """The view of a name; `before` begins what is refused.

    Raises
    ------
    ScenarioError
        If there is none.
    """
    if name not in (known := names()):
        raise ScenarioError(
            f"{before}{name}: there is no such view; there are {', '.join(known)}"
            + did_you_mean(name, known)
        )
    return cast(View, importlib.import_module(f"{__name__}.{name}"))


def on_page(
    of: Literal["of_run", "of_runs", "of_sweep"], is_requested: bool = False
) -> dict[str, View]:
    """Views that a page shows, in their order; `is_requested`: those `ON_REQUEST`, too."""
    views = ((n, cast(View, importlib.import_module(f"{__name__}.{n}"))) for n in names())
    there = {n: v for n, v in views if hasattr(v, of) and v.PLACE is not None}
    shown = [n for n, v in there.items() if is_requested or not hasattr(v, "ON_REQUEST")]
    return {n: there[n] for n in sorted(shown, key=lambda n: (there[n].PLACE, n))}
