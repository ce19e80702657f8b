"""Results of a search, as the algorithms of the scenario that is played with them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

import netsim
from netsim import ScenarioError
from papers.results.problems import unknown

BEST = "best.json"

DIGITS = 4
"""Significant digits of what is found: a search is no more exact."""


def blocks(scenario: str, search: Path) -> str:
    """The `[[algorithm]]` tables of a scenario with the best values of a search.

    Parameters
    ----------
    scenario : str
        Its name.
    search : Path
        The folder of the search, whose entries have the same names.

    Raises
    ------
    ScenarioError
        If there is no such scenario, or nothing was found.
    """
    best = _best(search)
    entries = netsim.load(scenario).stated["algorithm"]
    labels = [entry.get("name", entry["kind"]) for entry in entries]
    for label in best:
        if label not in labels:
            raise ScenarioError(unknown(label, labels, f"{search / BEST}: entries of {scenario}"))
    found = [_changed(entry, best.get(label)) for entry, label in zip(entries, labels, strict=True)]
    return tomli_w.dumps({"algorithm": found})


def _best(search: Path) -> dict[str, Mapping[str, Any]]:
    """The best values by entry."""
    path = search / BEST
    try:
        best = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        told = "is no search that has ended (netsim sweep plays one)"
        raise ScenarioError(f"{search}: {told}: {error.strerror}: {BEST}") from error
    except ValueError as error:
        raise ScenarioError(f"{path}: is not JSON: {error}; play the search again") from error
    if not isinstance(best, dict) or not all(map(_has_values, best.values())):
        told = "does not have the best values of each entry; play the search again"
        raise ScenarioError(f"{path}: {told}")
    return {label: one["values"] for label, one in best.items()}


def _has_values(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("values"), dict)


def _changed(entry: Mapping[str, Any], best: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the entry with the values that were found."""
    found = dict(entry)
    name = found.get("name", found["kind"])
    training = dict(found.pop("training", {}))
    for key, value in (best or {}).items():
        short = float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
        if key.startswith("training."):
            training[key.removeprefix("training.")] = short
        elif key.startswith(f"algorithm.{name}."):
            found[key.removeprefix(f"algorithm.{name}.")] = short
        elif not key.startswith("algorithm."):  # the keys of other entries are tried with it
            raise ScenarioError(f"{BEST}: {name}: {key} is no key of training or of an entry")
    if training:
        found["training"] = training
    return found
