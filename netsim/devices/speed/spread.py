"""Devices that differ: the time of a step is drawn once for every node."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import scipy

from netsim.devices.speed.fixed import Fixed
from netsim.registry import NonNegative
from netsim.rng import Streams


class Spread(Fixed):
    """A node's local step takes `step_s` times a factor that is the node's own.

    Attributes
    ----------
    law
        Distribution of factors: exp(`sigma` Z), Z standard normal, whose median is 1 ("lognormal");
        or 1 + `sigma` X, X exponential of mean 1, so that none is faster than `step_s`
        ("exponential").
    sigma
        Spread of devices; 0: all are alike.
    """

    kind: Literal["spread"] = "spread"  # type: ignore[assignment]
    law: Literal["lognormal", "exponential"] = "lognormal"
    sigma: NonNegative = 0.5

    def relative(
        self, given: Sequence[float], streams: Streams, folder: Path | None
    ) -> tuple[float, ...]:
        def slowness(node: int) -> float:
            if self.law == "exponential":
                return 1.0 + self.sigma * streams.exponential("device speed", node)
            # A draw of exactly 0 would become minus infinity.
            u = streams.uniform("device speed", node) or 2.0**-54
            return math.exp(self.sigma * float(scipy.special.ndtri(u)))

        return tuple(v / slowness(i) for i, v in enumerate(given))
