"""`trials.json` of a sweep's folder: for readers, what each trial of a search was."""

import json
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError
from netsim.traces import bounded

TRIALS = "trials.json"


def recorded(top: Path) -> list[dict[str, Any]]:
    """The trials of a sweep's folder: `point algorithm values state score` of each."""
    try:
        content = bounded.content(top / TRIALS, str(top), bounded.MOST_TEXT_BYTES)
        found = json.loads(content)
        return [
            {
                **trial,
                "point": str(trial["point"]),
                "state": trial["state"],
                "values": dict(trial["values"]),
            }
            for trial in found
        ]
    except (OSError, ValueError, TypeError, KeyError, RecursionError, ScenarioError):
        return []


def played_points(top: Path) -> dict[str, dict[str, Any]]:
    """The trials of a sweep's folder in the order of their names: labels and values."""
    found = {trial["point"]: dict(trial["values"]) for trial in recorded(top)}
    return dict(sorted(found.items()))
