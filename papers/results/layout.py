"""Tables in Markdown that are no wider than a page, and columns named in a sentence.

The name of a column may begin with its group, as `MNIST, Sc. 1` with `MNIST`. A table that is too
wide is split into one a group, where there are groups, and else after so many columns.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from papers.results.tables import Column

WIDEST = 8
"""Columns with numbers that a table may have."""


@dataclass(frozen=True)
class Head:
    """The head of a column: the name of the table's column, and which of its numbers it is."""

    column: str
    word: str = ""

    @property
    def group(self) -> str:
        """The first part of the name; empty if it has but one."""
        return group_of(self.column)

    @property
    def text(self) -> str:
        """All of it."""
        return ", ".join(filter(None, (self.column, self.word)))

    @property
    def short(self) -> str:
        """Return the rest of a name where the group is shown elsewhere."""
        return self.text.removeprefix(f"{self.group}, ")


Line = tuple[str, Sequence[str]]
"""The name of a line, and a cell a head."""


def group_of(name: str) -> str:
    """The group of a column; empty if it has none."""
    first, comma, _ = name.partition(", ")
    return first if comma else ""


def tables(title: str, after: str, heads: Sequence[Head], lines: Sequence[Line]) -> Iterator[str]:
    """A table, or several where it is too wide.

    Parameters
    ----------
    title, after : str
        Above each: the title in bold, with the group, and what follows it.
    heads : sequence of Head
    lines : sequence of (str, sequence of str)
    """
    if not heads or not lines:
        return
    for group, places in _parts(heads):
        told = ": ".join(filter(None, (title, group)))
        yield from (f"**{told}**{' ' if after else ''}{after}", "")
        shown = [heads[i].short if group else heads[i].text for i in places]
        yield from rows(
            ["", *shown], ([name, *(cells[i] for i in places)] for name, cells in lines)
        )


def _parts(heads: Sequence[Head]) -> Iterator[tuple[str, list[int]]]:
    """The groups of a table that is too wide, or "" for all, and the places of their heads."""
    places = list(range(len(heads)))
    if len(heads) <= WIDEST:
        yield "", places
        return
    for group, some in groupby(places, key=lambda i: heads[i].group):
        own = list(some)
        for first in range(0, len(own), WIDEST):
            yield group, own[first : first + WIDEST]


def rows(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown and the empty line after it."""
    yield _line(heads)
    yield _line(["---"] * len(heads))
    yield from map(_line, lines)
    yield ""


def _line(parts: Iterable[str]) -> str:
    return "| " + " | ".join(parts) + " |"


def named(some: Iterable[Column], columns: Sequence[Column]) -> str:
    """Columns in a sentence: `MNIST, SVHN (Sc. 1, Sc. 3)` where all of MNIST are among them.

    Parameters
    ----------
    some : iterable of Column
    columns : sequence of Column
        All that there are.
    """
    told = []
    for group, members in groupby([c.name for c in some], key=group_of):
        own = list(members)
        everyone = [c.name for c in columns if group_of(c.name) == group]
        if not group or len(own) == len(everyone) == 1:
            told += own
        elif own == everyone:
            told.append(group)
        else:
            told.append(f"{group} ({', '.join(n.removeprefix(f'{group}, ') for n in own)})")
    return ", ".join(told)
