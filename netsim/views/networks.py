"""The maps of several runs side by side, at the same moments."""

from collections.abc import Sequence

from netsim.recording.reader import RunFolder
from netsim.views import Ask, OnPage, Panel, Shown
from netsim.views.network import has_map

TITLE = "The network over time"
PLACE = 30


def of_runs(runs: Sequence[RunFolder], ask: Ask) -> Shown | None:
    """Return which of the page's runs have a map; their numbers it has by `network`."""
    mapped = [
        {"run": number, "label": run.algorithm}
        for number, run in enumerate(runs, 1)
        if has_map(run)
    ]
    return Shown([Panel(OnPage("networks", {"others": mapped}))]) if len(mapped) > 1 else None
