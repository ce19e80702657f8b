"""Normal form of a scenario: one way to write each table, which its validation reads."""

from typing import Any

from netsim.scenario.draft import LISTS


def normalised(raw: dict[str, Any]) -> dict[str, Any]:
    """Bring the tables of a draft into the one form that the model reads."""
    tables = dict(raw)
    if tables.get("radio") is None and tables.get("link") is None:
        tables["link"] = {}
    for (key,) in LISTS:
        if isinstance(tables.get(key), dict):
            tables[key] = [tables[key]]
    if isinstance(tables.get("changes"), list):
        tables["changes"] = [
            {**change, "set": _flat_paths(change["set"])}
            if isinstance(change, dict) and isinstance(change.get("set"), dict)
            else change
            for change in tables["changes"]
        ]
    if isinstance(tables.get("algorithm"), list):
        tables["algorithm"] = [
            {**entry, "set": _flat_paths(entry["set"])}
            if isinstance(entry, dict) and isinstance(entry.get("set"), dict)
            else entry
            for entry in tables["algorithm"]
        ]
    if isinstance(tables.get("sweep"), dict):
        sweep = dict(tables["sweep"])
        for key in ("over", "draw"):
            if isinstance(sweep.get(key), dict):
                sweep[key] = _flat_paths(sweep[key])
        if isinstance(sweep.get("draw"), dict):
            sweep["draw"] = {
                k: {"values": v} if isinstance(v, list) else v for k, v in sweep["draw"].items()
            }
        tables["sweep"] = sweep
    return tables


def _flat_paths(tables: dict[str, Any]) -> dict[str, Any]:
    """`{"a": {"b": [1]}}` as `{"a.b": [1]}`: TOML writes key paths with and without quotes."""
    flat: dict[str, Any] = {}
    for key, value in tables.items():
        if isinstance(value, dict) and value and not {"low", "high"} & value.keys():
            flat |= {f"{key}.{rest}": v for rest, v in _flat_paths(value).items()}
        else:
            flat[key] = value
    return flat
