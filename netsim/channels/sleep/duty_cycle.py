"""Duty-cycled radios: each is awake for a fixed share of every period."""

from typing import Annotated, Literal

from pydantic import Field

from netsim.channels.sleep import Rhythm, Sleep
from netsim.registry import Positive, Recurs
from netsim.rng import Streams
from netsim.units import to_ns


class DutyCycle(Sleep):
    """Awake at the beginning of each period.

    A radio that is awake when a message to it begins stays awake until that message has ended.
    With d = `awake_fraction`, a message without repetitions gets through with probability d; one
    that is repeated until it does waits for (1 - d)^2 period_s / 2 on average.

    Attributes
    ----------
    period_s : float
        Time between two wake-ups of the radio.
    awake_fraction : float
        Part of each period for which a radio is awake, in (0, 1].
    phase : {"random", "aligned"}
        Start of the periods: a random time for each node, or time 0 for all.
    """

    kind: Literal["duty_cycle"] = "duty_cycle"
    period_s: Annotated[Positive, Recurs("periods")] = 1.0
    awake_fraction: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.1
    phase: Literal["random", "aligned"] = "random"

    def rhythm(self, node: int, streams: Streams) -> Rhythm | None:
        period_ns = max(1, to_ns(self.period_s))
        awake_ns = max(1, round(self.awake_fraction * period_ns))
        if awake_ns == period_ns:
            return None
        share = streams.uniform("sleep", node) if self.phase == "random" else 0.0
        return Rhythm(period_ns, awake_ns, int(share * period_ns))
