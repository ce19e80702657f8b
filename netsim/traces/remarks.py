"""Remarks on files that were read: how far they reach, what was left aside.

Readers note it while a world is made; a caller that needs it runs them inside `collect_remarks`.
"""

import re
from collections.abc import Iterator, Sequence, Set
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import combinations

from netsim.traces.context_notes import collecting
from netsim.traces.files import Text, is_comment, parse_number

SHOWN_COLUMNS = 5
"""So many columns that nothing reads are named."""

_CELLS = re.compile(r"[,;\s]\s*")
"""Between the cells of a row, in any format."""

LEAST_COVERED = 0.1
"""A file whose rows lie in less of a run than this share is remarked on."""


@dataclass(frozen=True)
class PlayedSpan:
    """A file of rows by time, and when of it a run begins.

    Attributes
    ----------
    where : str
        `[table] key = "path"`.
    first_s, last_s : float
        Times of its first and last row, in the file.
    begins_s : float
        Time of the file at which the run begins.
    said : bool
        Whether the scenario says so.
    clear : bool
        Whether there is no doubt that its first row is meant.
    beyond : str
        What is played after the last row: a clause with a subject.
    speedup : float
        Seconds of the file in one of the run.
    repeats : bool
        Whether it starts anew after the last row.
    """

    where: str
    first_s: float
    last_s: float
    begins_s: float
    said: bool
    clear: bool
    beyond: str
    speedup: float = 1.0
    repeats: bool = False

    def remarks(self, horizon_s: float) -> list[str]:
        """Sentences about a run of this length that the file hardly covers, or may begin amid."""
        first_s = (self.first_s - self.begins_s) / self.speedup
        last_s = (self.last_s - self.begins_s) / self.speedup
        found = []
        if not (self.said or self.clear) and 0.0 < self.first_s <= horizon_s:
            found.append(
                f"{self.where}: its first row, at {self.first_s:g} s, is played when the run "
                "begins; if the file counts from there, set start_s = 0"
            )
        covered_s = max(0.0, min(last_s, horizon_s) - max(first_s, 0.0))
        inside = first_s <= horizon_s and last_s >= 0.0
        still = inside and self.first_s == self.last_s  # one instant: it says what is, not when
        repeats = self.repeats and first_s <= 0.0
        if not still and not repeats and covered_s < LEAST_COVERED * horizon_s:
            rows = "rows" if inside else "no row"
            found.append(
                f"{self.where}: has {rows} for {covered_s:.4g} s of the run's {horizon_s:g} s: "
                f"it tells of {self.first_s:.12g} to {self.last_s:.12g} s, and the run begins at "
                f"{self.begins_s:.12g} s of that (start_s); beyond its rows {self.beyond}"
            )
        return found


@dataclass
class Notes:
    """Notes of the readers of files.

    Attributes
    ----------
    played : dict of PlayedSpan to None
        In the order of reading.
    said : dict of str to None
        Sentences.
    ids : dict of str to tuple of str
        Of a table, such as `mobility`: what its file calls the nodes 0, 1, ...
    columns : dict of str to (sequence of str, set of str)
        By file: its columns, and those of them that have been read so far.
    """

    played: dict[PlayedSpan, None] = field(default_factory=dict)
    said: dict[str, None] = field(default_factory=dict)
    ids: dict[str, tuple[str, ...]] = field(default_factory=dict)
    columns: dict[str, tuple[Sequence[str], Set[str]]] = field(default_factory=dict)

    def remarks(self, horizon_s: float) -> list[str]:
        """All of it that a user should know before reading the numbers of a run.

        Parameters
        ----------
        horizon_s : float
            How long the run lasts.

        Returns
        -------
        list of str
            Sentences without a full stop, each once.
        """
        covered = [text for played in self.played for text in played.remarks(horizon_s)]
        unread = self._unread_columns()
        return list(dict.fromkeys([*covered, *self._of_one_clock(horizon_s), *unread, *self.said]))

    def _unread_columns(self) -> Iterator[str]:
        """Remarks on columns of users' tables that nothing has read."""
        for where, (names, read) in self.columns.items():
            left = [name or "the one without a name" for name in names if name not in read]
            if left:
                shown = ", ".join(left[:SHOWN_COLUMNS]) + (", ..." if left[SHOWN_COLUMNS:] else "")
                known = ", ".join(name for name in names if name in read)
                yield f"{where}: left aside are its columns {shown}; read are {known}"

    def _of_one_clock(self, horizon_s: float) -> Iterator[str]:
        """Remarks on files that may count from one instant, such as 1970, and begin at others."""
        free = [p for p in self.played if not p.said and p.first_s > horizon_s]
        for one, other in combinations({played.where: played for played in free}.values(), 2):
            meet = one.first_s <= other.last_s and other.first_s <= one.last_s
            if meet and one.begins_s != other.begins_s:
                yield (
                    f"{one.where} is played from {one.begins_s:.12g} s on, its first row, and "
                    f"{other.where} from {other.begins_s:.12g} s on; if they tell of the same "
                    "time, set start_s of both"
                )


