"""A power that a node draws for a known time."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from netsim.channels.sleep import Rhythm
from netsim.units import NS_PER_S


class Load(NamedTuple):
    """A constant power between two instants.

    Attributes
    ----------
    from_ns, to_ns : int
        From when to when.
    watt : float
        A negative one takes back a load.
    woken_w : float
        Further power at those times at which the radio would sleep: what it saves by sleeping.
    """

    from_ns: int
    to_ns: int
    watt: float
    woken_w: float = 0.0

    def joules(self, from_ns: int, to_ns: int, rhythm: Rhythm | None) -> float:
        """Energy of that part of it which lies between two instants.

        Parameters
        ----------
        from_ns, to_ns : int
        rhythm : Rhythm or None
            When the radio is awake; None: always.
        """
        from_ns, to_ns = max(from_ns, self.from_ns), min(to_ns, self.to_ns)
        if to_ns <= from_ns:
            return 0.0
        drawn = self.watt * (to_ns - from_ns)
        if self.woken_w and rhythm is not None:
            drawn += self.woken_w * rhythm.asleep_ns(from_ns, to_ns)
        return drawn / NS_PER_S


new_load: Callable[[tuple[int, int, float, float]], Load] = partial(tuple.__new__, Load)
"""A `Load` of a tuple of all its fields, in a third of the time; there is one for every message."""
