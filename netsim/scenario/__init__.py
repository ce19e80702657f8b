"""Scenarios: TOML files, the tables in them, and how their errors are reported."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netsim.scenario.loading import check, draft_of, from_dict, json_schema, load, to_toml
    from netsim.scenario.nodes import Group, Nodes
    from netsim.scenario.sweep import Draw, Sweep
    from netsim.scenario.tables import (
        AlgorithmEntry,
        Data,
        Metrics,
        Run,
        Scenario,
    )
    from netsim.scenario.training import Training

__all__ = [
    "AlgorithmEntry",
    "Data",
    "Draw",
    "Group",
    "Metrics",
    "Nodes",
    "Run",
    "Scenario",
    "Sweep",
    "Training",
    "check",
    "draft_of",
    "from_dict",
    "json_schema",
    "load",
    "to_toml",
]

_HOMES = {
    "loading": ("check", "draft_of", "from_dict", "json_schema", "load", "to_toml"),
    "nodes": ("Group", "Nodes"),
    "sweep": ("Draw", "Sweep"),
    "training": ("Training",),
}
"""Modules of the names that are not in `tables`."""


def __getattr__(name: str) -> Any:
    # Imported on first use: `netsim list` comes by here and needs no table.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names), "tables")
    return getattr(import_module(f"{__name__}.{home}"), name)
