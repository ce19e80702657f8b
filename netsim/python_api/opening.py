"""Opening the folders of runs and sweeps, just played or of another day."""

from collections.abc import Sequence
from pathlib import Path

from netsim.console import sweep_tables
from netsim.errors import ScenarioError, one_line
from netsim.python_api.runs import Run, Sweep
from netsim.python_api.scenario import Scenario
from netsim.recording import run_folder
from netsim.recording.summary import load, run_folders
from netsim.scenario.labels import csv_cell
from netsim.views.gathering.comparison import SweepDesign
from netsim.views.gathering.frames import PlayedRun


def open_folder(folder: str | Path) -> Run:
    """Open runs that have been played, whoever played them.

    Parameters
    ----------
    folder : str or Path
        Of a run, of several algorithms, or of a sweep: what `--out` named.

    Returns
    -------
    Run
        A `Sweep` if it is one.

    Raises
    ------
    ScenarioError
        If no finished run is there.
    """
    path = Path(folder)
    if sweep_tables.is_sweep(path):
        return opened_sweep(path, None)
    return opened_run(path, run_folders(path), None)


def opened_run(folder: Path, folders: Sequence[Path], scenario: Scenario | None) -> Run:
    """The run of a folder.

    Parameters
    ----------
    folder : Path
    folders : sequence of Path
        One an algorithm.
    scenario : Scenario or None
        None: that of the folder.
    """
    runs = [_played(path) for path in folders]
    order = _order(folder)
    runs.sort(key=lambda run: order.get(str(run.labels["algorithm"]), len(order)))
    return Run(folder, runs, scenario)


def opened_sweep(folder: Path, scenario: Scenario | None) -> Sweep:
    """The sweep of a folder.

    Parameters
    ----------
    folder : Path
    scenario : Scenario or None
        None: that of the folder.

    Raises
    ------
    ScenarioError
        If no run of it has ended.
    """
    design: SweepDesign = sweep_tables.design_of(folder)
    order = _order(folder)
    runs = []
    for label, values in design.points.items():
        swept = {key: csv_cell(value) for key, value in values.items()}
        for seed in design.seeds:
            found = [_played(p.parent) for p in folder.glob(f"{label}/seed-{seed}/*/summary.json")]
            found.sort(key=lambda run: order.get(str(run.labels["algorithm"]), len(order)))
            runs += [PlayedRun(run.folder, {**swept, **run.labels}) for run in found]
    if not runs:
        raise ScenarioError(f"{one_line(folder)}: no run of this sweep has ended")
    return Sweep(folder, runs, design, scenario)


def _played(folder: Path) -> PlayedRun:
    found = load(folder)
    return PlayedRun(
        folder,
        {"seed": int(found.get("seed", 0)), "algorithm": str(found.get("algorithm", folder.name))},
    )


def _order(folder: Path) -> dict[str, int]:
    """Places of the algorithms in a folder's scenario; empty where it does not say."""
    try:
        entries = run_folder.scenario(folder).get("algorithm", [])
    except ScenarioError:
        return {}
    entries = entries if isinstance(entries, list) else [entries]
    names = [e.get("name", e.get("kind")) for e in entries if isinstance(e, dict)]
    return {str(name): place for place, name in enumerate(names)}
