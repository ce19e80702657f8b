"""What a search has found, as the algorithms of the scenario that is played with it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError
from netsim.scenario import draft_of
from netsim.scenario.labels import shown
from tools.results.playing import MODULES

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
    try:
        best = json.loads((search / "best.json").read_text(encoding="utf-8"))
    except OSError as error:
        told = "is no search that has ended (netsim sweep plays one)"
        raise ScenarioError(f"{search}: {told}: {error.strerror}: best.json") from error
    entries = draft_of(scenario, (), MODULES).raw["algorithm"]
    return "\n".join(_block(entry, best.get(entry.get("name", entry["kind"]))) for entry in entries)


def _block(entry: Mapping[str, Any], best: Mapping[str, Any] | None) -> str:
    found = dict(entry)
    name = found.get("name", found["kind"])
    training = dict(found.pop("training", {}))
    for key, value in (best["values"] if best else {}).items():
        short = float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
        if key.startswith("training."):
            training[key.removeprefix("training.")] = short
        elif key.startswith(f"algorithm.{name}."):
            found[key.removeprefix(f"algorithm.{name}.")] = short
    if training:
        found["training"] = training
    return "\n".join(["[[algorithm]]", *(f"{key} = {shown(v)}" for key, v in found.items()), ""])
