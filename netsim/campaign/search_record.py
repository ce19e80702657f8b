"""`trials.json` of a sweep's folder: for readers, what each trial of a search was."""

from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError
from netsim.recording import run_folder

TRIALS = "trials.json"


def recorded(top: Path) -> list[dict[str, Any]]:
    """The trials of a sweep's folder: `point algorithm values state score` of each."""
    try:
        found: Any = run_folder.json_file(top / TRIALS)
    except (FileNotFoundError, ScenarioError):
        return []
    needed = {"point", "state", "values"}
    return list(found) if all(needed <= trial.keys() for trial in found) else []


def played_points(top: Path) -> dict[str, dict[str, Any]]:
    """The trials of a sweep's folder in the order of their names: labels and values."""
    found = {trial["point"]: dict(trial["values"]) for trial in recorded(top)}
    return dict(sorted(found.items()))
