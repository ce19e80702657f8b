"""Contact traces: which pairs of nodes were in contact when."""

import csv
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.traces.csv_columns import SECONDS, plain_name
from netsim.traces.files import Text, is_comment, parse_number, quote, split_columns
from netsim.traces.moments import is_time_of_day, parse_moment, require_seconds
from netsim.traces.remarks import note_commented, note_remark

Spans = dict[tuple[str, str], list[tuple[float, float]]]
"""For each pair of ids, in order, its spans of contact [s]: sorted, disjoint."""

COLUMNS = ("t", "i", "j", "start", "end", "_")
_HEADERS = {
    "t": ("t", "time", "timestamp", "contact_time"),
    "i": ("i", "id1", "user1", "source", "person1"),
    "j": ("j", "id2", "user2", "target", "person2"),
    "start": ("start", "begin", "t_start"),
    "end": ("end", "stop", "t_end"),
}
_KONECT = re.compile(r"%\s+(?:sym|asym|bip)\s+(\w+)")
"""First line of a file of konect.cc: its format, and the meaning of its weights."""


_DATE_AND_TIME = re.compile(r"\b(\d{4}-\d\d-\d\d) (\d\d?:\d\d)")


class Meetings:
    """Contact times of pairs of nodes, as a function of time.

    A contact holds from its first nanosecond to just before its last.

    Parameters
    ----------
    nodes : int
    spans_ns : dict of (int, int) to list of (int, int)
        For each pair i < j its spans (start, end) of contact [ns]: sorted, disjoint.
    """

    def __init__(self, nodes: int, spans_ns: dict[tuple[int, int], list[tuple[int, int]]]) -> None:
        self._spans = spans_ns
        self._starts = {pair: [s for s, _ in spans] for pair, spans in spans_ns.items()}
        changes: list[list[tuple[int, int, int]]] = [[] for _ in range(nodes)]
        for (i, j), spans in spans_ns.items():
            for start, end in spans:
                for a, b in ((i, j), (j, i)):
                    changes[a] += [(start, 1, b), (end, 0, b)]
        self._times: list[list[int]] = []
        self._peers: list[list[tuple[int, ...]]] = []
        for mine in changes:
            mine.sort()
            times, peers, now = [0], list[tuple[int, ...]]([()]), set[int]()
            for time_ns, joins, other in mine:
                (now.add if joins else now.discard)(other)
                if time_ns > times[-1]:
                    times.append(time_ns)
                    peers.append(())
                peers[-1] = tuple(sorted(now))
            self._times.append(times)
            self._peers.append(peers)

    def peers(self, node: int, time_ns: int) -> tuple[int, ...]:
        """Ids of the nodes in contact with a node at an instant, ascending."""
        return self._peers[node][bisect_right(self._times[node], time_ns) - 1]

    def left_ns(self, i: int, j: int, time_ns: int) -> int:
        """Return the time [ns] for which a pair stays in contact from an instant on.

        Parameters
        ----------
        i, j : int
            In any order.
        time_ns : int

        Returns
        -------
        int
            In ns; 0: it is not in contact.
        """
        pair = (i, j) if i < j else (j, i)
        at = bisect_right(self._starts.get(pair, ()), time_ns) - 1
        return max(0, self._spans[pair][at][1] - time_ns) if at >= 0 else 0

    def neighbours(self) -> list[tuple[int, ...]]:
        """The nodes that each node is ever in contact with, as `Topology.neighbours` has them."""
        found: list[set[int]] = [set() for _ in self._peers]
        for i, j in self._spans:
            found[i].add(j)
            found[j].add(i)
        return [tuple(sorted(peers)) for peers in found]


