"""Motion against what is known of its stationary laws."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from netsim.rng import Streams
from netsim.topology.mobility.gauss_markov import GaussMarkov
from netsim.topology.mobility.random_waypoint import MEAN_LEG_OVER_RADIUS, RandomWaypoint
from netsim.units import to_ns

pytestmark = pytest.mark.closed_forms

NODES = 4000
WALK = RandomWaypoint(min_m_per_s=1.0, max_m_per_s=19.0)
DRIFT = GaussMarkov(mean_m_per_s=2.0)
TIMES_S = (0.0, 3.0, 90.0)
"""Stationary at every time: at the very start, soon after it, and later."""


def density(r):
    """f(r) of a node that moves in the unit disc, per unit of area (Hyytia, Lassila, Virtamo,
    IEEE TMC 2006, from Bettstetter, Resta, Santi 2003)."""
    inner, _ = quad(lambda phi: math.sqrt(1 - (r * math.cos(phi)) ** 2), 0, math.pi)
    return 2 * (1 - r * r) * inner / (MEAN_LEG_OVER_RADIUS * math.pi**2)


def within(measured, expected, deviation, sigmas=4.0):
    assert abs(measured - expected) < sigmas * deviation, (measured, expected, deviation)


def places(law, time_s, nodes=NODES, radius_m=100.0, seed=0):
    track = law.track(np.zeros((nodes, 2)), radius_m, Streams(seed), None)
    return track.at(range(nodes), to_ns(time_s))


def speeds(law, time_s, seed=0):
    """While a node does not turn, which in 0.1 ms few do."""
    track = law.track(np.zeros((NODES, 2)), 100.0, Streams(seed), None)
    moved = track.at(range(NODES), to_ns(time_s + 1e-4)) - track.at(range(NODES), to_ns(time_s))
    return np.hypot(*moved.T) / 1e-4


def waypoint_speed(law):
    """(19 - 1) / ln 19 = 6.11322 m/s; E[v^2] = (19^2 - 1) / (2 ln 19)."""
    mean = 18 / math.log(19)
    assert mean == pytest.approx(6.11322, abs=5e-6)
    deviation = math.sqrt(360 / (2 * math.log(19)) - mean**2)
    for time_s in TIMES_S:
        within(speeds(law, time_s).mean(), mean, deviation / math.sqrt(NODES))


def waypoint_density(law):
    """f(0) = 0.703125, P(r < 1/2) = 0.468347."""
    assert density(0.0) == pytest.approx(0.703125, abs=5e-7)
    for time_s in TIMES_S:
        radii = np.hypot(*places(law, time_s).T) / 100
        for radius in (0.15, 0.5, 0.8):
            share, _ = quad(lambda r: 2 * math.pi * r * density(r), 0, radius)
            within((radii < radius).mean(), share, math.sqrt(share * (1 - share) / NODES))
    share, _ = quad(lambda r: 2 * math.pi * r * density(r), 0, 0.5)
    assert share == pytest.approx(0.468347, abs=5e-7)


def waypoint_pauses(law):
    """pause / (pause + mean time of a leg); nodes that pause are uniform in the disc."""
    law = law.model_copy(update={"pause_s": 20.0})
    leg_s = MEAN_LEG_OVER_RADIUS * 100 * math.log(19) / 18
    share = 20 / (20 + leg_s)
    for time_s in TIMES_S:
        still = speeds(law, time_s) == 0
        within(still.mean(), share, math.sqrt(share * (1 - share) / NODES))
        radii = np.hypot(*places(law, time_s).T)[still] / 100
        within((radii < 0.5).mean(), 0.25, math.sqrt(0.25 * 0.75 / still.sum()))


def velocities(law, nodes=150, steps=250, seed=0):
    """(steps, nodes, 2) far from any border."""
    track = law.track(np.zeros((nodes, 2)), 1e9, Streams(seed), None)
    ways = np.stack([track.at(range(nodes), to_ns(k * law.step_s)) for k in range(steps + 1)])
    return np.diff(ways, axis=0) / law.step_s


def gauss_markov_variance(law):
    """sigma^2 = mean^2 * 2 / pi along each axis, at the start and always."""
    v = velocities(law)
    sigma2 = law.mean_m_per_s**2 * 2 / math.pi
    for sample, independent in ((v[0], v[0].size), (v, v.size * (1 - 0.75**2) / (1 + 0.75**2))):
        within(sample.var(), sigma2, sigma2 * math.sqrt(2 / independent))
    within(np.hypot(*np.moveaxis(v, 2, 0)).mean(), 2.0, 1.1 / math.sqrt(v.size / 2 / 7))


def gauss_markov_memory(law):
    """Correlation a^n over n steps with a = 0.75."""
    v = velocities(law)
    for lag in (1, 2, 5):
        found = (v[lag:] * v[:-lag]).mean() / (v**2).mean()
        within(found, 0.75**lag, 1 / math.sqrt(v.size / 7))


def gauss_markov_stays_uniform(law):
    """Reflection keeps a uniform placement uniform: P(r < 1/2) = 1/4."""
    rng = np.random.default_rng(2)
    radius, angle = 10 * np.sqrt(rng.uniform(size=NODES)), rng.uniform(0, 2 * math.pi, NODES)
    start = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    track = law.track(start, 10.0, Streams(4), None)
    for time_s in (7.5, 30.0):
        radii = np.hypot(*track.at(range(NODES), to_ns(time_s)).T) / 10
        for r in (0.5, 0.9):
            within((radii < r).mean(), r * r, math.sqrt(r * r * (1 - r * r) / NODES))


@pytest.mark.slow
@pytest.mark.parametrize("check", [waypoint_speed, waypoint_density, waypoint_pauses])
def test_random_waypoint(check):
    check(WALK)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "check", [gauss_markov_variance, gauss_markov_memory, gauss_markov_stays_uniform]
)
@pytest.mark.slow
def test_gauss_markov(check):
    check(DRIFT)
