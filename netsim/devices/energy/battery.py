"""A battery with several loads at once, each between two instants that are known beforehand."""

import math
from bisect import bisect_left

from netsim.channels.sleep import Rhythm
from netsim.units import NS_PER_S


class Battery:
    """Energy that is left, and when none will be left.

    Parameters
    ----------
    joules : float
        What it holds at time 0.
    standing_w : float
        Power drawn while its node is on.
    saved_w : float
        How much less is drawn while its radio sleeps.
    rhythm : Rhythm or None
        When the radio is awake; None: always.
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
        """Add a load; the part of it that lies in the past is drawn at once.

        Parameters
        ----------
        from_ns, to_ns : int
            From when to when.
        watt : float
            Power; a negative one takes back a load.
        """
        past_ns = min(to_ns, self._at_ns) - from_ns
        if past_ns > 0:
            self._joules -= watt * past_ns / NS_PER_S
        self._loads.append((from_ns, to_ns, watt))

    def take(self, joules: float) -> None:
        """Draw an amount of energy at once."""
        self._joules -= joules

    def switched(self, standing_w: float, saved_w: float = 0.0) -> None:
        """Change the standing power, from the instant of the last `left_j` on."""
        self._standing_w, self._saved_w = standing_w, saved_w

    def left_j(self, now_ns: int) -> float:
        """Joules left at an instant, which is no earlier than that of the last call."""
        drawn = self._drawn(self._standing_w, self._at_ns, now_ns)
        for from_ns, to_ns, watt in self._loads:
            drawn += watt * max(0, min(to_ns, now_ns) - max(from_ns, self._at_ns))
        self._joules -= drawn / NS_PER_S
        self._loads = [load for load in self._loads if load[1] > now_ns]
        self._at_ns = now_ns
        return self._joules

    def empty_ns(self, now_ns: int) -> int | None:
        """When [ns] it will be empty with the loads it has; None: never."""
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
        """Energy [nJ] of a constant power between two instants, less what is saved by sleep."""
        drawn = watt * (to_ns - from_ns)
        if self._saved_w and self._rhythm is not None:
            drawn -= self._saved_w * self._rhythm.asleep_ns(from_ns, to_ns)
        return drawn

    def _mean_w(self, watt: float) -> float:
        """That power [W] in the long run, less what is saved by sleep."""
        if self._saved_w and self._rhythm is not None:
            watt -= self._saved_w * self._rhythm.share_asleep
        return watt

    def _takes_ns(self, watt: float, from_ns: int, left: float) -> int:
        """In how many ns a power draws `left` [nJ]."""
        if not self._saved_w or self._rhythm is None:
            return math.ceil(left / watt)
        longest_ns = math.ceil(left / self._mean_w(watt)) + self._rhythm.period_ns
        return bisect_left(
            range(longest_ns), left, key=lambda ns: self._drawn(watt, from_ns, from_ns + ns)
        )
