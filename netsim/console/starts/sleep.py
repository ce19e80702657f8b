"""Radios that sleep in one half of every period, even nodes in the other half than odd ones."""

from typing import Annotated, Literal

from netsim.channels.sleep import Rhythm, Sleep
from netsim.registry import Positive, Recurs
from netsim.rng import Streams
from netsim.units import to_ns


class Starting(Sleep):
    """Awake for half of `period_s`.

    Attributes
    ----------
    period_s : float
        In s.
    """

    kind: Literal["starting"] = "starting"
    period_s: Annotated[Positive, Recurs("periods")] = 1.0

    def rhythm(self, node: int, streams: Streams) -> Rhythm | None:
        """Return the wake times of a node's radio; None: it is always awake."""
        half_ns = max(1, to_ns(self.period_s / 2))
        return Rhythm(2 * half_ns, half_ns, half_ns * (node % 2))