_notes: ContextVar[Notes | None] = ContextVar("notes of traces", default=None)


def collect_remarks() -> AbstractContextManager[Notes]:
    """Collect what is noted inside the `with` block."""
    return collecting(_notes, Notes())


def note_played(played: PlayedSpan) -> None:
    """Record the part of a file that a run plays."""
    notes = _notes.get()
    if notes is not None:
        notes.played[played] = None


def note_columns(where: str, names: Sequence[str], read: Set[str]) -> None:
    """Record the columns of a user's table.

    Parameters
    ----------
    where : str
        The beginning of what is told of the file.
    names : sequence of str
    read : set of str
        Those that have been read; it grows while others are.
    """
    notes = _notes.get()
    if notes is not None:
        notes.columns[where] = names, read


def note_remark(text: str) -> None:
    """Note a sentence, such as that something of a file was left aside."""
    notes = _notes.get()
    if notes is not None:
        notes.said[text] = None


def note_commented(text: Text) -> None:
    """Note lines that are comments by their first sign, and have the form of the row before."""
    row: list[bool] = []
    found = list[int]()
    for at, line in enumerate(text.content.splitlines(), start=1):
        cells = [
            parse_number(cell) is not None
            for cell in _CELLS.split(line.strip().lstrip("#%").strip())
        ]
        if not is_comment(line):
            row = cells
        elif line.strip() and any(cells) and cells == row:
            found.append(at)
    if found:
        more = f" (as do {len(found) - 1} more lines)" if len(found) > 1 else ""
        note_remark(
            f"{text.where}: line {found[0]} begins as a comment, and so is left out, though it has "
            f"the form of the row before it{more}"
        )


def note_none(where: str, share: float, nodes: int, what: str) -> None:
    """Note that a share of the nodes is rounded to none of them.

    Parameters
    ----------
    where : str
        `[table] key`.
    share : float
    nodes : int
        How many it is a share of.
    what : str
        What none of them is.
    """
    note_remark(f"{where} = {share:g}: of {nodes} nodes that is less than one: none is {what}")


def note_left_out(where: str, what: str, known: int, nodes: int, how: str) -> None:
    """Note that a file has more of something than there are nodes to stand for it.

    Parameters
    ----------
    where : str
        The beginning of what is told of the file.
    what : str
        In the plural.
    known : int
        How many it has.
    nodes : int
        How many of them are played.
    how : str
        Which ones these are.
    """
    if known > nodes:
        note_remark(
            f"{where}: {nodes} of its {known} {what} are played, {how}; the other {known - nodes} "
            "are left out, with all that the file says of them"
        )


def note_ids(table: str, ids: Sequence[str]) -> None:
    """Note what a table's file calls the nodes 0, 1, ..."""
    notes = _notes.get()
    if notes is not None:
        notes.ids[table] = tuple(ids)


def note_other_ids(table: str, ids: Sequence[str]) -> None:
    """Note what a table's file calls the nodes, unless it gives each its number or nothing."""
    if any(name not in ("", str(node)) for node, name in enumerate(ids)):
        note_ids(table, ids)
