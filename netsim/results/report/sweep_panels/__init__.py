"""Panels of a sweep's page; one panel a module.

A module states `gather(sweep)`, which makes of a `SweepTables` what `assets/panels/NAME.js` draws,
or None where the sweep has nothing of the kind.
"""

from collections.abc import Callable
from typing import Any

from netsim.results.report.sweep_panels import differences, multiples, parallel, points, sweep_facts
from netsim.results.report.sweep_tables import SweepTables

PANELS: dict[str, Callable[[SweepTables], dict[str, Any] | None]] = {
    "sweep_facts": sweep_facts.gather,
    "differences": differences.gather,
    "multiples": multiples.gather,
    "parallel": parallel.gather,
    "points": points.gather,
}
"""By name, in the order of the page."""
