"""JSON files of runs and sweeps, read as data that anybody may have written, and their forms."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError, one_line
from netsim.registry import MOST
from netsim.traces import bounded

MOST_JSON_BYTES = 1 << 26
MOST_NUMBER = 1e300
"""No number of a JSON file is greater."""
NUMBER, WHOLE, TEXT, FLAG = "a number", "a whole number", "a text", "true or false"
MAYBE = "a number or null"
ANY: tuple[str, ...] = ()

Form = Any
"""Form of a value in a JSON file: one of the words above, `ANY`; a list of one form, of which it
has any number; a dict of forms by key, of which any may be missing and "*" is for all others."""

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


def require_form(label: str, key: str, value: Any, form: Form) -> None:
    """Raise ScenarioError unless a value is of a form.

    Parameters
    ----------
    label, key : str
        The file, and where in it the value is.
    """
    if isinstance(form, dict):
        problem = None if isinstance(value, dict) else "must be a table"
    elif isinstance(form, list):
        problem = None if isinstance(value, list) else "must be a list"
    else:
        problem = None if form is ANY or _is_a(form, value) else f"must be {form}"
    if problem is not None:
        where = f"{one_line(key)[:200]}: " if key else ""
        raise ScenarioError(f"{label}: {where}is {one_line(value)[:60]}, {problem}")
    if isinstance(form, list):
        for place, item in enumerate(value):
            require_form(label, f"{key}[{place}]", item, form[0])
    elif isinstance(form, dict):
        for name, item in value.items():
            inner = form.get(name, form.get("*", ANY))
            if inner is not ANY:
                require_form(label, f"{key}.{name}" if key else name, item, inner)


def leaves(tables: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Values in nested tables by their dotted keys; an empty table has none."""
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _is_a(form: str, value: Any) -> bool:
    if value is None:
        return form == MAYBE
    if form == TEXT:
        return isinstance(value, str)
    if form == FLAG or isinstance(value, bool):
        return form == FLAG and isinstance(value, bool)
    if form == WHOLE:
        return isinstance(value, int) and abs(value) <= MOST
    most = MOST_NUMBER if isinstance(value, float) else MOST
    return isinstance(value, int | float) and abs(value) <= most


def declared(value: Any, form: Form) -> Any:
    """Return the part of a value that its form names."""
    if isinstance(form, list):
        return [declared(item, form[0]) for item in value]
    if not isinstance(form, dict):
        return value
    inner = {name: form.get(name, form.get("*")) for name in value}
    return {name: declared(value[name], one) for name, one in inner.items() if one is not None}
