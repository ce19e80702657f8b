"""A battery with several loads at once, each between two instants that are known beforehand."""

import math
from bisect import bisect_left

from netsim.channels.sleep import Rhythm
from netsim.devices.energy.loads import Load
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
        self._loads: list[Load] = []

    def draw(self, load: Load) -> None:
        """Add a load; the part of it that lies in the past is drawn at once."""
        past_ns = min(load.to_ns, self._at_ns)
        if past_ns > load.from_ns:
            self._joules -= load.joules(load.from_ns, past_ns, self._rhythm)
        self._loads.append(load)

    def take(self, joules: float) -> None:
        """Draw an amount of energy at once."""
        self._joules -= joules

    def switched(self, standing_w: float, saved_w: float = 0.0) -> None:
        """Change the standing power, from the instant of the last `left_j` on."""
        self._standing_w, self._saved_w = standing_w, saved_w

    def left_j(self, now_ns: int) -> float:
        """Joules left at an instant, which is no earlier than that of the last call."""
        drawn = self._drawn(self._standing_w, self._saved_w, self._at_ns, now_ns) / NS_PER_S
        for load in self._loads:
            drawn += load.joules(self._at_ns, now_ns, self._rhythm)
        self._joules -= drawn
        self._loads = [load for load in self._loads if load.to_ns > now_ns]
        self._at_ns = now_ns
        return self._joules

    def empty_ns(self, now_ns: int) -> int | None:
        """When [ns] it will be empty with the loads it has; None: never."""
        left = self.left_j(now_ns) * NS_PER_S
        if left <= 0:
            return now_ns
        ends = {t for load in self._loads for t in load[:2] if t > now_ns}
        for end_ns in (*sorted(ends), None):
            watt, saved_w = self._standing_w, self._saved_w
            for load in self._loads:
                if load.from_ns <= now_ns < load.to_ns:
                    watt, saved_w = watt + load.watt, saved_w - load.woken_w
            if self._mean_w(watt, saved_w) > 0 and (
                end_ns is None or self._drawn(watt, saved_w, now_ns, end_ns) >= left
            ):
                return now_ns + self._takes_ns(watt, saved_w, now_ns, left)
            if end_ns is not None:
                left -= self._drawn(watt, saved_w, now_ns, end_ns)
                now_ns = end_ns
        return None

    def _drawn(self, watt: float, saved_w: float, from_ns: int, to_ns: int) -> float:
        """Energy [nJ] of a constant power between two instants, less what is saved by sleep."""
        drawn = watt * (to_ns - from_ns)
        if saved_w and self._rhythm is not None:
            drawn -= saved_w * self._rhythm.asleep_ns(from_ns, to_ns)
        return drawn

    def _mean_w(self, watt: float, saved_w: float) -> float:
        """That power [W] in the long run, less what is saved by sleep."""
        if saved_w and self._rhythm is not None:
            watt -= saved_w * self._rhythm.share_asleep
        return watt

    def _takes_ns(self, watt: float, saved_w: float, from_ns: int, left: float) -> int:
        """In how many ns a power draws `left` [nJ]."""
        if not saved_w or self._rhythm is None:
            return math.ceil(left / watt)
        longest_ns = math.ceil(left / self._mean_w(watt, saved_w)) + self._rhythm.period_ns
        return bisect_left(
            range(longest_ns),
            left,
            key=lambda ns: self._drawn(watt, saved_w, from_ns, from_ns + ns),
        )
