"""Positions of the nodes of a scenario, and their movements."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.rng import Streams
from netsim.scenario.tables import Scenario
from netsim.topology.mobility import HighTrack, Mobility, Track
from netsim.topology.mobility._several import Several, SeveralHigh
from netsim.topology.mobility.static import Static
from netsim.traces.geodesy import degrees_problem


def place_nodes(
    scenario: Scenario, streams: Streams, folder: Path | None
) -> tuple[NDArray[np.float64] | None, Track | None]:
    """Return the first positions of nodes, and their movements from there.

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
    positions = _positions(scenario, streams)
    laws: list[Mobility] = []
    by_node = [_number_of(law, laws) for law in scenario.per_node("mobility")]
    stated = any(law.states_places for law in laws)
    _require_for_energy(scenario, positions is not None or stated)
    if all(isinstance(law, Static) for law in laws):
        return positions, None
    if stated:
        _require_alone(scenario, laws, positions is not None)
        positions = np.zeros((scenario.nodes.count, 2))
    for law in laws:
        _require_places(scenario, law, positions is not None)
    assert positions is not None
    radius_m, tracks = scenario.nodes.radius_m, []
    for number, law in enumerate(laws):
        mine = np.array(by_node) == number  # others are none of its business
        tracks.append(law.track(np.where(mine[:, None], positions, 0.0), radius_m, streams, folder))
    track: Track | None = tracks[0]
    if len(laws) > 1:
        track = _combine_tracks([tracks[number] for number in by_node], positions, scenario)
    if track is not None:
        positions = track.at(range(scenario.nodes.count), 0)
    return positions, track


def starting_heights_m(scenario: Scenario, track: Track | None) -> tuple[float, ...]:
    """Height of each node at the start [m]; empty where none has one."""
    if isinstance(track, HighTrack):
        return tuple(track.heights_m(range(scenario.nodes.count), 0).tolist())
    return scenario.nodes.heights


def _number_of(law: Mobility, laws: list[Mobility]) -> int:
    """Number of the law among the laws; a new one becomes the last."""
    if law not in laws:
        laws.append(law)
    return laws.index(law)


def _combine_tracks(
    tracks: Sequence[Track | None], start_m: NDArray[np.float64], scenario: Scenario
) -> Track | None:
    """Combine nodes' tracks, None of one that stays, into one; None if all stay."""
    if not any(tracks):
        return None
    if not any(isinstance(track, HighTrack) for track in tracks):
        return Several(tracks, start_m)
    level_m = scenario.nodes.heights or np.zeros(len(start_m))
    return SeveralHigh(tracks, start_m, np.array(level_m))


def _require_alone(scenario: Scenario, laws: Sequence[Mobility], places: bool) -> None:
    """Raise ScenarioError where something stands beside a law that says where all nodes are."""
    law = next(law for law in laws if law.states_places)
    key = f'[mobility] kind = "{law.model_dump()["kind"]}"'
    if places:
        raise ScenarioError(
            f"{key}: says where all nodes are, and [nodes] placement = "
            f'"{scenario.nodes.placement}" says it, too; leave out placement'
        )
    if len(laws) > 1:
        raise ScenarioError(
            f"{key}: says where all nodes are, and a group has a [mobility] of its own; leave one "
            "out"
        )


def _require_places(scenario: Scenario, law: Mobility, places: bool) -> None:
    """Raise ScenarioError where a law of motion does not go with how nodes are placed."""
    if isinstance(law, Static):
        return
    key = f'[mobility] kind = "{law.model_dump()["kind"]}"'
    if not places:
        raise ScenarioError(
            f'{key}: nodes have no places under [nodes] placement = "iid_links"; set "disc", '
            '"square" or "given"'
        )
    if scenario.radio is None:
        raise ScenarioError(f"{key}: where nodes are matters over the air only; give a [radio]")
    if scenario.nodes.placement == "square" and law.turn_every_s(1.0) is not None:
        raise ScenarioError(
            f'{key}: moves nodes in the disc of nodes.radius_m, and [nodes] placement = "square" '
            'puts them into a square; set placement = "disc", or move them by a file'
        )


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
        Of each node, if `track` has none; empty: distances are those along the ground.

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

    if isinstance(track, HighTrack):
        high = track

        def in_space_m(i: int, j: int, time_ns: int) -> float:
            one_m, other_m = high.heights_m((i, j), time_ns).tolist()
            return math.hypot(distance_m(i, j, time_ns), one_m - other_m)

        return in_space_m
    if not len(heights_m):
        return distance_m

    def slant_m(i: int, j: int, time_ns: int) -> float:
        return math.hypot(distance_m(i, j, time_ns), heights_m[i] - heights_m[j])

    return slant_m


def _require_for_energy(scenario: Scenario, places: bool) -> None:
    radio = scenario.energy.radio
    key = f'[energy.radio] kind = "{radio.kind}"'
    if radio.needs_radio and scenario.radio is None:
        raise ScenarioError(f"{key}: is about a radio, and the scenario has none; give a [radio]")
    if radio.needs_places and not places:
        raise ScenarioError(
            f"{key}: pays for distances, and nodes have no places under [nodes] placement = "
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
