"""Broken laws, each of a mistake that is easily made, and the check that catches it."""

import importlib.util
import math
from pathlib import Path

import pytest

from netsim.topology.churn.exponential import Exponential
from netsim.topology.mobility.gauss_markov import GaussMarkov
from netsim.topology.mobility.random_waypoint import RandomWaypoint, point

pytestmark = pytest.mark.closed_forms


def beside(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHURN, MOTION = beside("test_churn"), beside("test_mobility")


class StartsUniformly(RandomWaypoint):
    """From the placement, as most simulators do."""

    def _first_leg(self, node, radius_m, streams):
        u = streams.uniforms("uniform", node, counters=range(4))
        return point(radius_m, *u[:2]), point(radius_m, *u[2:])

    def _knots(self, node, radius_m, streams):
        knots = super()._knots(node, radius_m, streams)
        next(knots)
        yield 0, *self._first_leg(node, radius_m, streams)[0]
        yield from knots


class LegsOfAnyLength(RandomWaypoint):
    """The first leg is not drawn by its length."""

    def _first_leg(self, node, radius_m, streams):
        u = streams.uniforms("waypoint/first", node, 0, counters=range(4))
        return point(radius_m, *u[:2]), point(radius_m, *u[2:])


class SpeedsUniform(RandomWaypoint):
    """The speed at the start is drawn like that of a new leg."""

    def _first_speed(self, u):
        return self.min_m_per_s + (self.max_m_per_s - self.min_m_per_s) * u


class NeverPausesFirst(RandomWaypoint):
    """Every node moves at the start."""

    def share_of_pauses(self, radius_m):
        return 0.0


class VarianceAsDeviation(GaussMarkov):
    @property
    def sigma_m_per_s(self):
        return self.mean_m_per_s**2 * 2 / math.pi


class NoiseTooSmall(GaussMarkov):
    """(1 - a) w instead of sqrt(1 - a^2) w: the velocity dies down."""

    def _normal(self, node, number, streams):
        x, y = super()._normal(node, number, streams)
        scale = (1 - self.memory) / math.sqrt(1 - self.memory**2) if number else 1.0
        return scale * x, scale * y


class StartsOn(Exponential):
    """Everybody is on at the start."""

    def periods(self, nodes, streams, folder):
        return [
            life._replace(on=True, switches_ns=self._switches(node, True, streams))
            for node, life in zip(nodes, super().periods(nodes, streams, folder), strict=True)
        ]


class OneEnd(Exponential):
    """Switches half as often: as if only one end of a transfer could go."""

    def _switches(self, node, on, streams):
        for time_ns in super()._switches(node, on, streams):
            yield 2 * time_ns


WAYPOINT = {"min_m_per_s": 1.0, "max_m_per_s": 19.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (StartsUniformly(**WAYPOINT), MOTION.waypoint_density),
        (LegsOfAnyLength(**WAYPOINT), MOTION.waypoint_density),
        (SpeedsUniform(**WAYPOINT), MOTION.waypoint_speed),
        (NeverPausesFirst(**WAYPOINT), MOTION.waypoint_pauses),
        (VarianceAsDeviation(mean_m_per_s=2.0), MOTION.gauss_markov_variance),
        (NoiseTooSmall(mean_m_per_s=2.0), MOTION.gauss_markov_variance),
        (GaussMarkov(mean_m_per_s=2.0, memory=0.0), MOTION.gauss_markov_memory),
        (Exponential(mean_on_s=20.0, mean_off_s=60.0), CHURN.share_on),
        (StartsOn(mean_on_s=60.0, mean_off_s=20.0), CHURN.share_on),
        (OneEnd(mean_on_s=60.0, mean_off_s=20.0), CHURN.survival),
        (OneEnd(mean_on_s=60.0, mean_off_s=20.0), CHURN.correlation),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_a_broken_law_is_caught(broken, check):
    with pytest.raises(AssertionError):
        check(broken)
