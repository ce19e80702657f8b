"""Scenarios: TOML files, the tables in them, and how their errors are reported."""

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
