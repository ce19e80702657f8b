"""The command `netsim report`: a page on which one sees what happened in a run or a sweep."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.campaign import trials
from netsim.console import sweep_tables
from netsim.engine.runner import DATA_VARIABLE
from netsim.errors import DataError, ScenarioError, one_line
from netsim.recording import checksums, run_folder
from netsim.recording.played import folders as begun_runs
from netsim.rng import Streams
from netsim.scenario import Scenario, load
from netsim.scenario.kinds import kinds_of
from netsim.traces import bounded
from netsim.traces.files import is_file, spelt_out
from netsim.units import to_ns
from netsim.views.gathering.comparison import SweepDesign
from netsim.views.gathering.run_tables import Places
from netsim.views.render.page import html, run_page, sweep_page
from netsim.world.placement import placed

MOST_MESSAGES = 3_000_000
"""Of more, a run's end does not wait for its page: about 3 s for a million."""
MOST_RUNS = 1_000
"""Of more, a sweep's end does not wait for its page."""


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
        If there is no run, or the file is something else than a page.
    """
    target = out or path / run_page.NAME
    if out is not None:
        _require_free(out)
    if sweep_tables.is_sweep(path):
        sweep_page.report(path, sweep_tables.design_of(path), trials.recorded(path), target)
    else:
        folders = begun_runs(path)
        run_page.report(folders, target, places_of(folders[0], components, data))
    if out is None:
        checksums.renew(path, run_page.NAME)
    return target


def _require_free(out: Path) -> None:
    """Raise ScenarioError where something else than an earlier page would be replaced."""
    if out.is_dir():
        raise ScenarioError(f"--out {one_line(out)}: is a folder; name a file, such as page.html")
    if out.exists() or out.is_symlink():
        try:
            with bounded.opened(out, one_line(out), follow_links=False) as file:
                is_page = html.is_page(file.read(html.MOST_HEAD_BYTES))
        except (OSError, DataError):
            is_page = False
        if not is_page:
            raise ScenarioError(
                f"--out {one_line(out)}: is there already and is no page of netsim's; name another "
                "file"
            )


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
    return True


def conclude_sweep(top: Path, design: SweepDesign) -> bool:
    """Write the page of a sweep that has just ended, unless that would keep its user waiting.

    Parameters
    ----------
    top : Path
        Its folder, in which at least one run is done.
    design : SweepDesign

    Returns
    -------
    bool
        Whether it was written.
    """
    if sum(1 for _ in top.glob("*/seed-*/*/summary.json")) > MOST_RUNS:
        return False
    sweep_page.report(top, design, trials.recorded(top), top / run_page.NAME)
    return True


def _messages(folder: Path) -> int:
    return run_folder.rows(folder, "messages")


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
    if not is_file(folder / "scenario.toml"):
        return lambda _: None
    try:
        return _places(
            load(str(run_folder.scenario_file(folder)), kinds=kinds_of(components)), data
        )
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