def read_contacts(text: Text, columns: Sequence[str], sample_s: float, said: bool = True) -> Spans:
    """Read a contact trace.

    Parameters
    ----------
    text : Text
        Lines `t i j` (SocioPatterns: in contact from `t - sample_s` to `t`), `i j start end`, or
        `t CONN i j up|down` (the ONE simulator's), by white space, commas or semicolons; what
        stands behind is not read. Or Konect's `i j weight t`, whose first line begins with
        `% sym` or the like.
    columns : sequence of str
        What the columns are, of `COLUMNS` ("_" is not read); none: from a header, else four
        columns of numbers are `i j start end` and all else `t i j`, if no other order fits.
    sample_s : float
        How long a line `t i j` stands for.
    said : bool
        Whether the scenario says so; else it is remarked on where the file's times are in other
        steps.

    Raises
    ------
    DataError
        Naming the line, or what the columns may be if that is not certain.
    """
    lines = list(enumerate(text.content.splitlines(), start=1))
    rows = [(at, _fields(line)) for at, line in lines if not is_comment(line)]
    note_commented(text)
    if not rows:
        raise text.error("holds no contact")
    if any(len(words) > 4 and words[1].upper() == "CONN" for _, words in rows):
        found = dict(_merge_spans(text, _switched_contacts(text, rows)))
    else:
        order, units = _order(text, lines[0][1], rows, columns, sample_s)
        if units:
            rows = rows[1:]
        lines_s = list(_sampled_contacts(text, rows, order, units, sample_s))
        if "t" in order and not said:
            _note_other_steps(text, {end for *_, end in lines_s}, sample_s)
        found = dict(_merge_spans(text, iter(lines_s)))
    if not found:
        raise text.error("holds no contact that lasts")
    return found


def _fields(line: str) -> list[str]:
    """The columns of a line; a date and a time of day are one, a name with blanks is one, too."""
    line = _DATE_AND_TIME.sub(r"\1T\2", line)
    for separator in ";\t,":
        if separator in line:
            cells = _split_quoted(line, separator) if '"' in line else line.split(separator)
            cells = [cell.strip() for cell in cells]
            words = [cell.split() for cell in cells]
            # blanks between numbers separate them, in files that have tabs or commas, too
            if len(cells) > 2 and not any(
                len(some) > 1 and all(parse_number(word) is not None for word in some)
                for some in words
            ):
                return cells
    if '"' in line:
        return [cell for cell in _split_quoted(line.replace(",", " "), " ") if cell]
    return split_columns(line)


def _split_quoted(line: str, separator: str) -> list[str]:
    return next(csv.reader([line.strip()], delimiter=separator, skipinitialspace=True))


def _order(
    text: Text,
    first_line: str,
    rows: list[tuple[int, list[str]]],
    columns: Sequence[str],
    sample_s: float,
) -> tuple[tuple[str, ...], dict[str, float]]:
    """Names of the columns and unit of times by a header; empty: there is none."""
    at, first = rows[0]
    named, units = _order_by_header(first)
    if columns:
        names = tuple(columns)
        timed = names.index("t" if "t" in names else "start")
        header = timed < len(first) and parse_moment(first[timed]) is None
        own = dict.fromkeys(COLUMNS, 1.0) | {
            name: _unit(first[k])[1] for k, name in enumerate(names) if k < len(first)
        }
        return names, own if header else {}
    if units:
        return named, units
    konect = _KONECT.match(first_line)
    if konect is not None:
        if first_line.split()[1] == "bip":
            raise text.error(
                "is Konect's bipartite graph: both sides have the same numbers; give each its own "
                "ids"
            )
        if konect[1] == "dynamic" or len(first) < 4:
            raise text.error(
                "is a graph of Konect whose lines do not tell when two met; lines i j weight time "
                "do"
            )
        return ("i", "j", "_", "t"), {}
    if all(parse_moment(word) is None for word in (first[0], *first[2:4])):
        raise text.error(
            "it holds names of columns that are not known; call them t, i, j or i, j, start, end, "
            "or say what they are with columns",
            at,
        )
    four = len(first) == 4 and all(parse_number(word) is not None for word in first)
    return _likely_order(text, rows, four, sample_s), {}


def _unit(word: str) -> tuple[str, float]:
    """Name of a column in small letters without its unit, and the unit [s]: `t_ms`, `t [ms]`."""
    whole = plain_name(word)
    stem, _, end = whole.rpartition("_")
    return (stem, SECONDS[end]) if stem and end in SECONDS else (whole, 1.0)


