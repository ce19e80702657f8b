"""Where the nodes of a scenario are, and how they move."""

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.rng import Streams
from netsim.scenario.tables import Scenario
from netsim.topology.mobility import Track
from netsim.topology.mobility.static import Static


def placed(
    scenario: Scenario, streams: Streams, folder: Path | None
) -> tuple[NDArray[np.float64] | None, Track | None]:
    """Positions at the start, (N, 2) [m], and the ways from there.

    Returns
    -------
    positions_m : (N, 2) array or None
        None where links have no places.
    track : Track or None
        None if nobody moves.

    Raises
    ------
    ScenarioError
        If nodes are to move that have no places, or over links to which places are nothing.
    """
    positions = _positions(scenario, streams)
    law = scenario.mobility
    if isinstance(law, Static):
        return positions, None
    told = f'[mobility] kind = "{law.model_dump()["kind"]}"'
    if positions is None:
        raise ScenarioError(
            f'{told}: nodes have no places under [nodes] placement = "iid_links"; set "disc" or '
            '"given"'
        )
    if scenario.radio is None:
        raise ScenarioError(f"{told}: where nodes are matters over the air only; give a [radio]")
    track = law.track(positions, scenario.nodes.radius_m, streams, folder)
    if track is not None:
        positions = track.at(range(scenario.nodes.count), 0)
    return positions, track


def _positions(scenario: Scenario, streams: Streams) -> NDArray[np.float64] | None:
    nodes = scenario.nodes
    if nodes.placement == "given":
        return np.array(nodes.positions_m)
    if nodes.placement == "disc":
        ids = np.arange(nodes.count)
        radius = nodes.radius_m * np.sqrt(streams.uniforms("place/radius", counters=ids))
        angle = 2 * math.pi * streams.uniforms("place/angle", counters=ids)
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return None
