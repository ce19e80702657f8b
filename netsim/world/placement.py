"""Where the nodes of a scenario are, and how they move."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.rng import Streams
from netsim.scenario.tables import Scenario
from netsim.topology.mobility import Track
from netsim.topology.mobility.static import Static
from netsim.traces.geodesy import degrees_problem


def placed(
    scenario: Scenario, streams: Streams, folder: Path | None
) -> tuple[NDArray[np.float64] | None, Track | None]:
    """Where nodes start, and how they move from there.

    Parameters
    ----------
    scenario : Scenario
    streams : Streams
    folder : Path or None
        The data folder, where a trace of positions may lie.

    Returns
    -------
    positions_m : (N, 2) or (N, 3) array or None
        None where links have no places.
    track : Track or None
        None if nobody moves.

    Raises
    ------
    ScenarioError
        If a mobility model or an energy model needs places and nodes have none, or nodes move in a
        scenario without a radio, where places have no effect.
    """
    positions, law = _positions(scenario, streams), scenario.mobility
    _require_for_energy(scenario, positions is not None or law.states_places)
    if isinstance(law, Static):
        return positions, None
    told = f'[mobility] kind = "{law.model_dump()["kind"]}"'
    if law.states_places:
        if positions is not None:
            raise ScenarioError(
                f"{told}: says where all nodes are, and [nodes] placement = "
                f'"{scenario.nodes.placement}" says it, too; leave out placement'
            )
        positions = np.zeros((scenario.nodes.count, 2))
    if positions is None:
        raise ScenarioError(
            f'{told}: nodes have no places under [nodes] placement = "iid_links"; set "disc", '
            '"square" or "given"'
        )
    if scenario.radio is None:
        raise ScenarioError(f"{told}: where nodes are matters over the air only; give a [radio]")
    if scenario.nodes.placement == "square" and law.turn_every_s(1.0) is not None:
        raise ScenarioError(
            f'{told}: moves nodes in the disc of nodes.radius_m, and [nodes] placement = "square" '
            'puts them into a square; set placement = "disc", or move them by a file'
        )
    track = law.track(positions, scenario.nodes.radius_m, streams, folder)
    if track is not None:
        positions = track.at(range(scenario.nodes.count), 0)
    return positions, track


def distances(
    positions_m: NDArray[np.float64] | None,
    track: Track | None,
    heights_m: Sequence[float] = (),
) -> Callable[[int, int, int], float] | None:
    """The distance between two nodes [m], as a function of (node, node, time_ns).

    Parameters
    ----------
    positions_m : (N, 2) or (N, 3) array or None
        At the start.
    track : Track or None
        How nodes move; None: nobody does.
    heights_m : sequence of float
        Of each node; empty: distances are those along the ground.

    Returns
    -------
    callable or None
        None where nodes have no places.
    """
    if positions_m is None:
        return None

    def distance_m(i: int, j: int, time_ns: int) -> float:
        one, other = positions_m[[i, j]] if track is None else track.at((i, j), time_ns)
        return math.dist(one, other)

    if not len(heights_m):
        return distance_m

    def slant_m(i: int, j: int, time_ns: int) -> float:
        return math.hypot(distance_m(i, j, time_ns), heights_m[i] - heights_m[j])

    return slant_m


def _require_for_energy(scenario: Scenario, places: bool) -> None:
    radio = scenario.energy.radio
    told = f'[energy.radio] kind = "{radio.kind}"'
    if radio.needs_radio and scenario.radio is None:
        raise ScenarioError(f"{told}: is about a radio, and the scenario has none; give a [radio]")
    if radio.needs_places and not places:
        raise ScenarioError(
            f"{told}: pays for distances, and nodes have no places under [nodes] placement = "
            '"iid_links"; set "disc", "square" or "given"'
        )


def _positions(scenario: Scenario, streams: Streams) -> NDArray[np.float64] | None:
    nodes, ids = scenario.nodes, np.arange(scenario.nodes.count)
    if nodes.placement == "given":
        given = np.array(nodes.positions_m)
        problem = degrees_problem(given)
        if problem is not None:
            raise ScenarioError(
                f"[nodes] positions_m: {problem}; give degrees as a table with the columns node, "
                't_s, lat, lon ([mobility] kind = "trace"), and if these are metres, subtract one '
                "place from all: only distances count"
            )
        return given
    if nodes.placement == "disc":
        radius = nodes.radius_m * np.sqrt(streams.uniforms("place/radius", counters=ids))
        angle = 2 * math.pi * streams.uniforms("place/angle", counters=ids)
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    if nodes.placement == "square":
        sides = [streams.uniforms(f"place/{axis}", counters=ids) for axis in "xy"]
        return nodes.side_m * np.stack(sides, axis=1)
    return None
