"""Fading: a power gain of mean 1 that grows with its uniform."""

import numpy as np

from netsim.channels.fading import Fading
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require

DRAWS = 200_000


def check(model: Fading, case: ComponentCase) -> None:
    """Check a gain: mean 1 to 1 %, increasing, and equal for numbers and arrays."""
    if model.continuous:
        return
    u = (np.arange(DRAWS) + 0.5) / DRAWS
    gains = np.asarray(model.power_gain(u))
    require(np.isfinite(gains).all() and (gains >= 0).all(), "power_gain is negative or not finite")
    require((np.diff(gains) >= 0).all(), "power_gain(u) must not fall as u rises")
    mean = float(gains.mean())
    require(abs(mean - 1.0) < 0.01, f"power_gain has the mean {mean:.4g}, which must be 1")
    for at in (0, DRAWS // 2, DRAWS - 1):
        one = float(model.power_gain(float(u[at])))
        require(np.isclose(one, gains[at]), f"power_gain of {u[at]:g} alone is {one:g}")
