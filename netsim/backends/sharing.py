"""Decide on threads: on a busy machine one that is interrupted holds up all others."""

from __future__ import annotations

FADING = 0.9
"""Factor by which the weight of earlier calls falls, from call to call."""

FIRST_PAUSE, LONGEST_PAUSE = 16, 256
"""Calls by one thread after threads have not paid: twice as many each time, half as many after each
call in which they did."""


class Sharing:
    """Decides for calls of like size, by how long earlier ones took for their CPU time.

    One thread takes at least its CPU time, two take half of it where two cores are free, and
    several times as much where other programs interrupt one while the other waits for it.
    """

    def __init__(self) -> None:
        self._alone, self._shared = _Pace(), _Pace()
        self._pause = FIRST_PAUSE
        self._left, self._resumes = 0, False

    def is_worthwhile(self) -> bool:
        """Return whether the next call is worth several threads."""
        if self._left:
            self._left -= 1
            return False
        return True

    def note(self, threads: int, wall_s: float, cpu_s: float) -> None:
        """Learn from a call.

        Parameters
        ----------
        threads : int
            That took part.
        wall_s, cpu_s : float
            How long it took, and the CPU time of all of them.
        """
        if threads == 1:
            self._alone.note(wall_s, cpu_s)
            return
        if self._resumes:
            self._shared = _Pace()  # what was before the pause is no longer true
        self._shared.note(wall_s, cpu_s)
        self._resumes = self._shared.pace > max(1.0, self._alone.pace)
        if self._resumes:
            self._left = self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        else:
            self._pause = max(self._pause // 2, FIRST_PAUSE)


class _Pace:
    """Seconds for each second of CPU time, over the last calls."""

    def __init__(self) -> None:
        self._wall_s = self._cpu_s = 0.0

    @property
    def pace(self) -> float:
        """Zero if nothing is known yet."""
        return self._wall_s / self._cpu_s if self._cpu_s else 0.0

    def note(self, wall_s: float, cpu_s: float) -> None:
        self._wall_s = FADING * self._wall_s + wall_s
        self._cpu_s = FADING * self._cpu_s + cpu_s
