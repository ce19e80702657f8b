"""A battery from which several things draw at once, each for a time that is known beforehand."""

import math
from bisect import bisect_left

from netsim.channels.sleep import Rhythm
from netsim.units import NS_PER_S


class Battery:
    """What is left, and when nothing will be.

    Parameters
    ----------
    joules : float
        What it holds at time 0.
    standing_w : float
        Drawn while its node is on.
    saved_w : float
        How much less while its radio sleeps.
    rhythm : Rhythm or None
        When that is awake; None: always.
    """

    def __init__(
        self,
        joules: float,
        standing_w: float,
        saved_w: float = 0.0,
        rhythm: Rhythm | None = None,
    ) -> None:
        self._joules, self._at_ns = joules, 0
        self._standing_w, self._saved_w, self._rhythm = standing_w, saved_w, rhythm
        self._loads: list[tuple[int, int, float]] = []

    def draw(self, from_ns: int, to_ns: int, watt: float) -> None:
        """Draw so much in an interval; a negative power takes back what was to be drawn.

        What has passed when it is told is drawn at once.
        """
        past_ns = min(to_ns, self._at_ns) - from_ns
        if past_ns > 0:
            self._joules -= watt * past_ns / NS_PER_S
        self._loads.append((from_ns, to_ns, watt))

    def take(self, joules: float) -> None:
        """Draw so much at once."""
        self._joules -= joules

    def switched(self, standing_w: float, saved_w: float = 0.0) -> None:
        """From the last `left_j` on the node draws so much while it does nothing else."""
        self._standing_w, self._saved_w = standing_w, saved_w

    def left_j(self, now_ns: int) -> float:
        """What is left at an instant, no earlier than the last one asked for."""
        drawn = self._drawn(self._standing_w, self._at_ns, now_ns)
        for from_ns, to_ns, watt in self._loads:
            drawn += watt * max(0, min(to_ns, now_ns) - max(from_ns, self._at_ns))
        self._joules -= drawn / NS_PER_S
        self._loads = [load for load in self._loads if load[1] > now_ns]
        self._at_ns = now_ns
        return self._joules

    def empty_ns(self, now_ns: int) -> int | None:
        """When it will be empty if nothing else is drawn; None: never."""
        left = self.left_j(now_ns) * NS_PER_S
        if left <= 0:
            return now_ns
        ends = {t for load in self._loads for t in load[:2] if t > now_ns}
        for end_ns in (*sorted(ends), None):
            watt = self._standing_w
            watt += sum(w for begin, end, w in self._loads if begin <= now_ns < end)
            if self._mean_w(watt) > 0 and (
                end_ns is None or self._drawn(watt, now_ns, end_ns) >= left
            ):
                return now_ns + self._takes_ns(watt, now_ns, left)
            if end_ns is not None:
                left -= self._drawn(watt, now_ns, end_ns)
                now_ns = end_ns
        return None

    def _drawn(self, watt: float, from_ns: int, to_ns: int) -> float:
        """Drawn in an interval in which all draw so much, but for sleep; in J times 1e9."""
        drawn = watt * (to_ns - from_ns)
        if self._saved_w and self._rhythm is not None:
            drawn -= self._saved_w * self._rhythm.asleep_ns(from_ns, to_ns)
        return drawn

    def _mean_w(self, watt: float) -> float:
        """The same in the long run, in W."""
        if self._saved_w and self._rhythm is not None:
            watt -= self._saved_w * self._rhythm.share_asleep
        return watt

    def _takes_ns(self, watt: float, from_ns: int, left: float) -> int:
        """How long it takes to draw what is left."""
        if not self._saved_w or self._rhythm is None:
            return math.ceil(left / watt)
        longest_ns = math.ceil(left / self._mean_w(watt)) + self._rhythm.period_ns
        return bisect_left(
            range(longest_ns), left, key=lambda ns: self._drawn(watt, from_ns, from_ns + ns)
        )
