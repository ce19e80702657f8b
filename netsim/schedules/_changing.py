"""Wake-up times that follow one schedule until an instant, and another from then on."""

from netsim.schedules import Clock


class ChangingClock:
    """Wake-ups by one clock before an instant, by another from then on.

    Both are absolute: the second one's wake-ups are where they would be had it run from time 0.
    Numbers go on from those of the first, so that no wake-up has the number of an earlier one.

    Parameters
    ----------
    before : Clock
    change_ns : int
        The first instant at which the second clock holds.
    after : Clock
    """

    def __init__(self, before: Clock, change_ns: int, after: Clock) -> None:
        self._before, self._change_ns, self._after = before, change_ns, after

    def next_wakeup(self, node: int, after: int) -> tuple[int, int]:
        time_ns, number = self._before.next_wakeup(node, after)
        if time_ns < self._change_ns:
            return time_ns, number
        passed, more = self._passed(node)
        time_ns, number = self._after.next_wakeup(node, max(after - more, passed))
        return time_ns, number + more

    def last_wakeup(self, node: int, now_ns: int) -> tuple[int, int]:
        if now_ns >= self._change_ns:
            passed, more = self._passed(node)
            time_ns, number = self._after.last_wakeup(node, now_ns)
            if number > passed:
                return time_ns, number + more
        return self._before.last_wakeup(node, min(now_ns, self._change_ns - 1))

    def number(self, node: int, now_ns: int) -> int:
        if now_ns < self._change_ns:
            return self._before.number(node, now_ns)
        return self._after.number(node, now_ns) + self._passed(node)[1]

    def _passed(self, node: int) -> tuple[int, int]:
        """Number of the second clock before the change, and how much larger the first one's is."""
        last_ns = self._change_ns - 1
        passed = self._after.number(node, last_ns)
        return passed, self._before.number(node, last_ns) - passed
