"""A battery from which several things draw at once, each for a time that is known beforehand."""

import math

from netsim.units import NS_PER_S


class Battery:
    """What is left, and when nothing will be.

    Parameters
    ----------
    joules : float
        What it holds at time 0.
    standing_w : float
        Drawn while its node is on.
    """

    def __init__(self, joules: float, standing_w: float) -> None:
        self._joules, self._at_ns = joules, 0
        self._standing_w = standing_w
        self._loads: list[tuple[int, int, float]] = []

    def draw(self, from_ns: int, to_ns: int, watt: float) -> None:
        """Draw so much in an interval; a negative power takes back what was to be drawn.

        What of it lies before the last `left_j` is drawn at once.
        """
        self.take(watt * max(0, min(to_ns, self._at_ns) - from_ns) / NS_PER_S)
        self._loads.append((from_ns, to_ns, watt))

    def take(self, joules: float) -> None:
        """Draw so much at once."""
        self._joules -= joules

    def switched(self, standing_w: float) -> None:
        """From the last `left_j` on the node draws so much while it does nothing else."""
        self._standing_w = standing_w

    def left_j(self, now_ns: int) -> float:
        """What is left at an instant, no earlier than the last one asked for."""
        passed_ns = now_ns - self._at_ns
        drawn = self._standing_w * passed_ns
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
            if watt > 0 and (end_ns is None or watt * (end_ns - now_ns) >= left):
                return now_ns + math.ceil(left / watt)
            if end_ns is not None:
                left -= watt * (end_ns - now_ns)
                now_ns = end_ns
        return None
