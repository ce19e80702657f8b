"""Normal form of a scenario: one way to write each table, which its validation reads."""

from typing import Any

from netsim.scenario.draft import LISTS, flat_paths


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
            {**change, "set": flat_paths(change["set"], f"{label}: [[changes]] set")}
            if isinstance(change, dict) and isinstance(change.get("set"), dict)
            else change
            for change in tables["changes"]
        ]
    if isinstance(tables.get("algorithm"), list):
        tables["algorithm"] = [
            {**entry, "set": flat_paths(entry["set"], f"{label}: [algorithm] set")}
            if isinstance(entry, dict) and isinstance(entry.get("set"), dict)
            else entry
            for entry in tables["algorithm"]
        ]
    if isinstance(tables.get("sweep"), dict):
        sweep = dict(tables["sweep"])
        for key in ("over", "draw"):
            if isinstance(sweep.get(key), dict):
                sweep[key] = flat_paths(sweep[key], f"{label}: [sweep.{key}]")
        if isinstance(sweep.get("draw"), dict):
            sweep["draw"] = {
                k: {"values": v} if isinstance(v, list) else v for k, v in sweep["draw"].items()
            }
        tables["sweep"] = sweep
    return tables
