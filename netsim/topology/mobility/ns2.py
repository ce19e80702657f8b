r"""Movement files of ns-2, as CMU's `setdest` and many other tools write them.

    $node_(0) set X_ 12.5 ; $node_(0) set Y_ 40.0
    $ns_ at 3.0 "$node_(0) setdest 80.0 40.0 1.5"

A node starts at its X_ and Y_. At the time of a `setdest` it turns, wherever it is, and goes
straight to the place that is named at the speed that is named [m/s]; arrived, it stands. Speed 0
stops it. `$ns_ at T "$node_(0) set X_ V"` puts it there at once. The variable of the nodes may have
any name, and its number stands in parentheses or at its end (`$n0`). A run names all other lines,
which have no effect; nothing is executed, so movements in loops and procedures are refused. Times
in s, places in m.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.registry import FilePath, did_you_mean
from netsim.rng import Streams
from netsim.topology.mobility import Mobility, Track
from netsim.topology.mobility._from_file import Leg, Start, ways_in_metres
from netsim.traces.files import Text, parse_number, quote, read_text
from netsim.traces.node_ids import require_known
from netsim.traces.remarks import note_remark
from netsim.traces.tcl import Word, statements

_NODE = re.compile(r"\$(?:([A-Za-z_]\w*)\((\d{1,9})\)|([A-Za-z_](?:\w*[A-Za-z_])?)(\d{1,9}))")
_MOVES = re.compile(r"\bsetdest\b|\bset\s+[XY]_")
_HOW = "write every movement as a statement of its own; nothing is executed"

_Order = tuple[float, int, str, list[float]]
"""Time [s], running number, "X", "Y" or "to", and the values."""


class Ns2(Mobility):
    """Nodes as an ns-2 movement file moves them, by their numbers in it.

    Nodes that the file does not name stay where they are placed; nodes of the file beyond the last
    node of the scenario are not used.

    Attributes
    ----------
    path : str
        The movement file; `.gz` is unpacked.
    start_s : float, optional
        Time of the file at which the run starts. Absent: 0, at which X_ and Y_ hold.
    """

    kind: Literal["ns2"] = "ns2"
    path: FilePath
    start_s: Start = None

    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> Track | None:
        text = read_text(self.path, folder, "mobility")
        file = _File(text)
        file.read("\n".join(text.content.splitlines()))
        if not file.numbers:
            raise text.error(
                "holds no line of a node, such as $node_(0) set X_ 1.0"
                + (
                    f"; it has {ignored}"
                    if (ignored := file.ignored_statements(file.of_nodes))
                    else ""
                )
            )
        require_known(text, list(file.numbers), len(start_m))
        if file.left:
            note_remark(f"{text.where}: left aside are {file.ignored_statements()}")
        found = [file.legs(node) for node in range(len(start_m))]
        return ways_in_metres(text, found, start_m, self.start_s, file.words)


class _File:
    """Movements that the statements of a file describe."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self.numbers: dict[int, str] = {}
        self.left: Counter[str] = Counter()
        self.of_nodes: set[str] = set()
        self.words: list[str] = []
        self._starts: dict[int, dict[str, float]] = {}
        self._orders: dict[int, list[_Order]] = {}

    def ignored_statements(self, of: Set[str] | None = None) -> str:
        """Ignored statements and their counts, as text; `of`: of these alone."""
        left = [one for one in self.left.most_common() if of is None or one[0] in of]
        shown = ", ".join(f"{quote(what)} ({count})" for what, count in left[:6])
        return shown + (" and more" if len(left) > 6 else "")

    def read(self, script: str, line: int = 1, time_s: float | None = None) -> None:
        """Take in a script, or what is to happen at a time."""
        for words in statements(self._text, script, line):
            node = _NODE.fullmatch(words[0].text)
            if node is not None and len(words) > 1 and words[1].text in ("set", "setdest"):
                self._read_order(node, words, time_s)
            elif time_s is None and len(words) > 2 and words[1].text == "at":
                self._read_scheduled(words)
            else:
                self._ignore(words)

    def _read_scheduled(self, words: list[Word]) -> None:
        """Read a statement `$ns_ at T SCRIPT`."""
        script = " ".join(word.text for word in words[3:])
        if not _MOVES.search(script):
            for inner in statements(self._text, script, words[3].line) if len(words) > 3 else ():
                self._require_known(inner)
            self.left[f"{words[0].text} at"] += 1
            return
        at = words[0].line
        time_s = self._number(words[2].text, "time", at)
        if time_s < 0:
            raise self._text.error(f"the time {time_s:g} s is before 0", at)
        self.read(script, words[3].line, time_s)

    def _ignore(self, words: list[Word]) -> None:
        if any(_MOVES.search(text) for text in _texts(words)):
            raise self._text.error(
                f"{quote(words[0].text)} moves nodes in it; {_HOW}", words[0].line
            )
        self._require_known(words)
        verb = words[1].text if len(words) > 1 else ""
        name = re.sub(r"\d+", "i", words[0].text)
        what = f"{name} {verb}" if name.startswith("$") else name
        self.left[what] += 1
        if _NODE.fullmatch(words[0].text):
            self.of_nodes.add(what)

    def _require_known(self, words: list[Word]) -> None:
        """Raise DataError if a node is told something that may be a misspelt `setdest`."""
        verb = words[1].text if len(words) > 1 else ""
        close = did_you_mean(verb.lower(), ("setdest",))
        if close and _NODE.fullmatch(words[0].text):
            raise self._text.error(f"a node can't {quote(verb)}{close}", words[0].line)

    def _read_order(self, node: re.Match[str], words: list[Word], time_s: float | None) -> None:
        at, name, index = words[0].line, node[1] or node[3], int(node[2] or node[4])
        verb, rest = words[1].text, [word.text for word in words[2:]]
        axis = "to"
        if verb == "set":
            key = rest[0] if rest else ""
            if key not in ("X_", "Y_", "Z_"):
                self._ignore(words)
                return
            axis, rest = key[0], rest[1:]
        if len(rest) != (3 if axis == "to" else 1):
            raise self._text.error(
                f"{quote(verb)} with {len(rest)} values is neither setdest X Y SPEED nor set X_ V",
                at,
            )
        if self.numbers.setdefault(index, name) != name:
            raise self._text.error(
                f"node {index} is ${self.numbers[index]} and ${name}, too; name the nodes alike", at
            )
        values = [self._number(word, "value", at) for word in rest]
        if axis == "to" and values[2] < 0:
            raise self._text.error(f"the speed {values[2]:g} m/s is below 0", at)
        if axis == "Z":
            if values[0]:
                self.left["heights (Z_)"] += 1
            return
        self.words += rest[:2]
        if time_s is None and axis != "to":
            self._starts.setdefault(index, {})[axis] = values[0]
            return
        orders = self._orders.setdefault(index, [])
        orders.append((time_s or 0.0, len(orders), axis, values))

    def _number(self, word: str, what: str, at: int) -> float:
        value = parse_number(word)
        if value is None or not math.isfinite(value):
            computed = f"; {_HOW}" if "$" in word or "[" in word else ""
            raise self._text.error(f"the {what} {quote(word)} is no finite number{computed}", at)
        return value

    def legs(self, node: int) -> list[Leg]:
        """Places of one node by time; none if the file does not name it."""
        starts, orders = self._starts.get(node, {}), self._orders.get(node, [])
        if not starts and not orders:
            return []
        at_0 = {axis: values[0] for time_s, _, axis, values in orders if time_s == 0.0}
        missing = [axis for axis in "XY" if axis not in starts and axis not in at_0]
        if missing:
            raise self._text.error(
                f"node {node} has no {' and '.join(f'{axis}_' for axis in missing)}: say where it "
                "starts"
            )
        begin = starts | at_0
        later = [order for order in orders if order[0] or order[2] == "to"]
        return _legs(later, begin["X"], begin["Y"])


def _texts(words: list[Word]) -> Iterator[str]:
    yield " ".join(word.text for word in words)
    yield from (word.text for word in words)


def _legs(orders: list[_Order], x: float, y: float) -> list[Leg]:
    """Places of one node by time."""
    found: list[Leg] = [(0.0, x, y)]
    for time_s, _, axis, values in sorted(orders, key=lambda order: order[:2]):
        x, y = _end_order_at(found, time_s)
        if axis != "to":
            x, y = (values[0], y) if axis == "X" else (x, values[0])
            found.append((time_s, x, y))
            continue
        to_x, to_y, speed = values
        if speed > 0:
            found.append((time_s + math.hypot(to_x - x, to_y - y) / speed, to_x, to_y))
    return found


def _end_order_at(found: list[Leg], time_s: float) -> tuple[float, float]:
    """Cut a node's legs at an instant, where earlier orders end; its place then."""
    end_s, x, y = found[-1]
    if time_s < end_s:
        found.pop()
        start_s, from_x, from_y = found[-1]
        part = max(0.0, time_s - start_s) / (end_s - start_s)
        x, y = from_x + part * (x - from_x), from_y + part * (y - from_y)
    if time_s > found[-1][0]:
        found.append((time_s, x, y))
    return x, y
