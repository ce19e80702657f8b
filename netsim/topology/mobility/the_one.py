"""Movement files of The ONE (`ExternalMovement`, Keraenen et al., SIMUTools 2009).

    0 600 0 1000 0 1000
    0 a 12.5 40.0
    0 b 80.0 40.0
    10 a 20.0 40.0

The first line has the least and the greatest time, x and y (z may follow); every other line is
`time id x y` (z may follow, and is left out), by ascending time. Nodes go straight from place to
place. Times in s, places in m. What The ONE writes for ns-2 (`MovementNs2Report`) is read by
`kind = "ns2"`.
"""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.registry import FilePath
from netsim.rng import Streams
from netsim.topology.mobility import Mobility, Track
from netsim.topology.mobility._from_file import Leg, Start, ways_in_metres
from netsim.traces.files import Text, is_comment, parse_number, quote, read_text
from netsim.traces.moments import require_seconds
from netsim.traces.node_ids import node_numbers


class TheOne(Mobility):
    """Nodes as The ONE's external movement has them.

    Ids that are all whole numbers are node numbers, others become 0, 1, ... in order of appearance.
    Before its first line a node is at the place of that line, after its last line at the place of
    that one; nodes without a line stay where they are placed.

    Attributes
    ----------
    path : str
        The movement file; `.gz` is unpacked.
    start_s : float, optional
        Time of the file at which the run starts. Absent: the least time, which its first line
        names.
    """

    kind: Literal["the_one"] = "the_one"
    path: FilePath
    start_s: Start = None

    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> Track | None:
        text = read_text(self.path, folder, "mobility")
        lines = [
            (at, line.split())
            for at, line in enumerate(text.content.splitlines(), start=1)
            if not is_comment(line)
        ]
        if not lines:
            raise text.error("holds no movement")
        bounds = _bounds(text, *lines[0])
        by_name: dict[str, list[Leg]] = {}
        written: list[str] = []
        last_s = bounds[0]
        for at, words in lines[1:]:
            if len(words) not in (4, 5):
                raise text.error(
                    f"has {len(words)} columns; needed are time id x y, z may follow", at
                )
            time_s = require_seconds(text, words[0], at, "column 1")
            x, y = (_finite(text, words[k], k + 1, at) for k in (2, 3))
            if time_s < last_s:
                raise text.error(
                    f"{time_s:.12g} s comes after {last_s:.12g} s; times must not fall", at
                )
            for k, (what, value) in enumerate((("time", time_s), ("x", x), ("y", y))):
                least, most = bounds[2 * k : 2 * k + 2]
                if not least <= value <= most:
                    raise text.error(
                        f"{what} is {value:.12g}, and the first line says {least:.12g} to "
                        f"{most:.12g}",
                        at,
                    )
            mine = by_name.setdefault(words[1], [])
            if mine and mine[-1][0] == time_s:
                raise text.error(f"node {quote(words[1])} has a line for this time already", at)
            mine.append((time_s, x, y))
            written += words[2:4]
            last_s = time_s
        if not by_name:
            raise text.error("holds no movement, only its first line")
        numbers = node_numbers(text, list(by_name), "mobility", len(start_m))
        found: list[list[Leg]] = [[] for _ in start_m]
        for name, legs in by_name.items():
            if numbers[name] < len(found):
                found[numbers[name]] = legs
        span = (bounds[0], last_s)
        return ways_in_metres(text, found, start_m, self.start_s, written, span)


def _bounds(text: Text, at: int, words: list[str]) -> list[float]:
    """Least and greatest time, x and y, as the first line says."""
    values = [parse_number(word) for word in words]
    if len(words) not in (6, 8) or any(value is None or not np.isfinite(value) for value in values):
        raise text.error(
            "the first line must be minTime maxTime minX maxX minY maxY, 6 numbers, of which minZ "
            "maxZ may follow",
            at,
        )
    return [float(value) for value in values if value is not None]


def _finite(text: Text, word: str, column: int, at: int) -> float:
    value = parse_number(word)
    if value is None or not np.isfinite(value):
        raise text.error(f"column {column} is {quote(word)}, not a finite number", at)
    return value
