"""State of a run folder, whether its run has ended or not."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError, one_line
from netsim.recording import run_folder
from netsim.recording.main_metric import MainMetric
from netsim.traces.files import is_file
from netsim.units import to_ns


@dataclass(frozen=True)
class Played:
    """Progress of a run.

    Attributes
    ----------
    folder : Path
    state : str
        `done`, `running`, `interrupted`, `failed`; `unknown` where nothing tells it.
    virtual_s : float
        How far it came [s].
    summary : dict
        Empty where there is none.
    """

    folder: Path
    state: str
    virtual_s: float
    summary: dict[str, Any]

    @property
    def end_ns(self) -> int:
        """Time that the run has reached [ns]."""
        return to_ns(self.virtual_s)

    @property
    def label(self) -> str:
        """Label of the run: scenario and algorithm, else the folder's name."""
        told = [str(self.summary[key]) for key in ("name", "algorithm") if key in self.summary]
        return ", ".join(told) or self.folder.name

    @property
    def main_metric(self) -> str:
        """The metric by which its task is judged."""
        return MainMetric.of(self.summary).name

    @property
    def is_lower_better(self) -> bool:
        """Return whether lower values of it are better."""
        return MainMetric.of(self.summary).is_lower_better


def look(folder: Path) -> Played:
    """Read the state of a run folder.

    Raises
    ------
    ScenarioError
        If it is not the folder of a run.
    """
    found: dict[str, Any] = {}
    if (folder / "summary.json").exists():
        found = run_folder.summary(folder)
    told = run_folder.status(folder)
    if not (found or told) or not is_file(folder / "nodes.parquet"):
        raise ScenarioError(f"{one_line(folder)}: not the folder of a run that has begun")
    virtual_s = found.get("virtual_s", told.get("virtual_s"))
    if virtual_s is None:
        virtual_s = _last_s(folder)
    state = "done" if found else str(told.get("state", "unknown"))
    return Played(folder, state, float(virtual_s), found)


def _last_s(folder: Path) -> float:
    """Return the time of the last written event."""
    times = {"messages": "t_done_s", "wakes": "t_s", "metrics": "t_s", "intervals": "t_end_s"}
    found = 0.0
    for table, column in times.items():
        for rows in run_folder.parts(folder, table, (column,)):
            found = max([found, *rows[column].tolist()])
    return float(found)


def folders(path: Path) -> list[Path]:
    """The run folders at `path`, finished or not: itself, or its sub-folders, by name.

    Raises
    ------
    ScenarioError
        If there is none.
    """

    def is_run(folder: Path) -> bool:
        return any(is_file(folder / name) for name in ("summary.json", "status.json"))

    try:
        found = [path] if is_run(path) else sorted(p for p in path.glob("*") if is_run(p))
    except (OSError, ValueError):
        found = []
    if not found:
        raise ScenarioError(f"{one_line(path)}: no run here or one folder below")
    return found
