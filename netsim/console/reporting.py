"""The command `netsim report`: a page on which one sees what happened in a run or a sweep."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from netsim.engine.runner import DATA_VARIABLE
from netsim.errors import ScenarioError, one_line
from netsim.recording import checksums
from netsim.recording.parquet_parts import part_files
from netsim.results.report import run_page
from netsim.results.report.run_tables import Places
from netsim.rng import Streams
from netsim.scenario import Scenario, load
from netsim.scenario.kinds import kinds_of
from netsim.traces.files import is_file, spelt_out
from netsim.units import to_ns
from netsim.world.placement import placed

MOST_MESSAGES = 3_000_000
"""Of more, a run's end does not wait for its page: about 3 s for a million."""


def report(path: Path, out: Path | None, components: Sequence[Path], data: Path | None) -> Path:
    """Write the page of a run, of several algorithms beside each other, or of a sweep.

    Parameters
    ----------
    path : Path
        A run's folder, whether it has ended or not; one above several; a sweep's.
    out : Path or None
        The file; None: `report.html` in that folder.
    components : sequence of Path
        Folders of components of the user's own.
    data : Path or None
        The data folder, where traces of positions may lie; None: the scenario's, else
        `NETSIM_DATA`.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ScenarioError
        If there is no run.
    """
    from netsim.console import sweep_tables

    target = out or path / run_page.NAME
    if out is not None and out.is_dir():
        raise ScenarioError(f"--out {one_line(out)}: is a folder; name a file, such as page.html")
    if sweep_tables.is_sweep(path):
        from netsim.engine import search_record
        from netsim.results.report import sweep_page

        sweep_page.report(path, sweep_tables.design_of(path), search_record.recorded(path), target)
    else:
        folders = run_page.folders_of(path)
        run_page.report(folders, target, _places_of_folder(folders[0], components, data))
    if out is None:
        checksums.renew(path, run_page.NAME)
    return target


def conclude(top: Path, folders: Sequence[Path], scenario: Scenario) -> bool:
    """Write the page of runs that have just ended, unless that would keep their user waiting.

    Parameters
    ----------
    top : Path
        The folder of all of them.
    folders : sequence of Path
        One an algorithm.
    scenario : Scenario

    Returns
    -------
    bool
        Whether it was written.
    """
    if sum(map(_messages, folders)) > MOST_MESSAGES:
        return False
    run_page.report(folders, top / run_page.NAME, _places(scenario, None))
    checksums.renew(top, run_page.NAME)
    return True


def _messages(folder: Path) -> int:
    return sum(pq.read_metadata(path).num_rows for path in part_files(folder / "messages"))


def _places_of_folder(folder: Path, components: Sequence[Path], data: Path | None) -> Places:
    """Where the nodes of a run were; None where its scenario can't be read here."""
    if not is_file(folder / "scenario.toml"):
        return lambda _: None
    try:
        return _places(load(str(folder / "scenario.toml"), kinds=kinds_of(components)), data)
    except ScenarioError:
        return lambda _: None


def _places(scenario: Scenario, data: Path | None) -> Places:
    lies = data or scenario.data.path or os.environ.get(DATA_VARIABLE)
    folder = None if lies is None else spelt_out(str(lies))

    def at(times_s: Sequence[float]) -> NDArray[np.float64] | None:
        try:
            _, track = placed(scenario, Streams(scenario.seed), folder)
        except ScenarioError:
            return None  # a trace that is not there: the page says so
        if track is None:
            return None
        everybody = range(scenario.nodes.count)
        return np.stack([track.at(everybody, to_ns(t_s)) for t_s in times_s])

    return at
