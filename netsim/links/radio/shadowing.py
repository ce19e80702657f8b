"""Shadowing of links: how strong it is, and over what distance it changes."""

import math

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.links.radio.table import Radio
from netsim.rng import Streams

_STEP_M = 1.0
"""Time is divided into steps in which no node moves farther than this."""
_STEP_OF_DECORRELATION = 0.1
"""... nor, with shadowing, than this fraction of its decorrelation distance."""


def shadow_db(
    radio: Radio, streams: Streams, low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Shadowing of pairs of nodes without places: one draw a pair.

    Parameters
    ----------
    radio : Radio
    streams : Streams
    low, high : (P,) int64
        The ends of each pair, the lower id first.

    Returns
    -------
    (P,) float64
        In dB.
    """
    u = streams.uniform_array("shadowing", low, high)
    return np.asarray((radio.shadowing.sigma_db or 0.0) * radio.shadowing.still(u))


def shadowing_sizes(radio: Radio) -> tuple[tuple[float, float], tuple[float, float]]:
    """Shadowing: (sigma [dB], decorrelation distance [m]), each (in sight, out of sight)."""
    own = radio.path_loss.own_shadowing
    sigma_db, decorrelation_m = radio.shadowing.sigma_db, radio.shadowing.decorrelation_m
    return (
        (sigma_db, sigma_db)
        if sigma_db is not None or own is None
        else (own[0].sigma_db, own[1].sigma_db),
        (decorrelation_m or math.inf,) * 2
        if decorrelation_m is not None or own is None
        else (own[0].decorrelation_m, own[1].decorrelation_m),
    )


def longest_step_m(radio: Radio) -> float:
    """Return the greatest distance that a node may move in one step [m]."""
    if not radio.shadowing.drawn:
        return _STEP_M
    shortest_m = min(shadowing_sizes(radio)[1])
    if math.isinf(shortest_m):
        raise ScenarioError(
            f'[radio.shadowing] decorrelation_m: path_loss "{radio.path_loss.kind}" states none '
            "of its own, and nodes move; say over what distance shadowing changes"
        )
    return min(_STEP_M, _STEP_OF_DECORRELATION * shortest_m)
