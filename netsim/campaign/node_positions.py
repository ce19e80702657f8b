"""Positions of a run's nodes over time: worked out from its scenario once more, for its map."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.reader import Places
from netsim.rng import Streams
from netsim.scenario import Scenario, load
from netsim.scenario.kinds import kinds_of
from netsim.traces import files
from netsim.units import to_ns
from netsim.world.placement import place_nodes


def data_folder(scenario: Scenario, data: Path | None) -> Path | None:
    """Return the folder of a scenario's data: one that is named, its own, or `NETSIM_DATA`."""
    stated = data or scenario.data.path
    return files.data_folder() if stated is None else files.spelt_out(str(stated))


def places_of(folder: Path, components: Sequence[Path], data: Path | None) -> Places:
    """Return the positions of a run's nodes; None where its scenario can't be read here.

    Parameters
    ----------
    folder : Path
        Of the run.
    components : sequence of Path
        Folders of components of the user's own.
    data : Path or None
        The data folder; None: the scenario's, else `NETSIM_DATA`.
    """
    if not files.is_file(folder / "scenario.toml"):
        return lambda _: None
    try:
        return places_in(
            load(str(run_folder.scenario_file(folder)), kinds=kinds_of(components)), data
        )
    except ScenarioError:
        return lambda _: None


def places_in(scenario: Scenario, data: Path | None) -> Places:
    """Return the positions of a scenario's nodes, worked out from its seed and its traces.

    `data`: as of `places_of`.
    """
    folder = data_folder(scenario, data)

    def at(times_s: Sequence[float]) -> NDArray[np.float64] | None:
        try:
            _, track = place_nodes(scenario, Streams(scenario.seed), folder)
        except ScenarioError:
            return None  # a trace that is not there: the page says so
        if track is None:
            return None
        everybody = range(scenario.nodes.count)
        return np.stack([track.at(everybody, to_ns(t_s)) for t_s in times_s])

    return at
