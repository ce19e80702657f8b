"""JSON files of runs and sweeps, read as data that anybody may have written."""

import json
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError, one_line
from netsim.recording.forms import ANY, FLAG, MAYBE, NUMBER, TEXT, WHOLE, Form, require_form
from netsim.traces import bounded

MOST_JSON_BYTES = 1 << 26

FILES: dict[str, Form] = {
    "summary.json": {
        "name": TEXT,
        "algorithm": TEXT,
        "seed": WHOLE,
        "nodes": WHOLE,
        "task": {"kind": TEXT, "metric": TEXT, "lower": [TEXT]},
        "virtual_s": NUMBER,
        "wall_s": NUMBER,
        "energy_j": MAYBE,
        "local_steps": MAYBE,
        "models_sent": MAYBE,
        "messages": {"*": MAYBE},
        "delay": {"mean_s": MAYBE, "p50_s": MAYBE, "p95_s": MAYBE},
        "staleness": {"mean_s": MAYBE},
        "uses": {"*": MAYBE},
        "wakes": {"*": MAYBE},
        "counts": {"*": WHOLE},
        "graph": {"*": ANY, "sparsity": MAYBE, "asymmetry": MAYBE},
        "engine": {"one_by_one": {"*": TEXT}, "ways": {"*": TEXT}, "evaluation_wall_s": NUMBER},
        "topology": {"*": WHOLE},
        "diverged": [{"t_s": NUMBER, "node": WHOLE, "job": TEXT}],
        "diverged_by_message": [{"t_s": NUMBER, "node": WHOLE, "sender": WHOLE}],
        "changes": [{"at_s": NUMBER, "unread": [TEXT]}],
        "warnings": [TEXT],
        "time_s": {"*": [NUMBER]},
    },
    "status.json": {"state": TEXT, "virtual_s": NUMBER, "error": TEXT},
    "environment.json": {
        "timing_only": FLAG,
        "assumptions": [TEXT],
        "routes": {"*": {"advice": TEXT}},
        "data": {"*": ANY},
        "resumed": [{"*": ANY}],
        "packages": {"*": ANY},
        "inputs": [{"file": TEXT, "bytes": WHOLE, "sha256": TEXT}],
        "algorithm": [{"file": TEXT, "bytes": WHOLE, "sha256": TEXT}],
        "components": [{"file": TEXT, "bytes": WHOLE, "sha256": TEXT}],
    },
    "sweep.json": {
        "netsim": TEXT,
        "begun_with": TEXT,
        "timing_only": FLAG,
        "algorithms": {"*": TEXT},
        "components": {"*": TEXT},
    },
    "trials.json": [
        {"point": TEXT, "algorithm": TEXT, "values": {"*": ANY}, "state": TEXT, "score": MAYBE}
    ],
    "command.json": {
        "sub_folders": FLAG,
        "timing_only": FLAG,
        "figures": FLAG,
        "report": FLAG,
        "agent": FLAG,
        "fork": ANY,
    },
    "scenario.json": {"scenario": TEXT, "instead_of": [TEXT]},
    "ended.json": {"virtual_s": NUMBER, "written": {"*": TEXT}},
    "checksums.json": {"sha256": {"*": TEXT}},
    "checkpoint.json": {"sha256": TEXT, "checkpoint": TEXT},
}
"""Forms of the JSON files of runs and sweeps, as far as they are read."""


def json_file(path: Path, form: Form = None, most_bytes: int = MOST_JSON_BYTES) -> dict[str, Any]:
    """A JSON file of a folder of runs.

    Parameters
    ----------
    path : Path
    form : Form, optional
        What it holds; None: what `FILES` says of its name.
    most_bytes : int
        A larger one is refused before it is read.

    Raises
    ------
    FileNotFoundError
        If there is none.
    ScenarioError
        If it is no plain file, too large, no JSON, or holds other things.
    """
    label = one_line(path)
    try:
        content = bounded.read_plain_file(path, label, most_bytes, follow_links=False)
        found = json.loads(content, parse_constant=_no_number)
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise ScenarioError(f"{label}: can't be read: {problem.strerror or problem}") from None
    except (ValueError, RecursionError) as problem:
        raise ScenarioError(f"{label}: not JSON: {one_line(problem)[:200]}") from None
    form = FILES[path.name] if form is None else form
    require_form(label, "", found, form)
    return found  # type: ignore[no-any-return]


def _no_number(constant: str) -> None:
    raise ValueError(f"it holds {constant}, which no file of a run does")
