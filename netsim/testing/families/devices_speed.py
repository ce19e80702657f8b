"""Speeds: times that are not negative, and follow from seed, node and job."""

from netsim.devices.speed import Speed
from netsim.rng import Streams
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require


def check(speed: Speed, case: ComponentCase) -> None:
    """Check jobs of one and of ten steps on a nominal device."""
    relative = speed.relative([1.0, 2.0], Streams(0), None)
    require(len(relative) == 2, f"2 nodes have {len(relative)} speeds")
    require(min(relative) > 0, f"speeds must be positive: {relative}")
    nominal, _ = speed.for_models(relative, lambda node: 1e6)
    for steps in (1, 10):
        taken_s = nominal.train_s(steps, 1.0, Streams(0), 0, 0)
        require(taken_s >= 0.0, f"{steps} steps take {taken_s:g} s")
        again_s = nominal.train_s(steps, 1.0, Streams(0), 0, 0)
        require(again_s == taken_s, "asked twice, the same job takes another time")
    require(nominal.mean_step_s() >= 0.0, "mean_step_s is negative")