def _order_by_header(first: list[str]) -> tuple[tuple[str, ...], dict[str, float]]:
    """Names that a header gives the columns, and the unit of times; empty: it is no header."""
    names, units = [], dict[str, float]()
    for word in first:
        called, unit = _unit(word)
        name = next((c for c, known in _HEADERS.items() if called in known), "_")
        if name in names:
            name = "_"
        names.append(name)
        units[name] = unit
    known = {"i", "j"} <= set(names) and ("t" in names or {"start", "end"} <= set(names))
    return tuple(names), units if known else {}


def _likely_order(
    text: Text, rows: list[tuple[int, list[str]]], four: bool, sample_s: float
) -> tuple[str, ...]:
    """`i j start end` or `t i j`, whichever a file without a header is.

    Raises
    ------
    DataError
        If it may be something else.
    """
    remedy = "say which with columns"
    if four:
        starts, ends = _column(rows, 2), _column(rows, 3)
        if len(rows) > 1 and starts.max() < ends.min() and starts.any():
            raise text.error(
                "its lines may be i j start end, and then all are in contact at once, or i j "
                f'weight time; {remedy}, as in columns = ["i", "j", "_", "t"]'
            )
        first = _column(rows, 0)
        if _in_steps(first, sample_s) and (np.diff(first) >= 0).all():
            raise text.error(f"its lines may be i j start end, or t i j and a number; {remedy}")
        if len(rows) > 1 and _spans_first(*(_column(rows, k) for k in range(4))):
            raise text.error(
                f"its lines may be i j start end or start end i j; {remedy}, as in columns = "
                '["start", "end", "i", "j"]'
            )
        return ("i", "j", "start", "end")
    first, third = _column(rows, 0), _column(rows, 2)
    if np.isnan(first).any():  # which is told with its line
        return ("t", "i", "j")
    by_steps, other_by_steps = (_in_steps(column, sample_s) for column in (first, third))
    ascends, other_ascends = (bool((np.diff(c) >= 0).all()) for c in (first, third))
    if by_steps == other_by_steps:  # then the one that ascends are the times
        by_steps, other_by_steps = ascends and first[0] < first[-1], other_ascends
    if not by_steps or other_by_steps:
        if len(rows[0][1]) > 4 and (third <= _column(rows, 3)).all():
            raise text.error(
                f"its lines may be i j start end, t i j or i j t; {remedy}, as in columns = "
                '["i", "j", "start", "end"]'
            )
        raise text.error(
            f'its lines may be t i j or i j t; {remedy}, as in columns = ["i", "j", "t"]'
        )
    return ("t", "i", "j")


def _spans_first(
    a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64], d: NDArray[np.float64]
) -> bool:
    """Return whether four columns may be start, end, i, j.

    Ids come again, on either side, and times don't.
    """
    spans, pairs = ({*a.tolist()}, {*b.tolist()}), ({*c.tolist()}, {*d.tolist()})
    return bool(
        (a <= b).all()
        and (np.diff(a) >= 0).all()
        and (c != d).all()
        and pairs[0] & pairs[1]
        and not spans[0] & spans[1]
        and len(spans[0] | spans[1]) > len(pairs[0] | pairs[1])
    )


def _column(rows: list[tuple[int, list[str]]], k: int) -> NDArray[np.float64]:
    """A column as numbers, NaN where there is none, (rows,)."""
    cells = [words[k] if len(words) > k else "nan" for _, words in rows]
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        return np.array([math.nan if (x := parse_moment(cell)) is None else x for cell in cells])


def _in_steps(values: NDArray[np.float64], step_s: float) -> bool:
    """Return whether values are times in steps of so long, in any order."""

    def are_multiples(times: NDArray[np.float64]) -> bool:
        steps = times / step_s
        return bool(times.any() and (np.abs(steps - np.round(steps)) < 1e-6).all())

    return are_multiples(values) or are_multiples(values - values[0])


