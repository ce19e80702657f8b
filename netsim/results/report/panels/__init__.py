"""Panels of a run's page; one panel a module.

A module states `gather(run)`, which makes of a `RunTables` what `assets/panels/NAME.js` draws:
lists, numbers and words for JSON, or None where the run has nothing of the kind, so that the page
has no empty box.
"""

from collections.abc import Callable
from typing import Any

from netsim.results.report.panels import (
    curves,
    delays,
    facts,
    fates,
    links,
    network,
    nodes,
    time_use,
)
from netsim.results.report.run_tables import RunTables

PANELS: dict[str, Callable[[RunTables], dict[str, Any] | None]] = {
    "facts": facts.gather,
    "curves": curves.gather,
    "network": network.gather,
    "fates": fates.gather,
    "links": links.gather,
    "delays": delays.gather,
    "time_use": time_use.gather,
    "nodes": nodes.gather,
}
"""By name, in the order of the page."""
