r"""Movement files of ns-2, as CMU's `setdest` and many other tools write them.

    $node_(0) set X_ 12.5
    $node_(0) set Y_ 40.0
    $ns_ at 3.0 "$node_(0) setdest 80.0 40.0 1.5"

A node starts at its X_ and Y_. At the time of a `setdest` it turns, wherever it is, and goes
straight to the place that is named at the speed that is named [m/s]; arrived, it stands. Speed 0
stops it. `$ns_ at T "$node_(0) set X_ V"` puts it there at once. Z_, `$god_` and all else is left
aside. Times in s, places in m.
"""

import math
import re
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.registry import FilePath
from netsim.rng import Streams
from netsim.topology.mobility import Mobility, Track
from netsim.topology.mobility._from_file import JUMP_S, Leg, ways
from netsim.traces.files import Text, is_comment, number, read_text

_NODE = r"\$node_\((\d{1,9})\)\s+"
_SET = re.compile(_NODE + r"set\s+([XYZ])_\s+(\S+)")
_AT = re.compile(r'\$ns_\s+at\s+(\S+)\s+"' + _NODE + r'(set|setdest)\s+([^"]*)"')

_Order = tuple[float, int, str, list[float]]
"""When [s], line, "X", "Y" or "to", and what follows."""


class Ns2(Mobility):
    """Nodes as an ns-2 movement file moves them, by their numbers in it.

    Nodes that the file does not name stay where they are placed; nodes of the file that there are
    not are left aside.

    Attributes
    ----------
    path : str
        The movement file; `.gz` is unpacked.
    """

    kind: Literal["ns2"] = "ns2"
    path: FilePath

    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> Track | None:
        text = read_text(self.path, folder, "mobility")
        starts, orders, named = start_m.tolist(), dict[int, list[_Order]](), set[int]()
        for at, line in enumerate(text.content.splitlines(), start=1):
            if is_comment(line) or "$node_" not in line or "$god_" in line:
                continue
            node, order = _read(text, line.strip(), at)
            named.add(node)
            if order is None or node >= len(starts):
                continue
            if order[0] < 0:  # no time: where it starts
                starts[node]["XY".index(order[2])] = order[3][0]
            else:
                orders.setdefault(node, []).append(order)
        if not named:
            raise text.wrong("holds no line of a node, such as $node_(0) set X_ 1.0")
        if min(named) >= len(starts):
            raise text.wrong(
                f"its nodes are {min(named)} to {max(named)}, and the scenario's 0 to "
                f"{len(starts) - 1}"
            )
        found = [_legs(orders.get(node, []), x, y) for node, (x, y) in enumerate(starts)]
        return ways(found, start_m)


def _read(text: Text, line: str, at: int) -> tuple[int, _Order | None]:
    """The node of a line and what it says; None: its height."""
    said = _SET.match(line)
    if said is not None:
        node, axis, words, time_s = int(said[1]), said[2], [said[3]], -1.0
    else:
        timed = _AT.match(line)
        if timed is None:
            raise text.wrong(
                f'"{line[:60]}" is neither $node_(0) set X_ V nor $ns_ at T "$node_(0) setdest X '
                'Y SPEED"',
                at,
            )
        time_s = _number(text, timed[1], "time", at)
        if time_s < 0:
            raise text.wrong(f"the time {time_s:g} s is before 0", at)
        node, axis, words = int(timed[2]), "to", timed[4].split()
        if timed[3] == "set":
            axis, words = (words[0] if words else "")[:1], words[1:]
        if axis not in ("X", "Y", "Z", "to") or len(words) != (3 if axis == "to" else 1):
            raise text.wrong(
                f'"{timed[3]} {timed[4]}" is neither setdest X Y SPEED nor set X_ V', at
            )
    values = [_number(text, word, "value", at) for word in words]
    if axis == "to" and values[2] < 0:
        raise text.wrong(f"the speed {values[2]:g} m/s is below 0", at)
    return node, None if axis == "Z" else (time_s, at, axis, values)


def _number(text: Text, word: str, what: str, at: int) -> float:
    value = number(word)
    if value is None or not math.isfinite(value):
        raise text.wrong(f'the {what} "{word}" is no finite number', at)
    return value


def _legs(orders: list[_Order], x: float, y: float) -> list[Leg]:
    """Places of one node by time."""
    found: list[Leg] = [(0.0, x, y)]
    for time_s, _, axis, values in sorted(orders, key=lambda order: order[:2]):
        x, y = _cut(found, time_s)
        if axis != "to":
            x, y = (values[0], y) if axis == "X" else (x, values[0])
            found.append((time_s + JUMP_S, x, y))
            continue
        to_x, to_y, speed = values
        if speed > 0:
            found.append((time_s + math.hypot(to_x - x, to_y - y) / speed, to_x, to_y))
    return found


def _cut(found: list[Leg], time_s: float) -> tuple[float, float]:
    """Where a node is at an instant, from which on what was ordered before no longer holds."""
    end_s, x, y = found[-1]
    if time_s < end_s:
        found.pop()
        start_s, from_x, from_y = found[-1]
        part = max(0.0, time_s - start_s) / (end_s - start_s)
        x, y = from_x + part * (x - from_x), from_y + part * (y - from_y)
    if time_s > found[-1][0]:
        found.append((time_s, x, y))
    return x, y