def _sampled_contacts(
    text: Text,
    rows: list[tuple[int, list[str]]],
    order: Sequence[str],
    units: dict[str, float],
    sample_s: float,
) -> Iterator[tuple[str, str, float, float]]:
    width = max(k for k, name in enumerate(order) if name != "_") + 1
    place = {name: order.index(name) for name in order if name != "_"}

    last_s = -math.inf

    def time_s(name: str, words: list[str], at: int) -> float:
        nonlocal last_s
        word, column = words[place[name]], f"column {place[name] + 1}"
        found = require_seconds(text, word, at, column, units.get(name, 1.0))
        if name != "end" and ":" in word and is_time_of_day(word):
            if found < last_s:
                raise text.error(f"{column} falls to {quote(word)}; times of day need dates", at)
            last_s = found
        return found

    for at, words in rows:
        if len(words) < width:
            raise text.error(
                f"has {len(words)} columns, {' '.join(order)} needs {width}; say what they are "
                "with columns",
                at,
            )
        if "t" in place:
            end = time_s("t", words, at)
            start = end - sample_s
        else:
            start, end = time_s("start", words, at), time_s("end", words, at)
            if end < start:
                raise text.error(
                    f"the contact ends at {end:g}, before it starts at {start:g}; if the columns "
                    "are others, say which with columns",
                    at,
                )
        yield (*_pair(text, words[place["i"]], words[place["j"]], at), start, end)


def _note_other_steps(text: Text, times_s: set[float], sample_s: float) -> None:
    """Remark on samples that are not as far apart as each of them is taken to last."""
    steps = np.diff(np.sort(np.fromiter(times_s, dtype=np.float64)))
    if len(steps) and abs(steps.min() - sample_s) > 1e-6 * sample_s:
        least_s = float(steps.min())
        seen = "end in between" if least_s > sample_s else "last longer than they were seen"
        note_remark(
            f"{text.where}: its times are {least_s:g} s apart or more, and each line counts as "
            f"{sample_s:g} s of contact, so that contacts {seen}; if it was sampled every "
            f"{least_s:g} s, set sample_s = {least_s:g}, else say how long a line lasts"
        )


def _switched_contacts(
    text: Text, rows: list[tuple[int, list[str]]]
) -> Iterator[tuple[str, str, float, float]]:
    up: dict[tuple[str, str], float] = {}
    last, strays = -math.inf, 0
    for at, words in rows:
        if len(words) < 5 or words[1].upper() != "CONN" or words[4].lower() not in ("up", "down"):
            raise text.error('is not "time CONN i j up" or "down"', at)
        time_s = require_seconds(text, words[0], at, "column 1")
        if time_s < last:
            raise text.error(f"{time_s:.12g} s comes after {last:.12g} s; sort by time", at)
        last, pair = time_s, _pair(text, words[2], words[3], at)
        if words[4].lower() == "up":
            up.setdefault(pair, last)
        elif pair in up:
            yield (*pair, up.pop(pair), last)
        else:
            strays += 1
    if strays:
        note_remark(
            f"{text.where}: left aside are {strays:,} lines with down of pairs that are not up"
        )
    if up:
        note_remark(
            f"{text.where}: {len(up):,} contacts have no end; they end with the file, at {last:g} s"
        )
    for pair, start in up.items():
        yield (*pair, start, last)


def _pair(text: Text, i: str, j: str, at: int) -> tuple[str, str]:
    if not i or not j:
        raise text.error("an id is empty", at)
    if i == j:
        raise text.error(f"{quote(i)} is in contact with itself; take the line out", at)
    nobody = next((name for name in (i, j) if re.fullmatch(r"-\d+", name)), None)
    if nobody is not None:
        raise text.error(
            f"{quote(nobody)} is the id of a person, and may mean that nobody was seen, or nobody "
            "who is known; take the line out, or give the person another id",
            at,
        )
    return (i, j) if i < j else (j, i)


def _merge_spans(
    text: Text, contacts: Iterator[tuple[str, str, float, float]]
) -> Iterator[tuple[tuple[str, str], list[tuple[float, float]]]]:
    """Spans by pair; those that touch or overlap are one."""
    by_pair: Spans = {}
    instants = 0
    for i, j, start, end in contacts:
        instants += end <= start
        if end > start:
            by_pair.setdefault((i, j), []).append((start, end))
    if instants:
        note_remark(f"{text.where}: left aside are {instants:,} contacts that last for no time")
    for pair, spans in by_pair.items():
        spans.sort()
        joined = [spans[0]]
        for start, end in spans[1:]:
            if start <= joined[-1][1] + 4 * math.ulp(joined[-1][1]):  # apart by rounding at most
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        yield pair, joined
