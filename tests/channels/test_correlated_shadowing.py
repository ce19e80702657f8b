"""Shadowing that links share: covariance over seeds, reciprocity, places."""

import math

import numpy as np
import pytest

from netsim.channels.shadowing.correlated_ends import CorrelatedEnds
from netsim.channels.shadowing.nesh import NetworkShadowing, variance_of_mean
from netsim.errors import ScenarioError
from netsim.links.radio.phy.mean_snr import PlacedMeanSnr
from netsim.links.radio.table import Radio
from netsim.rng import Streams

D_M = 20.0
SEEDS = 1500
LINKS_M = np.array(
    [
        [0.0, 0.0, 100.0, 0.0],
        [0.0, 0.0, 80.0, 60.0],  # shares an end
        [0.0, 10.0, 100.0, 10.0],  # beside the first
        [50.0, -40.0, 50.0, 40.0],  # crosses the first, shares no end
        [0.0, 0.0, 15.0, 0.0],  # a part of the first
        [400.0, 0.0, 500.0, 0.0],  # far from all
    ]
)
KINDS = [CorrelatedEnds, NetworkShadowing]


def over_seeds(model) -> np.ndarray:
    """(SEEDS, links): each row with a field of its own."""
    rng = np.random.Generator(np.random.Philox(3))
    decorrelation_m = np.full(len(LINKS_M), D_M)
    draws = (rng.random((1, model.draws_in_motion)) for _ in range(SEEDS))
    return np.array([model.in_motion(u, LINKS_M, decorrelation_m) for u in draws])


def of_ends(one: np.ndarray, other: np.ndarray) -> float:
    """(r_ac + r_ad + r_bc + r_bd) / (2 sqrt((1 + r_ab) (1 + r_cd)))."""

    def r(x, y):
        return math.exp(-math.dist(x, y) / D_M)

    a, b, c, d = one[:2], one[2:], other[:2], other[2:]
    return (r(a, c) + r(a, d) + r(b, c) + r(b, d)) / (2 * math.sqrt((1 + r(a, b)) * (1 + r(c, d))))


def along_ways(one: np.ndarray, other: np.ndarray, points: int = 400) -> float:
    """Correlation of the means of the field along two links, by the midpoint rule."""
    s = (np.arange(points) + 0.5)[:, None] / points

    def mean(first, second):
        x = first[:2] + s * (first[2:] - first[:2])
        y = second[:2] + s * (second[2:] - second[:2])
        return float(np.exp(-np.hypot(*(x[:, None] - y[None]).transpose(2, 0, 1)) / D_M).mean())

    return mean(one, other) / math.sqrt(mean(one, one) * mean(other, other))


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("kind", "formula"), [(CorrelatedEnds, of_ends), (NetworkShadowing, along_ways)]
)
def test_links_have_the_correlation_of_the_formula(kind, formula):
    """Within 4.5 standard errors of the estimates; all links have mean 0 and variance 1."""
    found = over_seeds(kind(sigma_db=8.0, decorrelation_m=D_M))
    assert np.abs(found.mean(axis=0)).max() < 4.5 / math.sqrt(SEEDS)
    assert np.abs(found.std(axis=0) - 1.0).max() < 4.5 / math.sqrt(2 * SEEDS)
    got = np.corrcoef(found.T)
    for i in range(len(LINKS_M)):
        for j in range(i):
            want = formula(LINKS_M[i], LINKS_M[j])
            tolerance = 4.5 * (1.0 - want**2) / math.sqrt(SEEDS) + 1e-3
            assert got[i, j] == pytest.approx(want, abs=tolerance), (i, j)


def test_the_formulas_at_their_limits():
    """Long links that share an end: 1/2. NeSh: the variance of a mean over 1 and 100 distances."""
    far = np.array([0.0, 0.0, 1e5, 0.0]), np.array([0.0, 0.0, 0.0, 1e5])
    assert of_ends(*far) == pytest.approx(0.5, abs=1e-12)
    lengths = np.array([0.0, 1e-6, 1e-3, 1.0, 100.0])
    want = [1.0, 1.0 - 1e-6 / 3, 1.0 - 1e-3 / 3, 2.0 * math.exp(-1.0), 2.0 * 99.0 / 1e4]
    assert variance_of_mean(lengths) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("kind", ["correlated_ends", "nesh"])
def test_it_is_reciprocal_and_belongs_to_places(kind):
    """The same both ways, one by one and in a row; nodes at one place have the same shadowing."""
    shadowing = {"kind": kind, "sigma_db": 6.0, "decorrelation_m": D_M}
    at_m = np.array([[0.0, 0.0], [50.0, 0.0], [90.0, 30.0], [90.0, 30.0]])
    radio = Radio(shadowing=shadowing)
    means = PlacedMeanSnr(radio, (20.0,) * 4, at_m, Streams(5), math.inf)
    for i in range(3):
        row = means.snr(i, range(4), 0)
        for j in range(4):
            if i != j:
                assert means.pair_snr(i, j, 0) == means.pair_snr(j, i, 0) == row[j]
    assert means.pair_snr(0, 2, 0) == means.pair_snr(0, 3, 0)
    assert means.pair_snr(0, 2, 0) != PlacedMeanSnr(
        radio, (20.0,) * 4, at_m, Streams(6), math.inf
    ).pair_snr(0, 2, 0)


@pytest.mark.parametrize("kind", ["correlated_ends", "nesh"])
def test_it_needs_places(kind):
    radio = Radio(shadowing={"kind": kind, "sigma_db": 6.0, "decorrelation_m": D_M})
    with pytest.raises(ScenarioError, match=rf'"{kind}": needs to know where nodes are'):
        radio.do_without_places()
