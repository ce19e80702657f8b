"""Normal form of a scenario: one way to write each table, which its validation reads."""

from typing import Any

from netsim.errors import ScenarioError, one_line
from netsim.scenario.draft import LISTS


def normalised(raw: dict[str, Any], label: str) -> dict[str, Any]:
    """Bring the tables of a draft into the one form that the model reads.

    Parameters
    ----------
    raw : dict
    label : str
        Starts an error.

    Raises
    ------
    ScenarioError
        If key paths with and without quotes are the same.
    """
    tables = dict(raw)
    if tables.get("radio") is None and tables.get("link") is None:
        tables["link"] = {}
    for (key,) in LISTS:
        if isinstance(tables.get(key), dict):
            tables[key] = [tables[key]]
    if isinstance(tables.get("changes"), list):
        tables["changes"] = [
            {**change, "set": _flat_paths(change["set"], f"{label}: [[changes]] set")}
            if isinstance(change, dict) and isinstance(change.get("set"), dict)
            else change
            for change in tables["changes"]
        ]
    if isinstance(tables.get("algorithm"), list):
        tables["algorithm"] = [
            {**entry, "set": _flat_paths(entry["set"], f"{label}: [algorithm] set")}
            if isinstance(entry, dict) and isinstance(entry.get("set"), dict)
            else entry
            for entry in tables["algorithm"]
        ]
    if isinstance(tables.get("sweep"), dict):
        sweep = dict(tables["sweep"])
        for key in ("over", "draw"):
            if isinstance(sweep.get(key), dict):
                sweep[key] = _flat_paths(sweep[key], f"{label}: [sweep.{key}]")
        if isinstance(sweep.get("draw"), dict):
            sweep["draw"] = {
                k: {"values": v} if isinstance(v, list) else v for k, v in sweep["draw"].items()
            }
        tables["sweep"] = sweep
    return tables


def _flat_paths(tables: dict[str, Any], label: str) -> dict[str, Any]:
    """`{"a": {"b": [1]}}` as `{"a.b": [1]}`: TOML writes key paths with and without quotes."""
    flat: dict[str, Any] = {}
    for key, value in tables.items():
        found = {key: value}
        if isinstance(value, dict) and value and not {"low", "high"} & value.keys():
            found = {f"{key}.{rest}": v for rest, v in _flat_paths(value, label).items()}
        twice = [path for path in found if path in flat]
        if twice:
            raise ScenarioError(
                f"{label}: {one_line(twice[0])} is stated twice, with and without quotes; leave "
                "one out"
            )
        flat |= found
    return flat
