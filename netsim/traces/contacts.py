"""Contact traces: which pairs of nodes were in contact when."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from netsim.traces.files import Text, fields, is_comment, number

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


class Meetings:
    """When pairs of nodes are in contact, as a function of time.

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
        """For how long a pair stays in contact from an instant on.

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


def read_contacts(text: Text, columns: Sequence[str], sample_s: float) -> Spans:
    """Read a contact trace.

    Parameters
    ----------
    text : Text
        Lines `t i j` (SocioPatterns: in contact from `t - sample_s` to `t`), `i j start end`, or
        `t CONN i j up|down` (the ONE simulator's), by white space or commas; what stands behind
        is not read.
    columns : sequence of str
        What the columns are, of `COLUMNS` ("_" is not read); none: from a header, else four
        columns of numbers are `i j start end` and all else `t i j`.
    sample_s : float
        How long a line `t i j` stands for.

    Raises
    ------
    DataError
        Naming the line.
    """
    rows = [
        (at, fields(line))
        for at, line in enumerate(text.content.splitlines(), start=1)
        if not is_comment(line)
    ]
    if not rows:
        raise text.wrong("holds no contact")
    if len(rows[0][1]) > 1 and rows[0][1][1].upper() == "CONN":
        found = dict(_merged(_switched(text, rows)))
    else:
        order, header = (tuple(columns), False) if columns else _order(rows[0][1])
        if header or (columns and number(rows[0][1][_timed(order)]) is None):
            rows = rows[1:]
        found = dict(_merged(_sampled(text, rows, order, sample_s)))
    if not found:
        raise text.wrong("holds no contact")
    return found


def _timed(order: Sequence[str]) -> int:
    return order.index("t") if "t" in order else order.index("start")


def _order(first: list[str]) -> tuple[tuple[str, ...], bool]:
    """What the columns are, and whether the first line is a header that says so."""
    words = [word.lower().strip('"') for word in first]
    named = [next((c for c, known in _HEADERS.items() if w in known), "_") for w in words]
    if {"i", "j"} <= set(named) and ("t" in named or {"start", "end"} <= set(named)):
        return tuple(named), True
    if len(first) == 4 and all(number(word) is not None for word in first):
        return ("i", "j", "start", "end"), False
    return ("t", "i", "j"), False


def _sampled(
    text: Text, rows: list[tuple[int, list[str]]], order: Sequence[str], sample_s: float
) -> Iterator[tuple[str, str, float, float]]:
    width = max(k for k, name in enumerate(order) if name != "_") + 1
    place = {name: order.index(name) for name in order if name != "_"}
    for at, words in rows:
        if len(words) < width:
            raise text.wrong(
                f'"{" ".join(words)[:60]}" has {len(words)} columns, {" ".join(order)} needs '
                f"{width}; say what they are with columns",
                at,
            )
        value = {name: words[k] for name, k in place.items()}
        if "t" in place:
            end = _time(text, value["t"], at, place["t"])
            start = end - sample_s
        else:
            start = _time(text, value["start"], at, place["start"])
            end = _time(text, value["end"], at, place["end"])
            if end < start:
                raise text.wrong(f"the contact ends at {end:g}, before it starts at {start:g}", at)
        yield (*_pair(text, value["i"], value["j"], at), start, end)


def _switched(
    text: Text, rows: list[tuple[int, list[str]]]
) -> Iterator[tuple[str, str, float, float]]:
    up: dict[tuple[str, str], float] = {}
    last = 0.0
    for at, words in rows:
        if len(words) < 5 or words[4].lower() not in ("up", "down"):
            raise text.wrong(f'"{" ".join(words)[:60]}" is not "time CONN i j up" or "down"', at)
        last, pair = _time(text, words[0], at, 0), _pair(text, words[2], words[3], at)
        if words[4].lower() == "up":
            up.setdefault(pair, last)
        elif pair in up:
            yield (*pair, up.pop(pair), last)
    for pair, start in up.items():
        yield (*pair, start, last)


def _time(text: Text, word: str, at: int, column: int) -> float:
    value = number(word)
    if value is None or not abs(value) < float("inf"):
        raise text.wrong(f'column {column + 1} is "{word}", not a time in seconds', at)
    return value


def _pair(text: Text, i: str, j: str, at: int) -> tuple[str, str]:
    if i == j:
        raise text.wrong(f"{i} is in contact with itself; take the line out", at)
    return (i, j) if i < j else (j, i)


def _merged(
    contacts: Iterator[tuple[str, str, float, float]],
) -> Iterator[tuple[tuple[str, str], list[tuple[float, float]]]]:
    """Spans by pair; those that touch or overlap are one."""
    by_pair: Spans = {}
    for i, j, start, end in contacts:
        if end > start:
            by_pair.setdefault((i, j), []).append((start, end))
    for pair, spans in by_pair.items():
        spans.sort()
        joined = [spans[0]]
        for start, end in spans[1:]:
            if start <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        yield pair, joined
