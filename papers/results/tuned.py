"""Results of a search, as the algorithms of the scenario that is played with them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError
from netsim.scenario import draft_of
from netsim.scenario.labels import shown
from papers.results.cell_runs import MODULES
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
    entries = draft_of(scenario, (), MODULES).raw["algorithm"]
    labels = [entry.get("name", entry["kind"]) for entry in entries]
    for label in best:
        if label not in labels:
            raise ScenarioError(unknown(label, labels, f"{search / BEST}: entries of {scenario}"))
    return "\n".join(map(_block, entries, (best.get(label) for label in labels)))


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


def _block(entry: Mapping[str, Any], best: Mapping[str, Any] | None) -> str:
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
    return "\n".join(["[[algorithm]]", *(f"{key} = {shown(v)}" for key, v in found.items()), ""])
