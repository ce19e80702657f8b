"""Mobility: places that follow from seed, node and time, and a speed that holds."""

import numpy as np

from netsim.rng import Streams
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require
from netsim.topology.mobility import Mobility
from netsim.units import NS_PER_S

START_M = np.array([[0.0, 0.0], [10.0, -5.0], [-20.0, 15.0]])


def check(mobility: Mobility, case: ComponentCase) -> None:
    """Check three nodes for a minute, in any order: never faster than `fastest_m_per_s`."""

    def at(order: range) -> dict[int, np.ndarray]:
        track = mobility.track(START_M, 50.0, Streams(0), None)
        assert track is not None
        return {t: track.at([0, 1, 2], t * NS_PER_S) for t in order}

    track = mobility.track(START_M, 50.0, Streams(0), None)
    if track is None:
        return
    forward, backward = at(range(61)), at(range(60, -1, -1))
    for t, places in forward.items():
        require(places.shape in ((3, 2), (3, 3)), f"places at {t} s have the shape {places.shape}")
        require(
            np.allclose(places, backward[t]), f"places at {t} s depend on what was asked before"
        )
    steps = [np.linalg.norm(forward[t + 1] - forward[t], axis=1).max() for t in range(60)]
    require(
        max(steps) <= track.fastest_m_per_s * (1 + 1e-6) + 1e-6,
        f"a node moves {max(steps):g} m in 1 s; fastest_m_per_s = {track.fastest_m_per_s:g}",
    )
