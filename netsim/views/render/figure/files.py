"""A figure with the numbers that are drawn in it, and the files that hold them."""

import re
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from netsim.errors import one_line
from netsim.recording.csv_files import csv_text
from netsim.recording.whole_files import write_text
from netsim.views import Row
from netsim.views.gathering.numbers import cell_text
from netsim.views.render.figure import style as plot_style

_MARKED = re.compile(r"[|`]|\](?=[(\[:])")
"""Signs of Markdown that end a cell, begin code, or make a link of what is in brackets."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A figure and its numbers."""

    figure: Figure
    rows: list[Row]
    """Every number that is drawn, in SI units and shares in [0, 1]; columns by name."""
    short: list[Row]
    """The few that a text cites, in the units of the axes."""
    about: str
    """The meaning of lines and bands; it stands in the figure, too."""


def output_paths(path: Path, with_table: bool) -> list[Path]:
    """The files that `write` makes: the figure, its numbers as CSV, and a table if wanted."""
    return [path, path.with_suffix(".csv"), *([path.with_suffix(".md")] if with_table else [])]


def write(drawn: Drawn, path: Path, form: str, with_table: bool) -> list[Path]:
    """Write a figure and its numbers beside it, and return the files, the figure first.

    Parameters
    ----------
    path : Path
        Of the figure.
    form : {"pdf", "svg", "png"}
    with_table : bool
        Whether also the short table, as Markdown.

    Raises
    ------
    FolderError
        If a file can't be written.
    """
    files = output_paths(path, with_table)
    plot_style.save(drawn.figure, path, form, plot_style.PAPER_DPI)
    write_text(files[1], csv_text(drawn.rows))
    if with_table:
        write_text(files[2], markdown(drawn))
    return files


def markdown(drawn: Drawn) -> str:
    """The short table and what its numbers are."""
    columns = list(dict.fromkeys(name for row in drawn.short for name in row))
    lines = [[escape_markdown(name) for name in columns], ["---"] * len(columns)]
    lines += [
        [escape_markdown(cell_text(row.get(name))) for name in columns] for row in drawn.short
    ]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"{table}\n\n{escape_markdown(drawn.about)}\n"


def escape_markdown(text: str) -> str:
    """A text from outside as it may stand in Markdown: no link, no tag, no other cell."""
    return _MARKED.sub(r"\\\g<0>", one_line(text)).replace("<", "&lt;")
