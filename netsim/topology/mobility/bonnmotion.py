"""Movement files of BonnMotion (`.movements`, packed or not).

One line a node, `t x y t x y ...`, or with three dimensions `t x y z t x y z ...`: the node is at
(x, y) at time t, and in between goes straight at a constant speed. Times in s, places in m.
"""

from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.registry import FilePath
from netsim.rng import Streams
from netsim.topology.mobility import Mobility, Track
from netsim.topology.mobility._from_file import Leg, Start, ways_in_metres
from netsim.traces.files import Text, is_comment, parse_number, quote, read_text
from netsim.traces.remarks import note_remark


class BonnMotion(Mobility):
    """Nodes as BonnMotion moves them: line k of the file is node k - 1.

    Before the first time of its line a node is at the first place, after the last time at the last
    place; nodes beyond the last line stay where they are placed, lines beyond the last node are not
    used.

    Attributes
    ----------
    path : str
        The `.movements` file; `.gz` is unpacked, as BonnMotion writes it.
    dimensions : {2, 3}
        Number of coordinates of a place. Of three the height is left out: places of nodes are on
        the ground.
    start_s : float, optional
        Time of the file at which the run starts. Absent: that of its first place.
    """

    kind: Literal["bonnmotion"] = "bonnmotion"
    path: FilePath
    dimensions: Literal[2, 3] = 2
    start_s: Start = None

    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> Track | None:
        text = read_text(self.path, folder, "mobility")
        found: list[list[Leg]] = []
        words: list[str] = []
        beyond = 0
        doubts: list[int] = []
        sure = False
        for at, line in enumerate(text.content.splitlines(), start=1):
            if is_comment(line):
                continue
            if len(found) == len(start_m):
                beyond += 1
                continue
            said = line.split()
            found.append(self._legs(text, said, at))
            others = self._fits_dimensions(said, 5 - self.dimensions)
            doubts += [at] if others and not self._fits_dimensions(said, self.dimensions) else []
            sure = sure or not others
            width = 1 + self.dimensions
            words += [word for k, word in enumerate(said) if k % width in (1, 2)]
        if not found:
            raise text.error("holds no movement")
        if doubts and not sure:
            raise text.error(
                f"its lines may be places in {5 - self.dimensions} dimensions: as those in "
                f"{self.dimensions} they are twice at the same time; set dimensions = "
                f"{5 - self.dimensions}, or leave out the earlier place",
                doubts[0],
            )
        if beyond:
            note_remark(f"{text.where}: left aside are {beyond:,} lines beyond the last node")
        return ways_in_metres(text, found, start_m, self.start_s, words)

    @staticmethod
    def _fits_dimensions(words: list[str], dimensions: int) -> bool:
        """Return whether a line may be places in so many dimensions.

        Each of them has to be later than the one before.
        """
        times = [float(word) for word in words[:: 1 + dimensions]]
        return len(words) % (1 + dimensions) == 0 and all(a < b for a, b in pairwise(times))

    def _legs(self, text: Text, words: list[str], at: int) -> list[Leg]:
        width = 1 + self.dimensions
        if len(words) % width:
            raise text.error(
                f"has {len(words)} numbers, no multiple of {width} (t and {self.dimensions} "
                f"coordinates); for places in {5 - self.dimensions} dimensions set dimensions = "
                f"{5 - self.dimensions}",
                at,
            )
        found: list[Leg] = []
        for first in range(0, len(words), width):
            values = [parse_number(word) for word in words[first : first + width]]
            for k, value in enumerate(values):
                if value is None or not np.isfinite(value):
                    raise text.error(
                        f"number {first + k + 1} is {quote(words[first + k])}, not a finite number",
                        at,
                    )
            t, x, y = (float(value) for value in values[:3] if value is not None)
            if found and t < found[-1][0]:
                raise text.error(
                    f"number {first + 1} is the time {t:g} s after {found[-1][0]:g} s; times must "
                    f"not fall (dimensions = {self.dimensions})",
                    at,
                )
            found.append((t, x, y))
        return found
