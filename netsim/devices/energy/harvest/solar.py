"""Power of the sun: half a sine by day, nothing by night.

Source: the extraterrestrial irradiance of a horizontal plane at the equator on the equinox (Duffie
and Beckman, Solar Engineering of Thermal Processes, section 1.6), a half sine over the daylight:
P(t) = peak sin(pi (t - sunrise) / daylight). Air and clouds are not modelled: use a trace for them.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import model_validator

from netsim.devices.energy.harvest import Harvest, Piece, Power, slot_pieces
from netsim.registry import Duration, Finite, Recurs
from netsim.rng import Streams
from netsim.units import to_ns


class Solar(Harvest):
    """peak_w sin(pi (t - sunrise) / daylight) by day, the same at every node.

    The power of a step of `step_s` is the mean over that step, so the energy of every step and of a
    day, 2 / pi peak_w daylight_s, is exact.

    Attributes
    ----------
    peak_w
        Power at noon.
    day_s
        Time from one sunrise to the next.
    daylight_s
        Time from sunrise to sunset. Absent: half of `day_s`.
    sunrise_s
        Time of the first sunrise; it may be negative, for a run that begins by day.
    step_s
        Time for which a power holds.
    """

    kind: Literal["solar"] = "solar"
    peak_w: Power
    day_s: Duration = 86_400.0
    daylight_s: Duration | None = None
    sunrise_s: Finite = 0.0
    step_s: Annotated[Duration, Recurs("powers", per_node=True)] = 60.0

    @model_validator(mode="after")
    def _days_are_longer_than_daylight(self) -> Self:
        if self.daylight_s is not None and self.daylight_s > self.day_s:
            raise ValueError(f"daylight_s must be at most day_s = {self.day_s:g}")
        return self

    def joules(self, time_s: float) -> float:
        """Energy from the first sunrise to an instant [J]; negative for an earlier one."""
        daylight_s = self.day_s / 2 if self.daylight_s is None else self.daylight_s
        days, since_s = divmod(time_s - self.sunrise_s, self.day_s)
        risen = 1.0 - math.cos(math.pi * min(1.0, since_s / daylight_s))
        return self.peak_w * daylight_s / math.pi * (2.0 * days + risen)

    def pieces(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Iterator[Piece]] | None:
        return [slot_pieces(self._powers(), to_ns(self.step_s)) for _ in nodes]

    def _powers(self) -> Iterator[float]:
        number, before_j = 0, self.joules(0.0)
        while True:
            number += 1
            now_j = self.joules(number * self.step_s)
            yield max(0.0, now_j - before_j) / self.step_s
            before_j = now_j
